"""An agent sees the page as it is once all has come, however late its parts come."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random

import pytest
from playwright.async_api import BrowserContext
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from environments.episode import Episode, title_of
from environments.observation import settling
from environments.observation.views import View
from environments.protocol.actions import Action
from tests.support import serve, size

pytestmark = [pytest.mark.browser]

PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" width="200" height="180">
<rect width="200" height="180" fill="teal"/></svg>"""
SCRIPT = (
    'document.querySelector("#by-script").innerHTML = "<button style=\'height:90px\'>by a script</button>"'
)
SENT = {
    "style.css": (".hidden { display: none } p { margin: 25px }", "text/css"),
    "imported.css": ("h2 { margin: 80px }", "text/css"),
    "picture.svg": (PICTURE, "image/svg+xml"),
    "script.js": (SCRIPT, "text/javascript"),
    "frame": ("<button>in a frame</button>", "text/html"),
    "more": ("<button style='height:120px'>more</button>", "text/html"),
}
PARTS = {
    "a style sheet": '<link rel="stylesheet" href="/style.css"><p class="hidden">never shown</p>',
    "an imported one": '<style>@import "/imported.css";</style>',
    "a picture": '<img src="/picture.svg">',
    "a picture by width": '<img src="/picture.svg" style="width:40%">',
    "a picture with its size": '<img src="/picture.svg" width="90" height="60">',
    "a responsive picture": '<img src="/picture.svg" width="90" height="60" style="width:100%;height:auto">',
    "a picture of choice": '<picture><source srcset="/picture.svg"><img></picture>',
    "a picture that is not there": '<img src="/none.svg" alt="none">',
    "a picture as a button": '<input type="image" src="/picture.svg">',
    "a poster": '<video poster="/picture.svg"></video>',
    "an object": '<object data="/picture.svg"></object>',
    "a lazy picture": '<img src="/picture.svg" loading="lazy">',
    "a picture in a shadow tree": '<div><template shadowrootmode="open"><img src="/picture.svg"></template>'
    "</div>",
    "an asynchronous script": '<div id="by-script"></div><script async src="/script.js"></script>',
    "a module": '<div id="by-script"></div><script type="module" src="/script.js"></script>',
    "a frame": '<iframe src="/frame" height="60"></iframe>',
    "an answer": '<div id="more"></div><script>fetch("/more").then((answer) => answer.text())'
    ".then((text) => { more.innerHTML = text; })</script>",
    "a background": '<div style="background:url(/picture.svg); height:90px">words</div>',
    "a picture before words": "<style>b::before { content: url(/picture.svg) }</style><b>words</b>",
    "a list with a picture": '<ul style="list-style-image:url(/picture.svg)"><li>one</ul>',
    "a picture in a drawing": '<svg width="100" height="90"><image href="/picture.svg"/></svg>',
    "a paragraph": "<p>Some <a href='/'>words</a></p>",
}
LATEST_SECONDS = 0.25
MOVES = {
    "a drawer": (
        """<style>#drawer { position: fixed; right: -400px; top: 90px; width: 400px; transition: right .3s }
        .open #drawer { right: 0 }</style><div id="drawer"><a href="/">in the drawer</a></div>""",
        "document.body.classList.add('open')",
    ),
    "a message that fades in": (
        """<style>#message { opacity: 0; visibility: hidden; transition: all .3s .1s }
        .said #message { opacity: 1; visibility: visible }</style><p id="message">Added to your cart</p>""",
        "document.body.classList.add('said')",
    ),
    "an accordion": (
        """<style>#fold { max-height: 0; overflow: hidden; transition: max-height .4s }
        .unfolded #fold { max-height: 90px }</style><div id="fold"><a href="/">below the fold</a></div>""",
        "document.body.classList.add('unfolded')",
    ),
    "key frames": (
        """<style>@keyframes grow { to { height: 200px } } #grown { height: 0; overflow: hidden }
        .big #grown { animation: grow .3s forwards }</style><div id="grown"><a href="/">grown</a></div>""",
        "document.body.classList.add('big')",
    ),
    "a dialog": (
        """<style>dialog { translate: 0 900px; transition: all .3s allow-discrete }
        dialog[open] { translate: 0 0 } @starting-style { dialog[open] { translate: 0 900px } }</style>
        <dialog><a href="/">in the dialog</a></dialog>""",
        "document.querySelector('dialog').showModal()",
    ),
    "an animation by a script": (
        '<div id="flown"><a href="/">flown</a></div>',
        "flown.animate([{ translate: '0 2000px' }, { translate: '0 0' }], 300)",
    ),
    "frame by frame": (
        '<div id="fallen" style="position: absolute; top: 2000px"><a href="/">fallen</a></div>',
        """let y = 2000; (function fall() { y -= 100; fallen.style.top = y + 'px';
        if (y > 100) requestAnimationFrame(fall) })()""",
    ),
    "a smooth way to another place": (
        '<div style="height: 3000px"></div><p id="there">there</p><div style="height: 3000px"></div>',
        "there.scrollIntoView({ behavior: 'smooth' })",
    ),
    "what turns without an end": (
        """<style>@keyframes turn { to { rotate: 360deg } } #wheel { animation: turn 1s infinite linear }
        </style><b id="wheel">o</b>""",
        "",
    ),
}
"""What moves, and the script that sets it moving."""
FRAMES = """async (number) => {
  for (; number; number -= 1) await new Promise((drawn) => requestAnimationFrame(drawn));
}"""
ALL_HAS_COME = """async () => {
  if (document.readyState !== "complete") await new Promise((done) => addEventListener("load", done));
  for (const each of document.images) await each.decode().catch(() => null);
  await document.fonts.ready;
}"""


