"""An agent sees the page as it is once all has come, however late its parts come."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from environments.browser import BrowserPool, run_browsers
from environments.episode import Episode
from tests.support import serve, size

pytestmark = [pytest.mark.browser]

PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="200" height="180"></svg>'
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
    "a paragraph": "<p>Some <a href='/'>words</a></p>",
}
LATEST_SECONDS = 0.25
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


@pytest.fixture(scope="module")
async def browsers() -> AsyncIterator[BrowserPool]:
    async with run_browsers() as pool:
        yield pool


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(size(8, 200)))
async def test_what_is_seen_does_not_depend_on_when_its_parts_come(
    seed: int, shop: LateShop, browsers: BrowserPool
) -> None:
    shop.make(seed)
    async with browsers.context(None) as context:
        episode = Episode(context, "Look")
        await episode.open([shop.url])
        seen = (await episode.look()).observation.html
        await context.pages[0].evaluate(ALL_HAS_COME)
        assert (await episode.look()).observation.html == seen, shop.page
