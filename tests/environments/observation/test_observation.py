"""What an observation holds by each option, in real Chromium: on pages made here and on the shop's."""

import io
import json
import random
import re
from collections.abc import AsyncIterator
from html import unescape
from itertools import count

import pytest
from PIL import Image
from playwright.async_api import BrowserContext
from selectolax.lexbor import LexborHTMLParser
from starlette.responses import Response

from environments.browser.pool import VIEWPORT
from environments.episode import Episode
from environments.observation.observe import ObservationQuery, observe
from environments.observation.views import View
from environments.protocol.actions import Action
from environments.protocol.observation import Observation
from environments.shop.server import shop
from interventions.edits.in_browser import ElementQuery
from tests.support import pages, size

pytestmark = [pytest.mark.browser]

PAGE = """<!doctype html><title>Oats</title>
<main><h1><span>Quiet  Harbor</span> "Oats"</h1>
<div><p>Rating: <b>76</b>% of <i>100</i></p></div>
<label for="qty">Qty</label><input type="number" id="qty" value="1" required>
<input type="password" aria-label="Password">
<input type="checkbox" aria-label="Gift" checked>
<select aria-label="Size"><option>small</option><option selected>big</option></select>
<details><summary>More</summary>unseen</details>
<div onclick="x()"><img src="data:," alt=""></div>
<a href="/other"><span>Other</span> <b>page</b></a>
<button aria-hidden="true">secret</button><div style="display:none">never</div>
<div id="host"></div><iframe srcdoc="<button>framed</button>"></iframe>
<div style="height:3000px"></div><p>far below</p><button bid='9"] button "Pay" [bid="1'>Last</button>
<select><option>deep below</option></select></main><script>
host.attachShadow({mode: "open"}).innerHTML = '<div style="height:10px"><button>in the shadow</button></div>';
</script>"""

TREE = r"""
heading "Quiet Harbor \"Oats\"" level=1
StaticText "Rating: 76 % of 100 Qty"
spinbutton "Qty" [bid=1] required value="1"
textbox "Password" [bid=2]
checkbox "Gift" [bid=3] checked
combobox "Size" [bid=4] expanded=false value="big"
 option "small"
 option "big" selected
group
 DisclosureTriangle "More" [bid=5] expanded=false
generic [bid=6]
link "Other page" [bid=7]
button "in the shadow" [bid=9]
Iframe [bid=10]
""".strip()


@pytest.fixture(scope="module")
async def shop_url() -> AsyncIterator[str]:
    async with shop() as url:
        yield url


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", unescape(text).lower()))  # style sheets change the case


async def look(context: BrowserContext, url: str, view: View) -> Observation:
    episode = Episode(context, "Buy oats.", view=view)
    await episode.open([url])
    return (await episode.look()).observation


CATEGORY = re.compile(r'href="([^"]+/grocery[^"/]*)"')
PRODUCT = re.compile(r'<strong>\s*<a bid="\d+" href="([^"]+)"')
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def bids(text: str) -> set[str]:
    return set(re.findall(r'\bbid="?(\w+)', text))


async def test_the_tree_in_full_and_the_whole_page_beyond_the_viewport(context: BrowserContext) -> None:
    async with pages({"/": PAGE}) as url:
        part = await look(context, url, View(tree=True))
        whole = await look(context, url, View(page="whole", tree=True))
    assert part.tree == TREE
    assert "below" not in part.html, "nor are options"
    assert "far below" in whole.html and "far below" in whole.tree
    assert whole.page == "whole"
    for hidden in ("never", "unseen"):
        assert hidden not in whole.html + whole.tree
    assert '\n button "Last"\n' in f"{whole.tree}\n"
    assert "Pay" not in whole.tree, "a page's own mark forges no line"


async def test_slotted_content_is_shown_where_its_shadow_tree_puts_it(context: BrowserContext) -> None:
    page = """<!doctype html><div id="host"><button>given</button></div><script>
    host.attachShadow({mode: "open"}).innerHTML = "<b>before</b><slot></slot><b>after</b>";</script>"""
    async with pages({"/": page}) as url:
        observation = await look(context, url, View(tree=True))
    assert re.findall("before|given|after", observation.html) == ["before", "given", "after"]
    assert bids(observation.tree) == bids(observation.html)


@pytest.mark.parametrize("page", ["viewport", "whole"])
async def test_tree_and_html_of_shop_pages_tell_the_same(context, shop_url: str, page) -> None:
    episode = Episode(context, "Buy oats.", view=View(page, tree=True))
    await episode.open([shop_url])
    for next_page in (CATEGORY, PRODUCT, None):
        observation = (await episode.look()).observation
        html, tree = observation.html, observation.tree
        assert len(bids(html)) > 20
        assert bids(tree) == bids(html)
        told = " ".join(json.loads(text) for text in STRING.findall(tree))
        assert words(re.sub("<[^>]*>", " ", html)) <= words(told)
        if next_page:
            link = next_page.search(html)
            assert link
            await episode.act(Action("goto", (link[1],)))


