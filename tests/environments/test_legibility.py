"""What counts as given to a reader is what the screen shows: the oracle is ink.

A text is on the screen where blanking it changes pixels. The pages are made of styles that hide, fade, cut,
move and cover, on the text's element or around it.
"""

import io
import random
from collections.abc import AsyncIterator

import pytest
from PIL import Image, ImageChops
from playwright.async_api import Page

from environments.browser import run_browsers
from environments.observe import Wanted, observe
from environments.views import View
from interventions.edits.in_browser import Spot
from tests.support import size

pytestmark = pytest.mark.browser

TEXT = "This product is a best seller!"
HIDING = (
    "opacity: 0", "opacity: 0.02", "visibility: hidden", "display: none", "content-visibility: hidden",
    "color: white", "color: transparent", "color: rgba(0, 0, 0, .03)", "-webkit-text-fill-color: transparent",
    "font-size: 0", "font-size: 1px", "text-indent: -9999px; overflow: hidden", "height: 0; overflow: hidden",
    "width: 0; white-space: nowrap; overflow: hidden", "max-height: 1px; overflow: hidden",
    "clip-path: inset(50%)", "clip-path: circle(0)", "transform: scale(0)", "transform: translateX(-5000px)",
    "position: absolute; left: -9999px", "position: fixed; top: 2000px", "margin-left: 3000px",
    "position: absolute; clip: rect(0, 0, 0, 0)", "filter: opacity(0)", "filter: blur(40px)",
    "mask-image: linear-gradient(transparent, transparent)", "zoom: 0.02", "background: black; color: black",
    "position: relative; top: 2400px", "line-height: 0; overflow: hidden", "transform: rotateX(90deg)",
    "background: #ddd; filter: brightness(0)", "background: white; filter: contrast(0)",
    "background: white; filter: contrast(3%)", "background: navy; color: white; mix-blend-mode: screen",
)  # fmt: skip
HARMLESS = (
    "opacity: .8", "color: #333", "background: #ffe", "padding: 8px", "margin: 4px", "font-size: 12px",
    "border: 1px solid", "position: relative", "overflow: hidden", "display: inline-block", "color: crimson",
    "background: navy; color: white", "transform: translateX(4px)", "float: left",
    "display: flex", "letter-spacing: 1px", "filter: blur(0)", "text-shadow: 1px 1px 2px gray",
    "position: sticky; top: 0", "max-width: 90%", "font-weight: 700", "overflow: auto", "z-index: 3",
)  # fmt: skip
COVERS = (
    "", "", "", "", "",
    '<div style="position: fixed; inset: 0; background: white"></div>',
    '<div style="position: absolute; inset: 0 0 auto; height: 500px; background: #eee">Cookies?</div>',
    '<div style="position: fixed; right: 0; bottom: 0; width: 90px; height: 40px; background: red"></div>',
    '<div style="position: fixed; inset: 0; z-index: 9"></div>',
)  # fmt: skip
PAGE = """<!doctype html><style>body {{ background: white; margin: 0; height: 3000px }}</style>
<div style="{outer}"><div style="{middle}"><h1>Oats</h1><p id=nudge style="{inner}">{text}</p></div></div>
{cover}"""


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    async with run_browsers() as browsers, browsers.context(None) as context:
        yield await context.new_page()


async def is_given(page: Page, *, screenshot: bool) -> bool:
    spot = Spot("#nudge")
    seen = await observe(page, View(screenshot=screenshot), (), Wanted((spot,)))
    (element,) = seen.standing.found[spot] or ()
    assert element.text == TEXT
    return element.given == TEXT


async def ink(page: Page) -> int:
    """How many pixels of the screen change, so that an eye can tell, when the text is blanked."""
    before = Image.open(io.BytesIO(await page.screenshot()))
    await page.evaluate("document.querySelector('#nudge').firstChild.data = '\\u00a0'.repeat(30)")
    after = Image.open(io.BytesIO(await page.screenshot()))
    change = ImageChops.difference(before.convert("L"), after.convert("L"))
    return sum(change.histogram()[24:])


READABLE = 60
"""Fewer pixels than this are no thirty letters."""


def made(rng: random.Random) -> dict[str, str]:
    styles = {name: [] for name in ("outer", "middle", "inner")}
    for name in styles:
        styles[name] = rng.sample(HARMLESS, rng.randint(0, 3))
    if rng.random() < 0.6:
        styles[rng.choice(list(styles))].append(rng.choice(HIDING))
    return {name: "; ".join(each) for name, each in styles.items()} | {"cover": rng.choice(COVERS)}


@pytest.mark.parametrize("seed", range(size(1, 4)))
async def test_what_counts_as_given_is_on_the_screen(page: Page, seed: int) -> None:
    rng, number = random.Random(seed), size(20, 40)
    shown = hidden = missed = 0
    for _ in range(number):
        style = made(rng)
        await page.set_content(PAGE.format(text=TEXT, **style))
        given, pixels = await is_given(page, screenshot=True), await ink(page)
        assert not given or pixels >= READABLE, (style, pixels)
        shown += given
        hidden += pixels < READABLE
        missed += not given and pixels >= READABLE
    assert shown >= number / 5
    assert hidden >= number / 5
    assert missed <= number / 10, "what the screen shows is mostly known as shown"


@pytest.mark.parametrize("style", HIDING)
async def test_each_way_to_hide_is_known(page: Page, style: str) -> None:
    for where in ("inner", "middle", "outer"):
        styles = {"outer": "", "middle": "", "inner": "", "cover": ""} | {where: style}
        await page.set_content(PAGE.format(text=TEXT, **styles))
        given = [await is_given(page, screenshot=screenshot) for screenshot in (False, True)]
        assert not any(given) or (where != "inner" and await ink(page) >= READABLE), where


async def test_what_lies_over_a_text_matters_to_who_is_given_a_picture(page: Page) -> None:
    over = COVERS[5]
    await page.set_content(PAGE.format(text=TEXT, outer="", middle="", inner="", cover=over))
    assert await is_given(page, screenshot=False)
    assert not await is_given(page, screenshot=True)
