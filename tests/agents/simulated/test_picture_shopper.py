"""Simulated shoppers that look: they know what can be seen in the picture, and no more."""

import random
from dataclasses import replace

import numpy as np
import pytest

from agents.simulated.agent import SimulatedAgent
from agents.simulated.nudges import Nudge
from agents.simulated.picture_shopper import PictureListingShopper, PictureShopper
from agents.simulated.readers.listing_page import read_cards, search_field
from agents.simulated.readers.picture_page import (
    button_in,
    option_groups,
    read_cards_in_picture,
    read_picture,
)
from agents.simulated.readers.tree_page import as_html
from agents.simulated.tab_shopper import Eyesight, ShopperProfile, shipped_profile
from agents.simulated.utility import DisplayedOption, Taste, choice_probabilities, choose
from environments.protocol.actions import EVERY, Action, parse_action
from environments.protocol.observation import Observation, Tab, VisibleElement
from tests.support import size

NUDGE = Nudge("Praised by everybody", 1, "social")
SEEN = Eyesight(smallest=11, contrast=2.5)


def text(
    said: str, y: int, *, letters: float = 14, contrast: float = 12, kind: str = "text", x: int = 20
) -> VisibleElement:
    return VisibleElement(kind, said, (x, y, 200, 20), letters, contrast)


def product(title: str, price: str, *more: VisibleElement) -> tuple[VisibleElement, ...]:
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


def look(pages: list[tuple[VisibleElement, ...]], active: int, **more: object) -> Observation:
    tabs = tuple(Tab(f"Page {i}", f"http://shop.test/{i}", i == active) for i in range(len(pages)))
    seen = Observation(
        "Buy a lamp.", "", tabs, screenshot=b"png", drawn=pages[active], marks=False, pointer=True
    )
    return replace(seen, **more)  # type: ignore[arg-type]


async def chosen(agent: PictureShopper | SimulatedAgent, pages: list[tuple[VisibleElement, ...]]) -> int:
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
async def test_what_its_eyes_cannot_read_does_not_move_it(nudge: VisibleElement, is_read: bool) -> None:
    pages = [product("Lamp", "$20.00", nudge), product("Light", "$20.00")]
    found = set()
    for seed in range(30):
        shopper = PictureShopper(Taste(nudge=100), SEEN, seed=seed, nudges=(NUDGE,))
        found.add(await chosen(shopper, pages))
    assert found == ({0} if is_read else {0, 1})


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


CARDS = (("Lamp", "$20.00"), ("Light", "$90.00"), ("Lantern", "$19.00"))


def listing(*cards: tuple[str, str], first: int = 0, top: int = 480) -> tuple[VisibleElement, ...]:
    """Cards beside each other, the first of which has this number; a link to others in a menu."""
    menu = (text("Lamps from $5.00", 100, kind="link"), text("", 40, kind="field", x=700))
    placed = (
        (text("-10%", top - 10), text(title, top, kind="link"), text(price, top + 60))
        for title, price in cards
    )
    shown = [
        replace(each, card=first + number, box=(250 + 250 * number, *each.box[1:]))
        for number, drawn in enumerate(placed)
        for each in drawn
    ]
    return (*menu, *shown)


def one_page(drawn: tuple[VisibleElement, ...], goal: str = "Buy the best lamp.") -> Observation:
    return replace(look([drawn], 0), goal=goal)


def test_cards_are_read_by_what_stands_on_them() -> None:
    read = read_cards_in_picture([listing(*CARDS)])
    assert [(each.title, each.price, each.address) for each in read] == [
        ("Lamp", 20, "0"),
        ("Light", 90, "1"),
        ("Lantern", 19, "2"),
    ]
    assert read[0].text == "-10% lamp $20.00"
    seen_twice = read_cards_in_picture([listing(*CARDS), listing(*CARDS, top=300)])
    assert seen_twice == read
    cut_off = [each for each in listing(*CARDS) if each.text != "$90.00"]
    assert [each.title for each in read_cards_in_picture([cut_off])] == ["Lamp", "Lantern"]
    assert read_cards_in_picture([cut_off, listing(*CARDS)]) == read
    assert read_cards_in_picture([product("Lamp", "$20.00")]) == ()