@dataclass
class LateShop:
    """A server whose pages are made by chance, and all of whose other answers come late."""

    url: str = ""
    random: Random = field(default_factory=Random)
    page: str = ""

    def make(self, seed: int) -> None:
        """Make another page."""
        self.random.seed(seed)
        parts = self.random.choices([*PARTS], k=self.random.randint(1, 6))
        words = "".join(f"<h2>{number}</h2><p><a href='/'>item {number}</a></p>" for number in range(20))
        self.page = "".join(PARTS[each] for each in parts) + words

    async def answer(self, request: Request) -> Response:
        name = request.url.path[1:]
        if not name:
            return HTMLResponse(f"<!doctype html><title>Late</title><main>{self.page}</main>")
        await asyncio.sleep(self.random.random() * LATEST_SECONDS)
        text, kind = SENT.get(name, ("", "text/plain"))
        headers = {"cache-control": "no-store"}
        return Response(text, 200 if text else 404, headers, media_type=kind)


@pytest.fixture(scope="module")
async def shop() -> AsyncIterator[LateShop]:
    shop = LateShop()
    async with serve(Starlette(routes=[Route("/{path:path}", shop.answer)])) as shop.url:
        yield shop


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(size(5, 200)))
async def test_what_is_seen_does_not_depend_on_when_its_parts_come(
    seed: int, shop: LateShop, context
) -> None:
    shop.make(seed)
    episode = Episode(context, "Look", view=View(tree=True, screenshot=True))
    await episode.open([shop.url])
    seen = (await episode.look()).observation
    await context.pages[0].evaluate(ALL_HAS_COME)
    after = (await episode.look()).observation
    assert after.html == seen.html, shop.page
    assert after.tree == seen.tree, shop.page
    assert after.screenshot == seen.screenshot, shop.page


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(size(2, 40)))
async def test_what_an_action_sets_moving_has_come_to_rest(seed: int, shop: LateShop, context) -> None:
    parts, scripts = zip(*Random(seed).sample([*MOVES.values()], 3), strict=True)
    shop.page = f'<button onclick="{"; ".join(scripts)}">Go</button>{"".join(parts)}'
    episode = Episode(context, "Look")
    await episode.open([shop.url])
    await episode.look()
    assert await episode.act(Action("click", ("1",))) == ""
    seen = (await episode.look()).observation.html
    await context.pages[0].evaluate(FRAMES, 90)
    assert (await episode.look()).observation.html == seen, shop.page


