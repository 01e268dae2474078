"""Pages as pictures, and acting at points of them, in real Chromium."""

# ruff: noqa: E501 - markup stands as it runs

import io
import json
import random
import re
from typing import Any

import pytest
from PIL import Image
from playwright.async_api import BrowserContext

from environments.browser.pool import VIEWPORT, BrowserPool, run_browsers
from environments.episode import Episode
from environments.observation.observe import ObservationQuery
from environments.observation.views import VIEWS, View
from environments.protocol.actions import (
    EVERY,
    Action,
    parse_action,
)
from environments.protocol.observation import Observation
from environments.shop.catalogue import generate
from environments.shop.server import shop
from interventions.yaml.sitemap import SiteMap
from tests.support import pages, size

pytestmark = pytest.mark.browser

WALK = 12
"""The steps of a walk through the shop."""

NEVER_STILL = """<!doctype html><title>Lamp</title><style>
@keyframes turn { to { transform: rotate(1turn) } } @keyframes come { from { opacity: 0 } }
#wheel { animation: turn 1s linear infinite; width: 40px; height: 20px; background: teal }
#late { animation: come 3s } p { transition: color 2s } p:hover { color: red }
</style><div id=wheel></div><p id=late>Comes late</p><input autofocus value=caret>
<img width=80 height=60 src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'%3E%3Ccircle r='30'/%3E%3C/svg%3E">
"""

CANVAS = """<!doctype html><title>Desk</title><style>
body { margin: 0 } button, #log, input { position: absolute; left: 100px } button { top: 50px; width: 90px; height: 30px }
input { top: 100px; left: 100px; width: 200px } #log { top: 200px } #box { position: absolute; top: 300px; left: 100px;
width: 200px; height: 100px; overflow: auto } #deep { height: 900px } h1 { position: absolute; top: 420px; left: 100px }
</style><button>Press</button><input><div id=log></div><div id=box><div id=deep></div></div><h1>Lamp</h1>
<a href=/next style="position:absolute;top:500px;left:100px">Next</a><div style="height:3000px"></div><script>
const events = [];
for (const type of ["click", "dblclick", "contextmenu", "mousedown", "mouseup"]) addEventListener(type, (event) => {
  if (type === "contextmenu") event.preventDefault();
  events.push([type, event.clientX, event.clientY, event.button, event.shiftKey]);
  log.textContent = JSON.stringify(events);
});
</script>"""

SITE = SiteMap.model_validate(
    {"name": "desk", "pages": {}, "roles": {"product.name": [{"css": "h1"}], "page.body": [{"css": "body"}]}}
)


async def opened(context: BrowserContext, url: str, view: View, **more: Any) -> Episode:
    episode = Episode(context, "Buy a lamp.", view=view, **more)
    await episode.open([url])
    return episode


async def seen(episode: Episode) -> Observation:
    return (await episode.look()).observation


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["screenshot", "marks"])
async def test_the_same_page_gives_the_same_bytes(browsers: BrowserPool, name: Any) -> None:
    taken = set()
    async with pages({"/": NEVER_STILL}) as url:
        for _ in range(size(5, 50)):
            async with browsers.context(None) as context:
                episode = await opened(context, url, VIEWS[name])
                taken |= {(await seen(episode)).screenshot for _ in range(2)}
    (picture,) = taken
    assert Image.open(io.BytesIO(picture)).size == VIEWPORT


# All is drawn anew; where only a part had been, its edges came out otherwise.
DRAWN_ANEW = """async () => {
  for (const display of ["none", ""]) {
    document.documentElement.style.display = display;
    for (let frames = 2; frames; frames -= 1) await new Promise((drawn) => requestAnimationFrame(drawn));
  }
}"""


@pytest.mark.thorough
async def test_a_page_that_has_changed_gives_the_bytes_of_one_that_is_drawn_anew(browsers) -> None:
    async with shop() as url:
        for product in generate(0).products[: size(24, 600) : 6]:
            async with browsers.context(None) as context:
                episode = await opened(context, f"{url}{product.key}.html", VIEWS["both"])
                found = re.search(r'bid="(\d+)" title="Add to Cart"', (await seen(episode)).html)
                if found is None:
                    continue  # its button is further down
                assert await episode.act(Action("click", (found[1],))) == ""
                added = await seen(episode)
                assert "You added" in added.html or product.options, product.key
                await context.pages[0].evaluate(DRAWN_ANEW)
                assert (await seen(episode)).screenshot == added.screenshot, product.key


# What the browser itself has asked of pictures, and got.
PICTURES = """() => [
  performance.getEntriesByType("resource").filter((each) => /\\.(svg|png|jpg|webp)/.test(each.name)).length,
  [...document.images].filter((each) => each.naturalWidth).length,
]"""