async def test_of_a_listing_it_opens_the_card_of_its_choice_and_buys_there() -> None:
    agent = SimulatedAgent(ShopperProfile(taste=Taste(log_price=-500)), seed=1)
    chosen = await agent.act(one_page(listing(*CARDS)))
    assert str(chosen.action) == "mouse_click(850.0, 490.0)"
    assert "Lantern with a price of 19.00" in chosen.memory
    beside = (*product("Lantern", "$19.00"), replace(text("Add to Cart", 200, kind="button"), card=0))
    bought = await agent.act(one_page(beside))
    assert str(bought.action) == "mouse_click(779.0, 396.0)"


async def test_below_the_fold_of_a_listing_it_sees_only_what_it_scrolls_to() -> None:
    first, second = listing(*CARDS[:2]), listing(CARDS[2], first=2)
    for scrolls, expected in ((0, "Lamp"), (1, "Lantern")):
        shopper = PictureListingShopper(Taste(log_price=-500), Eyesight(scrolls=scrolls), seed=1)
        decision = await shopper.act(one_page(first))
        if scrolls:
            assert decision.action.name == "scroll_at"
            decision = await shopper.act(one_page(second))
        assert f"I prefer {expected};" in decision.thought
    back = PictureListingShopper(Taste(log_price=-500), Eyesight(scrolls=1), seed=1)
    await back.act(one_page(listing(CARDS[2])))
    up = await back.act(one_page(listing(*CARDS[:2], first=1)))
    assert up.action.args[3] == -500
    assert (await back.act(one_page(listing(CARDS[2])))).action.name == "mouse_click"


async def test_it_searches_for_the_words_of_the_goal() -> None:
    goal = 'Search the shop for "lamps" and buy one.'
    agent = SimulatedAgent(ShopperProfile(), seed=1)
    fields = (text("Your e-mail", 30, kind="field"), text("Search here", 40, kind="field", x=700))
    taken = [str((await agent.act(one_page(fields, goal))).action) for _ in range(3)]
    assert taken == ["mouse_click(800.0, 50.0)", "keyboard_type('lamps')", "keyboard_press('Enter')"]
    assert (await agent.act(one_page(listing(*CARDS), goal))).action.name == "mouse_click"


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


async def test_required_options_are_picked_and_the_button_is_looked_for() -> None:
    radios = [VisibleElement("radio", "", (20, y, 12, 12), 14, 12) for y in (300, 325, 350, 430, 455)]
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


@pytest.mark.parametrize("goal", ["Buy a lamp.", 'Search for "lamps".'])
async def test_what_it_cannot_find_it_gives_up_and_says_so(goal: str) -> None:
    shopper = PictureListingShopper(Taste(), Eyesight(), seed=1)
    taken = [await shopper.act(one_page((), goal)) for _ in range(13)]
    assert {each.action.name for each in taken[:-1]} == {"scroll_at"}
    wanted = "the search field" if "Search" in goal else "something to choose from"
    assert taken[-1].action == Action("give_up", (f"{wanted} cannot be seen",))


def test_cards_and_search_fields_of_trees() -> None:
    tree = """combobox "Search" [bid=7] expanded=false
listitem
 link "Image" [bid=30]
  image "Image"
 link "Desk <Lamp>" [bid=31]
 link "12 Reviews" [bid=32]
 StaticText "$27.90"
listitem
 link "Light $5.00 86 Reviews" [bid=35]
  image "A light"
  StaticText "Light $5.00 86 Reviews"
 combobox "Sort By" [bid=36] value="Price"
  option "Price" selected
StaticText "below"
"""
    html = as_html(tree)
    assert search_field(html) == "7"
    assert [(each.title, each.price, each.reviews, each.link) for each in read_cards(html)] == [
        ("Desk <Lamp>", 27.9, 12, "31"),
        ("Light $5.00 86 Reviews", 5, 86, "35"),
    ]
    assert '<a href="" bid="35">Light $5.00' in html
    assert '<select bid="36">' in html
    assert html.rstrip().endswith("</li>\n<span>below</span>")
