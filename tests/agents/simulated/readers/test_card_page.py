import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.base import AgentError
from agents.simulated.page_respondent import PageRespondent
from agents.simulated.readers.card_page import ShownOption, read_card_page
from agents.simulated.respondent import SimulatedRespondent
from agents.simulated.tab_shopper import ShopperProfile
from agents.simulated.utility import Taste
from environments.protocol.actions import ACTIONS, Action
from environments.protocol.observation import Observation, Tab

NAMES = ["Larch", "Reade", "Tern", "Alder"]
INTRO = "You must choose between the following four options."
BUTTON = '<button bid="{}" name="answer" type="submit" aria-label="Choose {}">Choose</button>'


def item(number: int, part: slice = slice(None)) -> str:
    """An alternative, or the part of it that the viewport shows."""
    lines = [
        f"<h2>{NAMES[number]}</h2>",
        f"<dt>Star rating</dt><dd>{number + 1} stars</dd>",
        f"<dt>Price per night</dt><dd>${100 + number}</dd>",
        BUTTON.format(number, NAMES[number]),
    ]
    return "".join(lines[part])


def look(html: str) -> Observation:
    return Observation("Answer.", html, (Tab("Card", "http://shop.test/", True),))


def choose(views: list[str]) -> list[Action]:
    """What a respondent that wants stars does when scrolling brings these views, the last one for ever."""
    respondent = PageRespondent(SimulatedRespondent(ShopperProfile(taste=Taste(stars=100)), seed=1))
    actions: list[Action] = []
    while not actions or (actions[-1].name == "scroll" and len(actions) < 8):
        decision = respondent.decide(look(views[min(len(actions), len(views) - 1)]))
        assert decision is not None
        actions.append(decision.action)
    return actions


ALL = f"{INTRO}<form><h1>Which?</h1>{{}}</form>"


@pytest.mark.parametrize(
    "views",
    [
        ["".join(map(item, range(4)))],
        [item(0) + item(1), item(2) + item(3)],
        [item(0) + item(1) + item(2, slice(2)), item(2, slice(2, None)) + item(3)],
        [
            item(0) + item(1, slice(1)),
            item(1, slice(1, None)) + item(2, slice(3)),
            item(2, slice(1, None)) + item(3),
        ],
        # In columns the first row's lower ends come before the second row's upper ends.
        [
            item(0, slice(3)) + item(1, slice(3)),
            item(0, slice(1, None)) + item(1, slice(1, None)) + item(2, slice(2)) + item(3, slice(2)),
            item(2, slice(1, None)) + item(3, slice(1, None)),
        ],
    ],
)
def test_options_are_put_together_from_what_scrolling_shows(views: list[str]) -> None:
    first, *others = views
    actions = choose([ALL.format(first), *others])
    assert [action.name for action in actions] == ["scroll"] * (len(views) - 1) + ["click"]
    assert str(actions[-1]) == "click('3')"


def test_without_a_number_of_options_the_end_of_the_page_decides() -> None:
    views = [item(0) + item(1), item(1) + item(2)]
    assert list(map(str, choose(views))) == ["scroll(0.0, 360.0)"] * 2 + ["click('2')"]


def test_another_card_begins_anew() -> None:
    respondent = PageRespondent(SimulatedRespondent(ShopperProfile(taste=Taste(stars=100)), seed=1))
    two = ALL.replace("four", "two")
    for numbers, chosen in [((3, 0), "3"), ((0, 1), "1"), ((1, 0), "1")]:
        decision = respondent.decide(look(two.format("".join(map(item, numbers)))))
        assert decision is not None
        assert decision.action == Action("click", (chosen,))


def test_parts_of_a_page() -> None:
    page = read_card_page(ALL.format(item(0, slice(2)) + '<p role="alert">No answer: 5%</p>' + item(1)))
    assert page is not None
    assert page.problem
    assert page.count == 4
    assert "5%" not in page.text
    assert page.options == {
        "Larch": ShownOption({"Star rating": "1 stars"}),
        "Reade": ShownOption({"Star rating": "2 stars", "Price per night": "$101"}, button="1"),
    }


def test_a_card_in_a_shops_page_is_the_heading_and_the_form() -> None:
    page = read_card_page(
        '<a bid="1">Home</a><h1>Oat Cookies</h1><form><p>Would you buy it for $15?</p>'
        '<button bid="2" name="answer">A: Yes</button><button bid="3" name="answer">B: No</button></form>'
        '<p>Others: $20</p><button bid="4">Add to Cart</button>'
    )
    assert page is not None
    assert page.text == "Oat Cookies\nWould you buy it for $15? A: Yes B: No"
    assert page.letters == {"A": "2", "B": "3"}


@pytest.mark.parametrize("html", ["", "<p>text</p>", item(0, slice(3)), '<button bid="1">Choose</button>'])
def test_where_nothing_can_be_answered_there_is_no_card(html: str) -> None:
    assert read_card_page(html) is None


def test_a_page_that_only_speaks_of_options_is_left_to_others() -> None:
    respondent = PageRespondent(SimulatedRespondent(ShopperProfile(), seed=1))
    shop = look(
        '<h1>Lamp</h1><p>Choose one of the following two options.</p><button bid="1">Add to Cart</button>'
    )
    assert respondent.decide(shop) is not None
    assert respondent.decide(shop) is None


pieces = st.sampled_from(
    [*(item(number) for number in range(4)), INTRO, "<h2>", "<dt>", "<dd>", "<form>", "<h1>", "</form>",
     '<input bid="7" name="answer">', '<button bid="8">', '<p role="alert">']
)  # fmt: skip


@given(st.lists(st.lists(pieces | st.text(max_size=20), max_size=12).map("".join), min_size=1, max_size=3))
def test_no_page_makes_it_fail_otherwise_than_as_an_agent(views: list[str]) -> None:
    respondent = PageRespondent(SimulatedRespondent(ShopperProfile(invalid=0.5), seed=1))
    for view in views:
        try:
            decision = respondent.decide(look(view))
        except AgentError:
            continue
        assert decision is None or decision.action.name in ACTIONS
