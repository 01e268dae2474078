"""A context that is cleared after a page that leaves all it can is as good as a fresh one."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from environments.browser.kept import Lease
from environments.browser.pool import BrowserPool, run_browsers
from interventions.apply.plan import Plan
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.lent import LASTING, Leftovers
from proxy.server import Proxy, Slot, run_proxy
from proxy.session import Session
from tests.support import pages

pytestmark = pytest.mark.browser

LEAVES, FINDS = ((Path(__file__).parent / name).read_text() for name in ("leaves.js", "finds.js"))
PAGE = """<!doctype html><title>A shop</title><style>body{height:3000px} button:hover{color:red}</style>
<button>Press</button><input><script src="/own.js"></script>
<script src="/marked.js"></script>"""
WORKER = """let told = 0;
onconnect = ({ports: [port]}) => {
  port.onmessage = ({data}) => { port.postMessage(told); told ||= data; };
};"""
WORKER_STAYS = """async () => {
  window.worker = new SharedWorker("/worker.js", {name: "left", extendedLifetime: true});
  window.worker.port.postMessage("1");
  await new Promise((done) => { window.worker.port.onmessage = done; });
}"""
STAYS = {
    "an answer that comes late": "() => { fetch('/held', {keepalive: true}); }",
    "an answer to a beacon": "() => { navigator.sendBeacon('/held'); }",
    "a name with a password": """() => new Promise((done) => {
        const request = new XMLHttpRequest();
        request.open("GET", "/closed", true, "left", "left");
        request.onloadend = done;
        request.send();
    })""",
    "an answer to a preflight": "other => fetch(`${other}data`, {headers: {'x-left': '1'}}).catch(() => 0)",
    "a busy worker": """() => new Promise((done) => {
        const script = new Blob(["postMessage(1); for (;;);"]);
        new Worker(URL.createObjectURL(script)).onmessage = done;
    })""",
    "a shared worker": WORKER_STAYS,
}
KEEP = {"cache-control": "max-age=100000"}


class Held(Response):
    """An answer that does not come."""

    async def __call__(self, *_: Any) -> None:
        await asyncio.Event().wait()


class Place:
    """A shop, and a browser that reaches it through one port of the proxy."""

    def __init__(self, url: str, asked: list[dict[str, str]], proxy: Proxy, slot: Slot) -> None:
        self.url, self.asked, self.proxy, self.slot = url, asked, proxy, slot
        self.browsers: BrowserPool

    def begin(self) -> None:
        self.traces = Leftovers()
        hosts = AllowList.of(self.url, self.url.replace("127.0.0.1", "localhost"))
        self.slot.session = Session(Plan(()), load_site_map("onestopmarket"), hosts, lent=self.traces)
        self.asked.clear()

    def lend(self, *, keep: bool) -> AbstractAsyncContextManager[Lease]:
        self.begin()
        traces = self.traces
        return self.browsers.lend(self.slot.url, keep=keep, left=lambda: traces.are_there)

    async def leave(self, script: str = "() => 0") -> BrowserContext:
        async with self.lend(keep=True) as lease:
            page = await lease.context.new_page()
            for url in (self.url.replace("127.0.0.1", "localhost"), self.url):
                await page.goto(url)
                await page.click("button")
                await page.keyboard.type("left")
                await page.evaluate(script, self.url.replace("127.0.0.1", "localhost"))
            self.slot.session = None
        return lease.context

    async def find(self, *, keep: bool) -> tuple[BrowserContext, list[Any]]:
        """Return the context, and what pages find and are sent in it."""
        found = list[Any]()
        async with self.lend(keep=keep) as lease:
            page = (*lease.context.pages, None)[0] or await lease.context.new_page()
            for url in (self.url, self.url.replace("127.0.0.1", "localhost")):
                await page.goto(url)
                found.append(await page.evaluate(FINDS))
                found.append(await page.screenshot())
            found.append([{**each, "cookie": each.get("cookie", "")} for each in self.asked])
            self.slot.session = None
        return lease.context, found


@asynccontextmanager
async def place(folder: Path, headers: dict[str, str] | None = None) -> AsyncIterator[Place]:
    asked = list[dict[str, str]]()

    def note(request: Request) -> None:
        sent = {name: value for name, value in request.headers.items() if name not in ("host", "referer")}
        asked.append({"path": request.url.path, **sent})

    def shop(request: Request) -> Response:
        note(request)
        answer = HTMLResponse(PAGE, headers=KEEP | (headers or {}))
        answer.set_cookie("visit", "1", max_age=1000)
        return answer

    def noted(body: str, kind: str, keep: str = "max-age=100000", **headers: str) -> Any:
        headers["cache-control"] = keep
        return lambda request: (note(request), Response(body, media_type=kind, headers=headers))[1]

    def closed(request: Request) -> Response:
        if "authorization" in request.headers:
            return Response("open")
        return Response("closed", status_code=401, headers={"www-authenticate": "Basic realm=shop"})

    answers = {
        "/": shop,
        "/own.js": noted("0", "text/javascript", "private, max-age=100000"),
        "/marked.js": noted("0", "text/javascript", "public, max-age=0", etag='"left"'),
        "/elsewhere": shop,
        "/held": Held(),
        "/closed": closed,
        "/data": noted("{}", "application/json"),
        "/worker.js": noted(WORKER, "text/javascript"),
        "/late": noted("", "text/plain"),
    }
    async with (
        pages(answers) as url,
        run_proxy(folder / "ca") as proxy,
        run_browsers(proxy.spki) as browsers,
    ):
        found = Place(url + "/" * (not url.endswith("/")), asked, proxy, await proxy.open_slot())
        found.browsers = browsers
        yield found


async def test_nothing_is_left(tmp_path: Path) -> None:
    async with place(tmp_path) as shop:
        _, alone = await shop.find(keep=False)
        first = await shop.leave(LEAVES)
        second, after = await shop.find(keep=True)
        assert first is second
        assert after == alone


@pytest.mark.parametrize("header", sorted(LASTING - {"strict-transport-security"}))
async def test_a_context_in_which_something_stays_is_not_lent_again(tmp_path: Path, header: str) -> None:
    values = {"accept-ch": "Device-Memory", "use-as-dictionary": 'match="/*"'}
    async with place(tmp_path, {header: values.get(header, "x=1")}) as shop:
        _, alone = await shop.find(keep=False)
        first = await shop.leave()
        second, after = await shop.find(keep=True)
        assert first is not second
        assert after == alone


@pytest.mark.parametrize("left", STAYS)
async def test_a_context_in_which_a_page_leaves_more_is_not_lent_again(tmp_path: Path, left: str) -> None:
    async with place(tmp_path) as shop:
        _, alone = await shop.find(keep=False)
        first = await shop.leave(STAYS[left])
        second, after = await shop.find(keep=True)
        assert first is not second
        assert after == alone


@pytest.mark.parametrize("opener_stays", [True, False])
@pytest.mark.parametrize("features", ["", "noopener"])
async def test_a_tab_that_a_page_has_opened_is_not_lent_again(
    tmp_path: Path, features: str, opener_stays: bool
) -> None:
    async with place(tmp_path) as shop:
        async with shop.lend(keep=True) as lease:
            opener = await lease.context.new_page()
            await opener.goto(shop.url)
            async with lease.context.expect_page() as opening:
                await opener.evaluate("how => { window.open('/elsewhere', 'left', how); }", features)
            await (await opening.value).wait_for_load_state()
            if not opener_stays:
                await opener.close()
            first = lease.context
        async with shop.lend(keep=True) as lease:
            assert (lease.context is first) is opener_stays
            for page in lease.context.pages:
                await page.goto(shop.url)
                assert not await page.evaluate("window.opener || window.close() || window.closed")