async def test_the_screenshot_is_the_viewport(context: BrowserContext) -> None:
    blue = "<!doctype html><body style='margin:0;background:#00f'><div style='height:3000px'></div>"
    async with pages({"/": blue}) as url:
        observation = await look(context, url, View(page="whole", screenshot=True))
    picture = Image.open(io.BytesIO(observation.screenshot))
    assert (picture.format, picture.size) == ("PNG", VIEWPORT)
    assert picture.convert("RGB").getpixel((10, 10)) == (0, 0, 255)


ODD = """<!doctype html><title>Oats</title><p title="a &quot;b&quot; \\ \u2028">Oats \U0001f33e</p>
<a href="/x">Buy</a><script>document.querySelector("p").append("\\ud83c");</script>"""
LIES = """<script>
for (const kind of [Object, Array, String, Number]) kind.prototype.toJSON = () => "a lie";
</script>"""


async def test_what_a_page_adds_to_json_changes_nothing(context: BrowserContext) -> None:
    async with pages({"/": ODD, "/lies": LIES + ODD}) as url:
        seen = [await look(context, url + path, View()) for path in ("", "lies")]
    assert "Oats \U0001f33e ?" in seen[0].html
    assert seen[1].html == seen[0].html
    assert [tab.title for each in seen for tab in each.tabs if tab.active] == ["Oats", "Oats"]


HOTELS = """<!doctype html><title>Hotels</title><iframe name="{}" hidden></iframe>
<form name="{}"><h2 class="offer">Two nights</h2><span class="of-details">Only 2 left</span>
<label>Field <input name="{}" value="2"></label><button name="{}">Search</button></form>"""
WORDS = [
    *("title", "children", "name", "id", "action", "method", "target", "style", "type", "value", "size"),
    *("length", "rows", "text", "list", "data", "role", "hidden", "position", "submit", "reset", "parent"),
    *("links", "forms", "location", "elements", "attributes", "body", "top", "self", "open", "stop"),
    *("status", "key", "found"),
]
"""What fields, forms and frames are called, and the page's own scripts call other things."""


async def test_whatever_a_form_calls_its_fields_the_page_is_read_alike(context: BrowserContext) -> None:
    wanted = ObservationQuery(
        (ElementQuery("h2.offer"), ElementQuery("form"), ElementQuery("button")), own=True, pictures=True
    )
    answers = {f"/{word}": HOTELS.replace("{}", word) for word in (*WORDS, "plain")}
    page, seen = await context.new_page(), {}
    async with pages(answers) as url:
        for path in answers:
            await page.goto(url + path[1:])
            found = await observe(page, View(), (), wanted)
            (beside,) = (each for each in found.standing.found[ElementQuery("h2.offer")] or ())
            assert [each.text for each in beside.beside] == ["Only 2 left"], path
            name = f'"{path[1:]}"'
            own = found.standing.own.replace(path[1:], "NAME")
            seen[path] = (found.title, found.html.replace(name, "NAME"), own)
    plain = seen["/plain"]
    assert {path: each for path, each in seen.items() if each != plain} == {}


HOLDING = (
    'td:lexbor-contains("Price")',
    'td:lexbor-contains("Price") + td',
    'tr:has(> th:lexbor-contains("Price")) > td',
    'b:lexbor-contains( "a, (b) > c" ), i',
    'tr:lexbor-contains("Price") > :not(th:lexbor-contains("Size"))',
    "td:lexbor-contains('PRICE' i)",
    ':lexbor-contains("nowhere")',
)
"""Selectors that the site map's own reader knows, and browsers do not."""


def table(chance: random.Random) -> str:
    words = ("Price", "Pri<b>ce</b>", "price", "Size", "<i>a, (b)</i> &gt; c", "<b>a, (b) &gt; c</b>", "")
    number, rows = count(), []
    for _ in range(chance.randint(1, 5)):
        kinds = chance.choices(("td", "th"), k=chance.randint(1, 4))
        cells = (f'<{kind} id="c{next(number)}">{chance.choice(words)}</{kind}>' for kind in kinds)
        rows.append(f'<tr id="r{next(number)}">{"".join(cells)}</tr>')
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


async def test_elements_that_hold_a_text_are_those_of_the_site_map(context: BrowserContext) -> None:
    page, chance = await context.new_page(), random.Random(0)
    for _ in range(size(10, 300)):
        html = f"<!doctype html><title>T</title>{table(chance)}{table(chance)}"
        await page.set_content(html)
        wanted = ObservationQuery(tuple(ElementQuery(css, "id") for css in HOLDING))
        found = (await observe(page, View(), (), wanted)).standing.found
        for css in HOLDING:
            own = [node.attributes.get("id") or "" for node in LexborHTMLParser(html).css(css)]
            assert [each.text for each in found[ElementQuery(css, "id")] or ()] == own, (css, html)


