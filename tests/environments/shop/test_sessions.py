import pytest

from environments.shop.catalogue import Catalogue
from environments.shop.sessions import (
    MOST_LINES,
    MOST_MESSAGES,
    MOST_QUANTITY,
    CartFull,
    Sessions,
    ShopSession,
)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_idle_sessions_are_forgotten() -> None:
    clock = Clock()
    sessions = Sessions(idle=10, clock=clock)
    assert not sessions.get("a").lines
    assert len(sessions) == 0, "looking costs no memory"
    sessions.open("a").say("success", "one")
    clock.now = 8
    sessions.open("b")
    sessions.get("a")
    clock.now = 17
    assert sessions.get("a").messages
    clock.now = 18.5
    sessions.get("a")
    assert len(sessions) == 1
    clock.now = 100
    assert not sessions.get("a").messages
    assert len(sessions) == 0


def test_asking_whether_a_session_is_there_does_not_keep_it() -> None:
    clock = Clock()
    sessions = Sessions(idle=10, clock=clock)
    sessions.open("a")
    clock.now = 8
    assert "a" in sessions and "b" not in sessions
    clock.now = 12
    sessions.open("b")
    assert "a" not in sessions and "b" in sessions


def test_too_many_sessions_drop_the_longest_idle() -> None:
    sessions = Sessions(limit=3)
    for name in "abc":
        sessions.open(name).say("notice", name)
    sessions.get("a")
    sessions.open("d")
    assert len(sessions) == 3
    assert sessions.get("a").messages
    assert not sessions.get("b").messages


def test_visitors_choose_no_ids_of_their_own() -> None:
    sessions = Sessions()
    mine = sessions.visitor_id(None)
    assert sessions.visitor_id(mine) == mine
    assert sessions.visitor_id("../../etc") != "../../etc"
    assert sessions.visitor_id(None) != mine


def test_equal_lines_join(catalogue: Catalogue) -> None:
    product = next(product for product in catalogue.products if product.options)
    option = product.options[0]
    first, second = (((option, value),) for value in option.values[:2])
    session = ShopSession()
    session.add(product, first, 2)
    session.add(product, second, 1)
    session.add(product, first, 3)
    assert [(line.choices, line.quantity) for line in session.lines.values()] == [(first, 5), (second, 1)]
    assert session.quantity == 6
    assert session.cents == 6 * product.cents
    session.set_quantity(1, 0)
    assert list(session.lines) == [2]
    session.set_quantity(99, 4)
    assert list(session.lines) == [2]


def test_carts_and_messages_are_bounded(catalogue: Catalogue) -> None:
    session = ShopSession()
    for product in catalogue.products[:MOST_LINES]:
        session.add(product, (), 1)
    with pytest.raises(CartFull):
        session.add(catalogue.products[MOST_LINES], (), 1)
    with pytest.raises(CartFull):
        session.add(catalogue.products[0], (), MOST_QUANTITY)
    assert session.quantity == MOST_LINES
    for number in range(100):
        session.say("notice", str(number))
    assert [message.html for message in session.take_messages()] == [str(n) for n in range(100)][
        -MOST_MESSAGES:
    ]
    assert session.take_messages() == []