async def walk(browsers: BrowserPool, url: str, view: View, seed: int) -> tuple[list[Observation], int]:
    """What a walk through the shop shows whose steps are drawn from what is seen, and the pictures it loads."""
    chance, shown, loaded = random.Random(seed), [], 0
    async with browsers.context(None) as context:
        episode = await opened(context, url, view)
        for _ in range(WALK):
            shown.append(await seen(episode))
            loaded += sum([sum(await page.evaluate(PICTURES)) for page in context.pages])
            marks = re.findall(
                r'\bbid="(\d+)"|^\s*\[(\d+)\]', f"{shown[-1].html}\n{shown[-1].tree}", re.MULTILINE
            )
            action = Action("scroll", (0.0, 400.0))
            if marks and chance.random() < 0.7:
                action = Action("click", (next(filter(None, chance.choice(marks))),))
            await episode.act(action)
    return shown, loaded


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["html", "tree"])
async def test_who_reads_the_shop_sees_the_same_without_its_pictures(browsers, name: Any) -> None:
    async with shop() as url, run_browsers(pictures=False) as blind:
        for seed in range(size(1, 30)):
            shown, loaded = await walk(browsers, url, VIEWS[name], seed)
            assert loaded
            assert await walk(blind, url, VIEWS[name], seed) == (shown, 0)


async def test_each_modality_shows_the_page_in_its_way_alone(browsers: BrowserPool) -> None:
    of_pages = {name: view for name, view in VIEWS.items() if view.interface == "page"}
    async with pages({"/": CANVAS}) as url:
        for name, view in of_pages.items():
            async with browsers.context(None) as context:
                observation = await seen(await opened(context, url, view))
            told = {key for key in ("html", "tree", "screenshot") if getattr(observation, key)}
            assert told == (
                {"html", "screenshot"} if name == "both" else {name.replace("marks", "screenshot")}
            )
            assert observation.pointer == bool(observation.screenshot)
            assert observation.marks == (name != "screenshot")


async def test_marks_are_drawn_on_what_can_be_acted_on(context: BrowserContext) -> None:
    async with pages({"/": CANVAS}) as url:
        episode = await opened(context, url, VIEWS["marks"])
        picture = Image.open(io.BytesIO((await seen(episode)).screenshot)).convert("RGB")
        yellow = [
            (x, y)
            for x in range(60, 100)
            for y in range(40, 110)
            if picture.getpixel((x, y)) == (255, 235, 59)
        ]
        assert any(y < 80 for _, y in yellow)
        assert any(y > 95 for _, y in yellow)
        assert await episode.act(Action("fill", ("2", "oats"))) == ""
        assert await episode.act(parse_action("mouse_click(110, 60)", EVERY)) == ""


async def test_points_are_pixels_of_the_picture(context: BrowserContext) -> None:
    async with pages({"/": CANVAS, "/next": "<title>Next</title>"}) as url:
        episode = await opened(
            context, url, VIEWS["screenshot"], site=SITE, wanted=ObservationQuery(rectangles=())
        )

        async def act(text: str) -> Observation:
            assert await episode.act(parse_action(text, EVERY)) == ""
            return await seen(episode)

        async def log() -> list[list[Any]]:
            found: list[list[Any]] = json.loads(await context.pages[0].inner_text("#log") or "[]")
            await context.pages[0].evaluate("events.length = 0; log.textContent = ''")
            return found

        button = next(each for each in (await seen(episode)).drawn if each.text == "Press")
        x, y = button.centre
        await act(f"mouse_click({x}, {y})")
        assert [each[0] for each in await log()] == ["mousedown", "mouseup", "click"]
        (hit,) = episode.hits
        assert (hit.tag, hit.text, hit.role) == ("button", "Press", "page.body")
        await act("mouse_click(120, 60, count=2, modifiers='Shift')")
        assert ["dblclick", 120, 60, 0, True] in await log()
        await act("mouse_click(120, 60, 'right')")
        assert ["contextmenu", 120, 60, 2, False] in await log()
        await act("mouse_drag('120,60 300,250 310,260')")
        assert [each[:3] for each in await log()][:2] == [["mousedown", 120, 60], ["mouseup", 310, 260]]
        assert [(each.x, each.y, each.tag) for each in episode.hits] == [
            (120, 60, "button"),
            (310, 260, "div"),
        ]
        await act("mouse_move(110, 60)")
        for name in ("mouse_down", "mouse_up"):
            await act(f"{name}()")
            assert [(each.x, each.tag) for each in episode.hits] == [(110, "button")]
        await log()
        await act("mouse_click(150, 110)")
        typed = await act("keyboard_type('oat milk')")
        assert "oat milk" in [each.text for each in typed.drawn if each.kind == "field"]
        await act("scroll_at(150, 350, 0, 200)")
        assert await context.pages[0].evaluate("[box.scrollTop, scrollY]") == [200, 0]
        await act("mouse_click(110, 460)")
        assert [each.role for each in episode.hits] == ["product.name"]
        assert not (await act("wait(0)")).arrived
        assert episode.hits == ()
        after = await act("mouse_click(110, 505)")
        assert after.arrived
        assert after.tabs[0].title == "Next"
        title = (await act("mouse_click(300, 250, 'back')")).tabs[0].title
        assert (title, episode.hits) == ("Desk", ()), "nothing is pressed where the pointer is"
        await act("mouse_down()")
        assert [(each.x, each.y) for each in episode.hits] == [(110, 505)]


