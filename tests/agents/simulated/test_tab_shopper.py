import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from agents.base import Decision
from agents.simulated.nudges import Nudge
from agents.simulated.tab_shopper import (
    Profiles,
    SimulatedShopper,
    shipped,
    shipped_profile,
    shipped_taste,
)
from agents.simulated.utility import DisplayedOption, Taste, choice_probabilities, draw
from environments.protocol.actions import ACTIONS
from environments.protocol.observation import Observation, Tab
from interventions.errors import UserError
from interventions.yaml.yaml_source import load_model

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


async def test_reads_every_tab_then_buys_and_says_what_it_read() -> None:
    pages = [
        product("Oat Cookies", 15.0),
        product("Rye Crackers", 30.0, note="This product is a best seller!"),
    ]
    nudges = [Nudge("A best seller", 1, "social proof")]
    shopper = SimulatedShopper(shipped_taste("price"), seed=0, nudges=nudges)
    chosen, decisions = await shop(shopper, pages)
    assert chosen == 0
    assert [str(decision.action) for decision in decisions] == ["tab_focus(0)", "click('55')"]
    assert decisions[-1].memory == (
        "Tab 1 shows Rye Crackers with a price of 30.00, a rating of 80% and 12 reviews."
        ' It says "A best seller" (social proof).'
        " Tab 0 shows Oat Cookies with a price of 15.00, a rating of 80% and 12 reviews."
    )
    assert "Oat Cookies" in decisions[-1].thought


async def test_goes_back_to_the_tab_it_prefers() -> None:
    pages = [product("A", 90.0), product("B", 10.0), product("C", 90.0)]
    chosen, decisions = await shop(SimulatedShopper(shipped_taste("price"), seed=0), pages)
    assert chosen == 1
    assert [str(decision.action) for decision in decisions] == [
        "tab_focus(1)", "tab_focus(0)", "tab_focus(1)", "click('55')",
    ]  # fmt: skip


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


async def test_first_takes_what_it_saw_first_and_nudge_prone_what_is_praised() -> None:
    nudged = product("Nudged", 30.0, note="Buy 1 Get 1 Free")
    pages, nudges = [nudged, product("B")], [Nudge("Buy 1 Get 1 Free", 1)]
    chosen: dict[str, list[int]] = {"first": [], "nudge-prone": []}
    for name, found in chosen.items():
        for seed in range(100):
            shopper = SimulatedShopper(shipped_taste(name), seed=seed, nudges=nudges)
            found.append((await shop(shopper, pages))[0])
    assert chosen["first"].count(1) >= 97
    assert chosen["nudge-prone"].count(0) >= 85


async def test_brands_are_recognised_in_the_title() -> None:
    taste = Taste(brand={"Arvo": 50})
    chosen, _ = await shop(SimulatedShopper(taste, seed=0), [product("ARVO Lamp 12 W"), product("Lamp")])
    assert chosen == 0


async def test_an_error_page_is_passed_over() -> None:
    chosen, decisions = await shop(
        SimulatedShopper(shipped_taste("balanced"), seed=0), [product("A"), ERROR_PAGE]
    )
    assert chosen == 0
    assert 'nothing to buy; its title is "502 Bad Gateway"' in decisions[0].thought


async def test_scrolls_when_nothing_can_be_bought() -> None:
    chosen, decisions = await shop(
        SimulatedShopper(shipped_taste("balanced"), seed=0), [ERROR_PAGE, ""], steps=4
    )
    assert chosen == -1
    assert [decision.action.name for decision in decisions] == ["tab_focus", "scroll", "scroll", "scroll"]


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


def test_the_shipped_profiles() -> None:
    assert list(shipped().agents) == [
        "balanced", "price", "nudge-prone", "first", "position-locked", "random",
        "anchored", "biased", "unbiased", "looker",
    ]  # fmt: skip
    assert shipped_taste("random") == Taste()
    assert shipped_profile("biased").bias == 1
    assert shipped_profile("unbiased").bias == 0


def test_an_unknown_profile_is_one_line() -> None:
    known = r'^agents: unknown simulated agent "balancd"; did you mean "balanced"\? \(a file.s name ends in'
    with pytest.raises(UserError, match=known):
        shipped_taste("balancd")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "agents: {a: {taste: {log_prise: 1}}}",
            r':2:22: agents\.a\.taste\.log_prise: unknown key; did you mean "log_price"\?',
        ),
        (
            "agents: {a: {taste: {nudge: much}}}",
            r':2:22: agents\.a\.taste\.nudge: expected a number, found "much"',
        ),
        ("agents: {a: {taste: {nudge: .nan}}}", r":2:22: agents\.a\.taste\.nudge: .*finite"),
        ("agents: {a: {taste: {brand: {'': 1}}}}", r":2:22: agents\.a\.taste\.brand: a brand has no name"),
        ("agents: {a: {invalid: 2}}", r":2:14: agents\.a\.invalid: "),
        ("agents: {}\nclues: {}", r":3:1: clues: unknown key"),
    ],
)
def test_mistakes_in_the_yaml_are_one_line_with_their_place(tmp_path: Path, lines: str, message: str) -> None:
    path = tmp_path / "simulated.yaml"
    path.write_text(f"wishes: []\n{lines}\n", encoding="utf-8")
    with pytest.raises(UserError, match=message) as caught:
        load_model(path, Profiles)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
