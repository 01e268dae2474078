import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from agents.base import Decision
from agents.simulated.nudges import Nudge
from agents.simulated.tab_shopper import SimulatedShopper, shipped_taste
from agents.simulated.utility import DisplayedOption, Taste, choice_probabilities, draw
from environments.protocol.actions import ACTIONS
from environments.protocol.observation import Observation, Tab

ERROR_PAGE = "<h1>502 Bad Gateway</h1><p>The treatment could not be applied.</p>"


def product(
    title: str,
    price: float = 20.0,
    rating: int | None = 80,
    reviews: int = 12,
    *,
    note: str = "",
    options: str = "",
) -> str:
    rated = f"<span>Rating: {rating}%</span>" if rating is not None else ""
    reviewed = f'<a bid="31"><span>{reviews}</span> <span>Reviews</span></a>' if reviews else ""
    return (
        f'<a bid="1">My Cart</a><h1><span>{title}</span></h1><h2>{note}</h2>{rated}{reviewed}'
        f'<span class="price">${price:,.2f}</span>{options}<button bid="55"><span>Add to Cart</span></button>'
    )


async def shop(shopper: SimulatedShopper, pages: list[str], *, steps: int = 10) -> tuple[int, list[Decision]]:
    """Act until something is in the cart; returns the tab where that was (-1: nowhere) and all decisions."""
    active, decisions = len(pages) - 1, []
    for step in range(steps):
        tabs = tuple(Tab(f"Tab {i}", f"http://shop.test/{i}", i == active) for i in range(len(pages)))
        decision = await shopper.act(Observation("Buy the best.", pages[active], tabs, step=step))
        decisions.append(decision)
        match decision.action.name, decision.action.args:
            case "tab_focus", (int(index),):
                active = index
            case "click", ("55",):
                return active, decisions
    return -1, decisions


async def test_reads_every_tab_then_buys_in_the_best_and_says_what_it_read() -> None:
    pages = [
        product("Oat Cookies", 90.0),
        product("Rye Crackers", 10.0, note="This product is a best seller!"),
        ERROR_PAGE,
    ]
    nudges = [Nudge("A best seller", 1, "social proof")]
    shopper = SimulatedShopper(shipped_taste("price"), seed=0, nudges=nudges)
    chosen, decisions = await shop(shopper, pages)
    assert chosen == 1
    assert [str(decision.action) for decision in decisions] == [
        "tab_focus(1)", "tab_focus(0)", "tab_focus(1)", "click('55')",
    ]  # fmt: skip
    assert decisions[-1].memory == (
        'Tab 2 shows nothing to buy; its title is "502 Bad Gateway". '
        "Tab 1 shows Rye Crackers with a price of 10.00, a rating of 80% and 12 reviews."
        ' It says "A best seller" (social proof).'
        " Tab 0 shows Oat Cookies with a price of 90.00, a rating of 80% and 12 reviews."
    )
    assert "Rye Crackers" in decisions[-1].thought
    lost = SimulatedShopper(shipped_taste("price"), seed=0)
    chosen, decisions = await shop(lost, [ERROR_PAGE, ""], steps=3)
    assert [decision.action.name for decision in decisions] == ["tab_focus", "scroll", "scroll"]


@pytest.mark.slow
@pytest.mark.parametrize("taste", ["balanced", "random"])
async def test_choices_are_the_predicted_draws_and_as_frequent_as_their_probabilities(taste: str) -> None:
    pages = [
        product("A", 18.0, 75, 40, note="There is a newer version of this product available"),
        product("B", 20.0, None, 0, note="This product is a limited edition"),
        product("C", 21.0, 85, 12),
    ]
    nudges = [Nudge("a newer version of this product", -1), Nudge("a limited edition", 1)]
    alternatives = [
        DisplayedOption(18.0, 75.0, 40, cue=-1),
        DisplayedOption(20.0, None, 0, cue=1),
        DisplayedOption(21.0, 85.0, 12, viewed_first=True),
    ]
    probabilities = choice_probabilities(shipped_taste(taste), alternatives)
    counts = [0, 0, 0]
    for seed in range(600):
        chosen, _ = await shop(SimulatedShopper(shipped_taste(taste), seed=seed, nudges=nudges), pages)
        assert chosen == draw(probabilities, random.Random(seed).random())
        counts[chosen] += 1
    for count, probability in zip(counts, probabilities, strict=True):
        assert binomtest(count, sum(counts), float(probability)).pvalue > 1e-4


async def test_brands_are_recognised_in_the_title() -> None:
    taste = Taste(brand={"Arvo": 50})
    chosen, _ = await shop(SimulatedShopper(taste, seed=0), [product("ARVO Lamp 12 W"), product("Lamp")])
    assert chosen == 0


async def test_picks_the_first_of_each_required_option_before_buying() -> None:
    options = "".join(
        f'<input type="radio" name="options[{group}]" bid="{bid}"> {bid}'
        for group, bid in [(1, 40), (1, 41), (2, 42), (2, 43)]
    )
    pages = [product("A", 90.0), product("B", 10.0, options=options)]
    chosen, decisions = await shop(SimulatedShopper(shipped_taste("price"), seed=0), pages)
    assert chosen == 1
    assert [str(decision.action) for decision in decisions[-3:]] == [
        "click('40')",
        "click('42')",
        "click('55')",
    ]


async def test_an_action_that_failed_is_mentioned_and_tried_again() -> None:
    shopper = SimulatedShopper(shipped_taste("balanced"), seed=0)
    observation = Observation("", product("A"), (Tab("A", "http://shop.test/", True),))
    first = await shopper.act(observation)
    again = await shopper.act(
        Observation("", product("A"), observation.tabs, error="click: the element is covered", step=1)
    )
    assert again.action == first.action
    assert "the element is covered" in again.thought


@given(st.lists(st.text(max_size=200) | st.just(product("A")), min_size=1, max_size=3), st.integers(0, 5))
async def test_no_page_makes_it_fail(pages: list[str], seed: int) -> None:
    _, decisions = await shop(SimulatedShopper(shipped_taste("balanced"), seed=seed), pages, steps=6)
    assert {decision.action.name for decision in decisions} <= set(ACTIONS)