async def test_what_cannot_be_done_is_told_and_not_done(context: BrowserContext) -> None:
    async with pages({"/": CANVAS}) as url:
        episode = await opened(context, url, VIEWS["screenshot"])
        for text, said in {
            "mouse_click(1280, 5)": "outside of the picture, which is 1280 x 720",
            "mouse_click(-1, 5)": "outside",
            "mouse_click(5, 5, 'left', 4)": "count must be 1 to 3",
            "mouse_click(5, 5, 'pinky')": "button must be one of",
            "mouse_click(5, 5, 'left', 1, 'Hyper')": "modifiers must be of",
            "mouse_drag('5,5 9999,5')": "outside",
            "mouse_drag('5,5')": "two or more",
            "zoom(0, 0, 1281, 720)": "(0, 0) to (1281, 720) lies outside of the picture, which is 1280 x 720",
            "zoom(-1, 0, 100, 100)": "outside",
            "zoom(100, 0, 100, 100)": "x0, y0 must be the upper left corner",
            "click('1')": "no marks are shown",
            "fill('1', 'a')": "no marks are shown",
        }.items():
            assert said in await episode.act(parse_action(text, EVERY)), text
            after = await seen(episode)
            assert after.error
            assert not after.zoomed
        assert await context.pages[0].inner_text("#log") == ""
        other = await opened(context, url, VIEWS["html"])
        assert "no picture is shown" in await other.act(parse_action("mouse_click(5, 5)", EVERY))


async def test_what_only_providers_tools_have(context: BrowserContext) -> None:
    page = """<!doctype html><title>Keys</title><script>
    const held = new Set(); let most = "", count = 0;
    addEventListener("keydown", (event) => { held.add(event.key); most = [...held].join(); });
    addEventListener("keyup", (event) => held.delete(event.key));
    </script>"""
    async with pages({"/": page}) as url:
        episode = await opened(context, url, VIEWS["screenshot"])

        async def act(text: str) -> str:
            return await episode.act(parse_action(text, EVERY))

        assert await act("keyboard_hold('Shift+Control++', 30)") == ""
        assert await context.pages[0].evaluate("[most, held.size]") == ["Shift,Control,+", 0]
        assert "must be 0 to 5000" in await act("keyboard_hold('Shift', 6000)")
        await context.pages[0].evaluate("most = 'old'")
        assert await act("reload()") == ""
        assert await context.pages[0].evaluate("most") == ""
        assert "the only tab" in await act("close_tab(0)")
        assert await act("new_tab()") == ""
        look = await seen(episode)
        assert ([each.active for each in look.tabs], look.arrived) == ([False, True], True)
        assert "no tab 2" in await act("close_tab(2)")
        assert await act("close_tab(1)") == ""
        assert [each.title for each in (await seen(episode)).tabs] == ["Keys"]


async def test_what_is_drawn_is_what_can_be_seen(context: BrowserContext) -> None:
    page = """<!doctype html><p style="font-size:30px">large</p><p style="color:#999">pale</p>
    <p style="opacity:0">gone</p><p style="position:absolute;left:-500px">aside</p>
    <div style="position:relative"><b>under</b><i style="position:absolute;inset:0;background:white">over</i></div>
    <label><input type=radio name=a> Red</label><button>Add to Cart</button><input placeholder="Search here">
    <ul><li><b>one</b><li>two<ul><li class=x>inside</ul></ul>
    <div style="height:2000px"></div><p>below</p>"""
    async with pages({"/": page}) as url:
        episode = await opened(
            context, url, VIEWS["screenshot"], wanted=ObservationQuery(rectangles=("li", "li.x"))
        )
        found = {each.text: each for each in (await seen(episode)).drawn}
        cards = {text: each.card for text, each in found.items() if each.card >= 0}
        assert cards == {"one": 0, "two": 1, "inside": 2}
        assert found["Search here"].kind == "field"
        others = {"large", "pale", "over", "", "Red", "Add to Cart", "Search here"}
        assert set(found) == others | cards.keys()
        assert (found["large"].size, found["large"].contrast) == (30, 21)
        assert 2.5 < found["pale"].contrast < 3.5
        assert (found[""].kind, found["Red"].kind, found["Add to Cart"].kind) == ("radio", "text", "button")
        await episode.act(Action("scroll", (0.0, 2000.0)))
        assert "below" in {each.text for each in (await seen(episode)).drawn}
