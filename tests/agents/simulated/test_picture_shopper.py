"""Simulated shoppers that look: they know what can be seen in the picture, and no more."""

import random
from dataclasses import replace

import numpy as np
import pytest

from agents.simulated.agent import SimulatedAgent
from agents.simulated.nudges import Nudge
from agents.simulated.picture_shopper import PictureShopper
from agents.simulated.readers.picture_page import button_in, option_groups, read_picture
from agents.simulated.readers.tree_page import as_html
from agents.simulated.tab_shopper import Eyesight, ShopperProfile, shipped_profile
from agents.simulated.utility import DisplayedOption, Taste, choice_probabilities, choose
from environments.actions import EVERY, parse_action
from environments.drawn import Drawn
from environments.observation import Observation, Tab
from tests.support import size

NUDGE = Nudge("Praised by everybody", 1, "social")
SEEN = Eyesight(smallest=11, contrast=2.5)


def text(
    said: str, y: int, *, letters: float = 14, contrast: float = 12, kind: str = "text", x: int = 20
) -> Drawn:
    return Drawn(kind, said, (x, y, 200, 20), letters, contrast)


def product(title: str, price: str, *more: Drawn) -> tuple[Drawn, ...]:
    return (
        text("Home", 100, kind="link"),
        text("$1.00 off today", 110),
        text(title, 194, letters=26),
        text("Rating:", 240),
        text("86%", 240, x=90),
        text("12 Reviews", 270, kind="link"),
        text(price, 300, letters=26),
        text("Add to Cart", 386, kind="button", x=679),
        *more,
    )


def look(pages: list[tuple[Drawn, ...]], active: int, **more: object) -> Observation:
    tabs = tuple(Tab(f"Page {i}", f"http://shop.test/{i}", i == active) for i in range(len(pages)))
    seen = Observation(
        "Buy a lamp.", "", tabs, screenshot=b"png", drawn=pages[active], marks=False, pointer=True
    )
    return replace(seen, **more)  # type: ignore[arg-type]


async def chosen(agent: PictureShopper | SimulatedAgent, pages: list[tuple[Drawn, ...]]) -> int:
    """The tab on which it clicks the button."""
    active = len(pages) - 1
    for _ in range(20):
        action = (await agent.act(look(pages, active))).action
        assert parse_action(str(action), EVERY) == action
        if action.name == "tab_focus":
            active = int(action.args[0])
        elif action.name == "mouse_click":
            assert action.args[:2] == (779.0, 396.0)
            return active
    raise AssertionError("it did not choose")


def test_a_product_is_read_below_its_title() -> None:
    page = read_picture([product("Desk Lamp", "$24.50")])
    assert (page.title, page.price, page.rating, page.reviews) == ("Desk Lamp", 24.5, 86, 12)
    assert "home" in page.text
    assert read_picture([]).title == ""


@pytest.mark.parametrize("label", ["Add to Cart", "In den Warenkorb", "加入购物车", "Buy"])
def test_the_button_is_found_by_its_label(label: str) -> None:
    others = [text("Checkout", 10, kind="button"), text(label, 200)]
    assert button_in([*others, text(label, 386, kind="button", x=679)]) == (779, 396)
    assert button_in(others) is None
    link = text(label, 100, kind="link", x=100)
    assert button_in([*others, link]) == link.centre
    assert button_in([*others, link, text(label, 386, kind="button", x=679)]) == (779, 396)


@pytest.mark.parametrize(
    ("nudge", "is_read"),
    [
        (text(NUDGE.text, 220), True),
        (text(NUDGE.text, 220, letters=10.9), False),
        (text(NUDGE.text, 220, contrast=2.4), False),
        (text(NUDGE.text, 220, letters=11, contrast=2.5), True),
    ],
)
async def test_what_its_eyes_cannot_read_does_not_move_it(nudge: Drawn, is_read: bool) -> None:
    pages = [product("Lamp", "$20.00", nudge), product("Light", "$20.00")]
    found = set()
    for seed in range(30):
        shopper = PictureShopper(Taste(nudge=100), SEEN, seed=seed, nudges=(NUDGE,))
        found.add(await chosen(shopper, pages))
    assert found == ({0} if is_read else {0, 1})