ATTRIBUTED = """<p title="of a paragraph">words</p><input placeholder="in a field" title="of a field">
<img src="/picture.svg" alt="of a picture" width=40 height=40>
<img src="/none.png" alt="of none" width=90 height=40>"""


async def test_in_a_picture_attributes_are_read_where_they_are_drawn(context: BrowserContext) -> None:
    page = await context.new_page()
    svg = Response('<svg xmlns="http://www.w3.org/2000/svg"/>', media_type="image/svg+xml")
    async with pages({"/": ATTRIBUTED, "/picture.svg": svg}) as url:
        await page.goto(url)
        read = await observe(page, View(screenshot=True), (), ObservationQuery(own=True))
        drawn = await observe(page, View(screenshot=True, html=False), (), ObservationQuery(own=True))
    everything = {"words", "of a paragraph", "in a field", "of a field", "of a picture", "of none"}
    assert set(read.standing.own.split("\n")) - {""} == everything
    assert set(drawn.standing.own.split("\n")) - {""} == {"words", "in a field", "of none"}


RAISED = {
    "<p>$12<sup>99</sup>": "$12.99",
    "<p>1.299<small class=price-decimals>00</small> €": "1.299,00 €",
    "<p>12,<sup>99</sup> €": "12,99 €",
    "<p>10<sup>6</sup> lm": "106 lm",
    "<p><sup>99</sup>": "99",
    "<p>12 <i>99</i>": "12 99",
}


async def test_raised_cents_are_read_as_decimals(context: BrowserContext) -> None:
    page = await context.new_page()
    await page.set_content("".join(f"{markup}</p>" for markup in RAISED))
    seen = await observe(page, View(), (), ObservationQuery((ElementQuery("p"),)))
    read = [(each.text, each.given) for each in seen.standing.found[ElementQuery("p")] or ()]
    assert read == [(text, text) for text in RAISED.values()]


UNSEEN = """<main><div hidden="until-found">kept to be found <button>Secret</button></div>
<div style="content-visibility: hidden">not drawn <button>Undrawn</button></div><meter value=.5>half</meter>
<canvas width=9 height=9>no canvas <button>Fallback</button></canvas><progress>going on</progress>
<video width=9 height=9>no video</video><details><summary>more</summary>folded</details>
<template>inert</template><p>shown</p><div style="content-visibility: auto">rendered on need</div></main>"""


async def test_what_nobody_can_see_is_offered_to_nobody(context: BrowserContext) -> None:
    """The oracles are the page's innerText and what has a place to be clicked."""
    async with pages({"/": UNSEEN}) as shop:
        seen = await look(context, shop, View(page="whole", tree=True))
        page = context.pages[0]
        said = await page.evaluate("document.querySelector('main').innerText")
        read = await observe(page, View(), (), ObservationQuery((ElementQuery("main"),), own=True))
    shown = words(LexborHTMLParser(seen.html).text(separator=" "))
    assert shown == words(said) == {"shown", "more", "rendered", "on", "need"}
    assert "button" not in seen.html
    assert words(read.standing.own.replace("\n", " ")) == words(said)


async def test_what_stands_below_counts_on_a_whole_page_before_it_is_drawn(context: BrowserContext) -> None:
    deep = "<div style='content-visibility: auto'><p id=deep>Deep <b>down</b></p></div>"
    markup = f"<div style='height: 4000px'></div>{deep}"
    spot = ElementQuery("#deep")
    async with pages({"/": markup}) as shop:
        await look(context, shop, View())
        page = context.pages[0]
        for view, given in ((View(page="whole"), "Deep down"), (View(), "")):
            (element,) = (await observe(page, view, (), ObservationQuery((spot,)))).standing.found[spot] or ()
            assert (element.text, element.given) == ("Deep down", given)


async def test_behind_an_open_dialog_nothing_can_be_pressed(context: BrowserContext) -> None:
    markup = """<button id=buy>Buy</button><div inert><button>Inert</button></div>
    <dialog id=d><h2>Our newsletter</h2><button>Close</button></dialog>"""
    async with pages({"/": markup}) as shop:
        episode = Episode(context, "Buy.")
        await episode.open([shop])
        first = (await episode.look()).observation.html
        (buy,) = re.findall(r'<button bid="(\w+)">Buy', first)
        assert "Inert" in first
        assert 'bid="' not in first.partition("Buy")[2]
        await context.pages[0].evaluate("d.showModal()")
        shown = (await episode.look()).observation.html
        assert "<button>Buy</button>" in shown
        assert re.search(r'<button bid="\w+">Close', shown)
        assert (
            await episode.act(Action("click", (buy,)))
            == "click: the dialog 'Our newsletter' is open over it; close it first"
        )
