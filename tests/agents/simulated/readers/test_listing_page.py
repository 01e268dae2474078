"""Cards and the search field in an observation, and how a simulated agent shops from them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.base import Decision
from agents.simulated.agent import SimulatedAgent
from agents.simulated.listing_shopper import ListingShopper, words_to_search
from agents.simulated.nudges import Nudge
from agents.simulated.readers.listing_page import read_cards, search_field
from agents.simulated.tab_shopper import shipped_profile, shipped_taste, taste_for
from agents.simulated.utility import DisplayedOption, Taste, choice_probabilities, draw
from environments.protocol.actions import ACTIONS
from environments.protocol.observation import Observation, Tab

HEADER = """
<ul><li><a bid="1" href="/account/">My Account</a></li></ul>
<a bid="7" href="/checkout/cart/">My Cart</a>
<form><label for="search">
<input bid="8" name="q" type="text" placeholder="Search entire store here..." role="combobox"></form>
"""
FILTER = (
    """<dl><dd><ol><li><a bid="90" href="/c.html?price=0-100">$0.00 - $99.99 224</a></li></ol></dd></dl>"""
)
GOAL = "Add the best product on this page to the cart."


def card(key: str, name: str, price: float, *, note: str = "", rating: int = 80, bid: int = 30) -> str:
    return f"""<li>
 <a bid="{bid}" href="http://shop.test/{key}.html"><img alt="Image"></a>
 <strong><a bid="{bid + 1}" href="http://shop.test/{key}.html">{name}</a></strong> {note}
 <div title="{rating}%">Rating: {rating}%
 <a bid="{bid + 2}" href="http://shop.test/{key}.html#reviews">12 Reviews</a>
 ${price:,.2f}
 <form><button bid="{bid + 3}" title="Add to Cart" type="submit">Add to Cart</button></form>