async def test_a_part_that_never_comes_is_waited_for_once(context: BrowserContext, monkeypatch) -> None:
    asked = asyncio.Event()

    async def answer(request: Request) -> Response:
        if request.url.path == "/":
            return HTMLResponse('<img src="/never.svg"><button>Buy</button>')
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with serve(Starlette(routes=[Route("/{path:path}", answer)])) as url:
        episode = Episode(context, "Look")
        monkeypatch.setattr(settling, "SETTLE_SECONDS", 0.1)
        await episode.open([url])
        await asked.wait()
        await episode.act(Action("scroll", (0.0, 1.0)))
        monkeypatch.setattr(settling, "SETTLE_SECONDS", 3_600)
        assert await episode.act(Action("scroll", (0.0, 1.0))) == ""


async def test_a_tab_on_its_way_has_no_title_of_playwrights(context: BrowserContext) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def answer(request: Request) -> Response:
        if request.url.path != "/":
            asked.set()
            await go_on.wait()
        return HTMLResponse(f"<title>Page {request.url.path}</title>")

    async with serve(Starlette(routes=[Route("/{path:path}", answer)])) as url:
        page = await context.new_page()
        await page.goto(url)
        await page.evaluate("setTimeout(() => { location.href = '/next' })")
        await asked.wait()
        reading = asyncio.create_task(title_of(page))
        for _ in range(2):  # it has asked first
            assert await page.title() != "Page /next"
        go_on.set()
        assert await reading == "Page /next"


@pytest.mark.parametrize(
    ("known", "product", "parts", "is_drawn"),
    [
        (["main"], "main", ["h1"], True),
        (["main"], "main", ["h1", "h2"], False),
        (["ul"], "main", [], False),
        (["main"], "main", ['h1:lexbor-contains("Lamp")'], True),
        (["main"], "main", ['h1:lexbor-contains("Lamp")', "h2"], False),
        (["ul", 'h1:lexbor-contains("Lamp")'], "main", ["h1"], True),
    ],
)
async def test_what_a_browser_cannot_look_for_is_not_waited_for(
    known: list[str], product: str, parts: list[str], is_drawn: bool, context: BrowserContext
) -> None:
    page = await context.new_page()
    await page.set_content("<main><h1>Lamp</h1></main><script></script>")
    wanted = {"known": known, "product": product, "parts": parts}
    assert await page.evaluate(settling.DRAWN, wanted) is is_drawn


# Asks for the rest of the page only after a time in which a page that is not waited for would have settled.
HELD = """async () => {
  const state = (%s)(false).then(() => document.readyState);
  await new Promise((over) => setTimeout(over, 300));
  await fetch("/rest");
  return state;
}"""


@pytest.mark.parametrize(
    ("script", "state"),
    [
        ("", "complete"),
        # Nobody ever closes what is opened here.
        ("addEventListener('load', () => { document.open(); document.write('<p>Anew'); })", "loading"),
    ],
)
async def test_a_page_is_awaited_until_it_is_whole(script: str, state: str, context) -> None:
    go_on = asyncio.Event()

    async def parts() -> AsyncIterator[str]:
        yield f"<!doctype html><h1>Lamp</h1><script>{script}</script>{' ' * 2048}"
        await go_on.wait()
        yield "<button>Buy</button>"

    async def answer(request: Request) -> Response:
        if request.url.path == "/rest":
            go_on.set()
            return HTMLResponse("")
        return StreamingResponse(parts(), media_type="text/html")

    async with serve(Starlette(routes=[Route("/{path:path}", answer)])) as url:
        page = await context.new_page()
        if script:
            go_on.set()
        await page.goto(url, wait_until="load" if script else "commit")
        found = await page.evaluate(HELD % settling.STANDS)
        assert found == state if script else found in ("interactive", state)