async def test_below_the_fold_it_reads_only_if_it_scrolls() -> None:
    for scrolls in (0, 1):
        shopper = PictureShopper(Taste(nudge=100), Eyesight(scrolls=scrolls), seed=1, nudges=(NUDGE,))
        top, below = product("Lamp", "$20.00"), (text(NUDGE.text, 300),)
        first = await shopper.act(look([top], 0))
        assert first.action.name == ("scroll_at" if scrolls else "mouse_click")
        if scrolls:
            second = await shopper.act(look([below], 0))
            assert NUDGE.text in second.memory
            assert "20.00" in second.memory


async def test_its_choices_follow_from_its_taste() -> None:
    taste = Taste(log_price=-5, rating=1, nudge=0.6, position=0.4)
    pages = [product("Lamp", "$20.00", text(NUDGE.text, 220)), product("Light", "$19.00")]
    seen = [
        DisplayedOption(price=20, rating=86, reviews=12, cue=1, viewed_first=False),
        DisplayedOption(price=19, rating=86, reviews=12, cue=0, viewed_first=True),
    ]
    count = size(400, 4000)
    taken = [
        await chosen(PictureShopper(taste, SEEN, seed=seed, nudges=(NUDGE,)), pages) for seed in range(count)
    ]
    again = [choose(taste, seen, random.Random(seed)) for seed in range(count)]
    assert taken == again
    share = float(choice_probabilities(taste, seen)[0])
    assert abs(np.mean([each == 0 for each in taken]) - share) < 4 * (share * (1 - share) / count) ** 0.5


async def test_required_options_are_picked_and_the_button_is_looked_for() -> None:
    radios = [Drawn("radio", "", (20, y, 12, 12), 14, 12) for y in (300, 325, 350, 430, 455)]
    words = [text(said, y, x=40) for said, y in zip("SMLRG", (298, 323, 348, 428, 453), strict=True)]
    groups = option_groups([*radios, *words])
    assert [[each.text for each in group] for group in groups] == [["S", "M", "L"], ["R", "G"]]
    shopper = PictureShopper(Taste(), Eyesight(), seed=1)
    above, below = (text("Lamp", 194, letters=26), *radios, *words), product("Lamp", "$20.00")
    taken = [(await shopper.act(look([above], 0))).action for _ in range(3)]
    assert [each.args[:2] for each in taken[:2]] == [(26.0, 306.0), (26.0, 436.0)]
    assert taken[2].name == "scroll_at"
    assert (await shopper.act(look([below], 0))).action.args[:2] == (779.0, 396.0)
    lost = PictureShopper(Taste(), Eyesight(), seed=1)
    assert [(await lost.act(look([()], 0))).action.name for _ in range(13)][-1] == "give_up"


async def test_every_simulated_agent_shops_by_pictures_and_by_trees() -> None:
    assert shipped_profile("looker").sight == SEEN
    pages = [product("Lamp", "$20.00"), product("Light", "$90.00")]
    profile = ShopperProfile(taste=Taste(log_price=-50))
    assert await chosen(SimulatedAgent(profile, seed=1), pages) == 0
    tree = (
        'heading "Desk \\"Lamp\\"" level=1\nStaticText "Praised by everybody"\n'
        'StaticText "Rating: 86 % of 100"\n'
        'radio "Red" [bid=3]\nradio "Blue" [bid=4]\nStaticText "Size"\nradio "S" [bid=5]\n'
        'StaticText "$20.00"\nspinbutton "Qty" [bid=6] value="1"\nbutton "Add to Cart" [bid=7]'
    )
    html = as_html(tree)
    assert "<h1>Desk &quot;Lamp&quot;</h1>" in html
    observation = Observation("Buy a lamp.", "", (Tab("Lamp", "http://shop.test/", True),), tree=tree)
    agent = SimulatedAgent(profile, seed=1, nudges=(NUDGE,))
    decisions = [await agent.act(observation) for _ in range(3)]
    assert [str(each.action) for each in decisions] == ["click('3')", "click('5')", "click('7')"]
    assert NUDGE.text in decisions[0].memory