</li>"""


def listing(*cards: str) -> str:
    return f"{HEADER}<main><h1>Cookies</h1><ol>{''.join(cards)}</ol>{FILTER}</main>"


def product(name: str) -> str:
    return f'{HEADER}<h1>{name}</h1> $5.00 <button bid="55">Add to Cart</button>'


async def look(agent: SimulatedAgent | ListingShopper, html: str, *, goal: str = GOAL) -> Decision:
    return await agent.act(Observation(goal, html, (Tab("", "http://shop.test/", True),)))


def test_cards_are_read_and_nothing_else_is_taken_for_one() -> None:
    html = listing(
        card("oats", "Quiet Harbor Oats", 1019.99, note="<span>This product is a Best Seller!</span>"),
        card("rye", "Rye &amp; Co", 3, rating=55, bid=40),
    )
    oats, rye = read_cards(html)
    assert (oats.title, oats.price, oats.rating, oats.reviews) == ("Quiet Harbor Oats", 1019.99, 80, 12)
    assert (oats.address, oats.link, oats.add_to_cart) == ("http://shop.test/oats.html", "31", "33")
    assert "this product is a best seller! rating: 80%" in oats.text
    assert (rye.title, rye.price, rye.rating, rye.link) == ("Rye & Co", 3, 55, "41")
    assert read_cards(f"<ul><li>{html}</li></ul>") == (oats, rye), "a list around cards is no card"
    assert read_cards(product("Oats")) == ()


@pytest.mark.parametrize(
    ("field", "bid"),
    [
        ('<input bid="3" type="text" name="q">', "3"),
        ('<input bid="3" type="search">', "3"),
        ('<input bid="3" placeholder="Search products">', "3"),
        ('<input bid="3" role="searchbox">', "3"),
        ('<input bid="3" name="email"> <input bid="4" aria-label="Search">', "4"),
        ('<input bid="3" name="qty" type="number">', None),
        ('<input name="q">', None),
    ],
)
def test_the_search_field(field: str, bid: str | None) -> None:
    assert search_field(field) == bid


@given(st.text())
def test_any_text_can_be_read(html: str) -> None:
    read_cards(html)
    search_field(html)


@given(st.integers(1, 10**9), st.integers(0, 100))
def test_displayed_numbers_come_back(cents: int, rating: int) -> None:
    (read,) = read_cards(listing(card("a", "A", cents / 100, rating=rating)))
    assert (read.price, read.rating) == (float(f"{cents / 100:.2f}"), rating)


async def test_scrolls_to_the_end_then_opens_the_page_of_its_choice_and_buys() -> None:
    agent = SimulatedAgent(shipped_profile("price"), seed=0)
    first, more = card("a", "A", 90), card("b", "B", 10, bid=40)
    assert str((await look(agent, listing(first))).action) == "scroll(0.0, 300.0)"
    assert (await look(agent, listing(first, more))).action.name == "scroll", "there was more"
    assert str((await look(agent, listing(first, more))).action) == "click('41')"
    bought = await look(agent, product("B"))
    assert str(bought.action) == "click('55')"
    assert bought.memory == (
        "A with a price of 90.00, a rating of 80% and 12 reviews. "
        "B with a price of 10.00, a rating of 80% and 12 reviews."
    )


async def test_choices_are_the_predicted_draws_over_the_cards() -> None:
    taste = shipped_taste("balanced")
    nudges = [Nudge("There is a newer version", -1), Nudge("This product is a limited edition", 1)]
    html = listing(
        card("a", "A", 18, rating=75, note="There is a newer version of this product available"),
        card("b", "B", 20, bid=40, note="This product is a limited edition"),
        card("c", "C", 21, bid=50, rating=85),
    )
    alternatives = [
        DisplayedOption(18, 75, 12, cue=-1, viewed_first=True),
        DisplayedOption(20, 80, 12, cue=1),
        DisplayedOption(21, 85, 12),
    ]
    probabilities = choice_probabilities(taste, alternatives)
    chosen = set()
    for seed in range(60):
        shopper = ListingShopper(taste, seed=seed, nudges=nudges)
        await look(shopper, html)
        action = (await look(shopper, html)).action
        wanted = draw(probabilities, random.Random(seed).random())
        assert action.args == (str(31 + 10 * wanted),)
        chosen.add(action.args)
    assert len(chosen) == 3


async def test_searches_for_the_words_of_the_goal_first() -> None:
    goal = 'Search the shop for "Oat Cookies" and add the best.'
    assert words_to_search('SEARCH for "a b", then "c"') == "a b"
    assert words_to_search("Search for oats.") == words_to_search('Take the "best" one.') == ""
    agent = SimulatedAgent(shipped_profile("random"), seed=0)
    home = listing(card("x", "X", 1))
    assert str((await look(agent, home, goal=goal)).action) == "fill('8', 'Oat Cookies')"
    assert str((await look(agent, home, goal=goal)).action) == "keyboard_press('Enter')"
    found = listing(card("a", "A", 90))
    assert (await look(agent, found, goal=goal)).action.name == "scroll"
    assert (await look(agent, found, goal=goal)).action.args == ("31",)


@given(st.lists(st.text(max_size=200) | st.just(listing(card("a", "A", 1))), min_size=1, max_size=6))
async def test_no_page_makes_it_fail(pages: list[str]) -> None:
    shopper = ListingShopper(shipped_taste("balanced"), seed=0)
    for html in pages:
        assert (await look(shopper, html)).action.name in ACTIONS


@pytest.mark.parametrize(
    ("sentence", "changes"),
    [
        (
            "The user doesn't put much stock in what other customers think.",
            {"rating": 0.5, "log_reviews": 0.5},
        ),
        ("The user values highly-rated products.", {"rating": 2, "log_reviews": 2}),
        ("The user is willing to pay more for a better product.", {"log_price": 0.5}),
        ("The user doesn't trust recommendations from experts.", {"nudge": 0.5}),
        ("The user highly values recommendations from experts.", {"nudge": 2}),
        (
            "The user is on a tight budget, and values highly-rated products.",
            {"log_price": 2, "rating": 2, "log_reviews": 2},
        ),
        ("The user collects lamps.", {}),
    ],
)
def test_what_the_goal_says_of_the_user_changes_the_taste(sentence: str, changes: dict[str, float]) -> None:
    taste = shipped_taste("balanced")
    told = taste_for(f"Add the best product.\n\n{sentence}", taste)
    weights = taste.model_dump()
    assert told == Taste(**weights | {name: weights[name] * times for name, times in changes.items()})
