"""HTTP/1.1 and HTTP/2 on both sides, TLS, content codings, redirects across hosts, policies, WebSockets."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from functools import partial

import httpx
import pytest
from mitmproxy.connection import Client, Server
from mitmproxy.http import HTTPFlow
from mitmproxy.http import Request as MitmRequest
from mitmproxy.proxy.server_hooks import ServerConnectionHookData
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect as connect_websocket

from environments.browser.pool import run_browsers
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import Data
from proxy.addon import Rewriter
from proxy.allow_list import AllowList
from proxy.hardening import Stream
from proxy.server import Proxy, Slot
from proxy.session import Session
from tests.proxy.test_decoding import CODINGS
from tests.proxy.upstream import NUDGE, OTHER, PAGE, PLAN, SITE, http_2_upstream, message, session, upstream
from tests.support import listening, pages, serve

HTML = ("content-type", "text/html; charset=utf-8")


class PrefersHttp2(ssl.SSLContext):
    """As browsers do: HTTP/2 is offered first."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        super().set_alpn_protocols(sorted(alpn_protocols))


@pytest.fixture
async def https_client(proxy: Proxy, slot: Slot) -> AsyncIterator[httpx.AsyncClient]:
    """Speaks HTTP/2, and trusts only the proxy's authority."""
    tls = PrefersHttp2(ssl.PROTOCOL_TLS_CLIENT)
    tls.load_verify_locations(proxy.certificate)
    async with httpx.AsyncClient(
        proxy=slot.url, verify=tls, http2=True, trust_env=False, timeout=60
    ) as client:
        yield client


# Protocols


@pytest.mark.parametrize("names", ["", *sorted(CODINGS), "gzip, br", "deflate, zstd, gzip"])
async def test_pages_over_http_2_are_rewritten(slot: Slot, https_client, shop_tls, names: str) -> None:
    packed = PAGE.encode()
    for name in filter(None, names.split(", ")):
        packed = CODINGS[name](packed)
    headers = [HTML, *([("content-encoding", names.lower())] if names else [])]
    async with http_2_upstream(packed, *headers, tls=shop_tls) as url:
        slot.session = session(url)
        treated, again = await asyncio.gather(*(https_client.get(url + "oats.html") for _ in range(2)))
    assert treated.http_version == "HTTP/2"
    assert NUDGE in treated.text
    assert again.text == treated.text
    assert "content-encoding" not in treated.headers
    assert len(slot.session.receipts) == 2


async def test_an_http_2_client_gets_pages_of_an_http_1_shop(slot: Slot, https_client, shop_tls) -> None:
    page = CODINGS["gzip"](CODINGS["br"](PAGE.encode()))
    answer = message(page, "Content-Encoding: br", "Content-Encoding: gzip")
    async with upstream(answer, tls=shop_tls) as shop:
        slot.session = session(shop.url)
        treated = await https_client.get(shop.url + "oats.html")
    assert treated.http_version == "HTTP/2"
    assert NUDGE in treated.text


async def test_an_upgrade_to_http_2_is_not_taken(slot: Slot, client: httpx.AsyncClient) -> None:
    upgrade = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2-settings": "AAMAAABk"}
    async with upstream(PAGE) as shop:
        slot.session = session(shop.url)
        treated = await client.get(shop.url + "oats.html", headers=upgrade)
    assert NUDGE in treated.text
    assert "h2c" not in shop.requests[0]


async def test_a_tunnel_carries_only_http(slot: Slot) -> None:
    """What is neither HTTP nor TLS could be a page in disguise."""
    said = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(1):
            said.set()
        writer.close()

    async with listening(listen, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        slot.session = session(f"http://127.0.0.1:{port}/")
        reader, writer = await asyncio.open_connection("127.0.0.1", slot.port)
        writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: shop\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        assert slot.session.silent() == 0, "a shop that is asked for nothing does not keep anybody waiting"
        writer.write(b"\x05\x01\x00 hello\r\n\r\n")
        answer = await reader.read()
        writer.close()
    assert b"400" in answer
    assert not said.is_set()


@pytest.mark.parametrize("is_tunnel", [False, True])
async def test_a_shop_is_asked_by_the_name_in_the_address(slot: Slot, is_tunnel: bool) -> None:
    """What may be reached is asked of the address; a client could name another shop of the same server."""
    async with upstream(PAGE) as shop:
        slot.session = session(shop.url)
        place = shop.url.removeprefix("http://").rstrip("/")
        reader, writer = await asyncio.open_connection("127.0.0.1", slot.port)
        if is_tunnel:
            writer.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
        target = "/oats.html" if is_tunnel else f"{shop.url}oats.html"
        writer.write(f"GET {target} HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n".encode())
        await reader.read()
        writer.close()
    (head,) = shop.requests
    assert "other.test" not in head
    assert f"host: {place}\r\n" in head.lower()


# Redirects


async def test_a_product_behind_a_redirect_to_another_host_is_treated(slot: Slot, client) -> None:
    async with upstream(PAGE) as shop, upstream("secret") as elsewhere:
        port = httpx.URL(shop.url).port
        there = f"http://localhost:{port}/oats.html?from=redirect"
        routes = {"/old": RedirectResponse(there), "/away": RedirectResponse(elsewhere.url, 302)}
        async with pages(routes) as entrance:
            slot.session = Session(PLAN, SITE, AllowList.of(entrance, there))
            treated = await client.get(entrance + "old", follow_redirects=True)
            refused = await client.get(entrance + "away", follow_redirects=True)
    assert str(treated.url) == there
    assert NUDGE in treated.text
    assert refused.status_code == 403
    assert elsewhere.requests == []


async def test_no_name_or_address_of_this_machine_leads_into_a_loop(proxy: Proxy, slot: Slot, client) -> None:
    other = await proxy.open_slot()
    slot.session = Session(PLAN, SITE)
    other.session = Session(PLAN, SITE)
    for host in ("localhost", "LOCALHOST", "0.0.0.0", "127.1", "2130706433"):
        for port in (slot.port, other.port):
            response = await client.get(f"http://{host}:{port}/oats.html")
            assert (response.status_code, "the proxy itself" in response.text) == (403, True), host
    assert slot.session.receipts == slot.session.upstream_errors == []
    with pytest.raises(httpx.HTTPError):
        await client.get(slot.url.replace("http:", "https:"))


@pytest.mark.parametrize(
    ("met", "status"),
    [
        pytest.param(("127.0.0.1", 8080), 403, id="our own connection"),
        pytest.param(("127.0.0.1", 8081), 200, id="another, from the same local port"),
    ],
)
def test_a_loop_is_told_by_both_ends_of_a_connection(met: tuple[str, int], status: int) -> None:
    """A local port serves for connections to different ends; after some ten thousand it does."""
    server = Server(address=("localhost", 8080))
    server.sockname, server.peername = ("::ffff:127.0.0.1", 50000, 0, 0), ("::ffff:7f00:1", 8080, 0, 0)
    client = Client(peername=("127.0.0.1", 50000), sockname=met)
    flow = HTTPFlow(client, Server(address=None))
    flow.request = MitmRequest.make("GET", "http://shop.test/oats.html")
    rewriter = Rewriter(lambda _: Session(PLAN, SITE))
    connected = ServerConnectionHookData(server, client)
    rewriter.server_connected(connected)
    rewriter.requestheaders(flow)
    assert (flow.response.status_code if flow.response else 200) == status
    rewriter.server_disconnected(connected)
    flow.response = None
    rewriter.requestheaders(flow)
    assert flow.response is None


# Parts and earlier copies


DATA = Data.model_validate(
    {"url": "/api/*", "items": "$.items[*]", "link": "$.url", "roles": {"price": "$.price"}}
)
SITE_WITH_DATA = SITE.model_copy(update={"data": (*SITE.data, DATA)})
CHEAPER = Plan((Treatment("cheaper", "oats", (edit_from_dict({"set_price": 2.5}),)),))


async def test_data_that_pages_load_is_rewritten(slot: Slot, client: httpx.AsyncClient) -> None:
    items = [{"url": "/oats.html", "price": 3.0}, {"url": "/rye.html", "price": 4.0}]
    answer = JSONResponse({"items": items}, headers={"etag": "1"})
    async with pages({"/api/items": answer, "/other": answer}) as url:
        slot.session = Session(CHEAPER, SITE_WITH_DATA, AllowList.of(url))
        treated = await client.get(url + "api/items")
        other = await client.get(url + "other")
    assert [item["price"] for item in treated.json()["items"]] == [2.5, 4.0]
    assert "etag" not in treated.headers
    assert other.json() == {"items": items}
    assert [receipt.product for receipt in slot.session.receipts] == ["oats"]


@pytest.mark.parametrize("path", ["oats.html", "api/items"])
async def test_what_may_be_rewritten_is_asked_for_as_a_whole(slot: Slot, client, path: str) -> None:
    async with upstream(message("{}", "Content-Type: application/json")) as shop:
        slot.session = Session(PLAN, SITE_WITH_DATA, AllowList.of(shop.url))
        accept = "*/*" if path.startswith("api") else "text/html"
        headers = {
            "accept": accept,
            "range": "bytes=0-5",
            "if-range": '"1"',
            "if-none-match": '"1"',
            "if-modified-since": "Mon, 01 Jan 2024 00:00:00 GMT",
            "available-dictionary": ":AAAA:",
        }
        await client.get(shop.url + path, headers=headers)
    for name in headers.keys() - {"accept"}:
        assert f"{name}:" not in shop.requests[0]


async def test_head_of_a_page_that_is_rewritten_does_not_describe_the_original(slot: Slot, client) -> None:
    answer = message("", 'ETag: "1"', "Content-Length: 500", "Content-Encoding: gzip", "X-Kept: 1")
    async with upstream(answer) as shop:
        slot.session = session(shop.url)
        treatable = await client.head(shop.url + "oats.html")
        slot.session = session(shop.url, Plan())
        untouched = await client.head(shop.url + "oats.html")
    assert treatable.headers["x-kept"] == "1"
    assert not {"etag", "content-length", "content-encoding"} & set(treatable.headers)
    assert untouched.headers["content-length"] == "500"


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


OF_A_SCRIPT = {"sec-fetch-dest": "empty", "range": "bytes=200-"}


def packed_twice() -> bytes:
    return message(chunked(CODINGS["gzip"](PAGE.encode())), "Transfer-Encoding: gzip, chunked")


def bomb(name: str) -> bytes:
    return message(CODINGS[name](bytes(200_000_000)), f"Content-Encoding: {name}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "path", "headers", "reason"),
    [
        (partial(message, ""), "oats.html", {}, ""),
        (partial(message, PAGE[-30:], status="206 Partial Content"), "oats.html", OF_A_SCRIPT, "only a part"),
        (packed_twice, "category", {}, ""),
        *((partial(bomb, name), "oats.html", {}, "too large") for name in ("gzip", "deflate", "br", "zstd")),
    ],
)
async def test_what_cannot_be_treated_fails_closed(
    slot: Slot, client, answer: Callable[[], bytes], path: str, headers: dict[str, str], reason: str
) -> None:
    async with upstream(answer()) as shop:
        slot.session = session(shop.url)
        assert (await client.get(shop.url + path, headers=headers)).status_code == 502
    assert reason in slot.session.failures[0]


async def test_an_empty_page_elsewhere_passes(slot: Slot, client: httpx.AsyncClient) -> None:
    async with upstream("") as shop:
        slot.session = session(shop.url)
        for method, path in (("GET", "about"), ("POST", "oats.html")):
            answer = await client.request(method, shop.url + path)
            assert (answer.status_code, answer.content) == (200, b"")


async def test_trailers_are_dropped(slot: Slot, client: httpx.AsyncClient) -> None:
    chunks = chunked(PAGE.encode())[:-2] + b"Server-Timing: all;dur=3\r\n\r\n"
    answer = message(chunks, "Transfer-Encoding: chunked", "Trailer: Server-Timing")
    async with upstream(answer) as shop:
        slot.session = session(shop.url)
        first, second = [await client.get(shop.url + "oats.html") for _ in range(2)]
    assert first.text == second.text
    assert NUDGE in first.text


async def test_where_mitmproxy_itself_fails_the_connection_ends(slot: Slot, client, monkeypatch) -> None:
    def defect(*_: object) -> None:
        raise RuntimeError("a defect of mitmproxy")

    async with upstream(PAGE) as shop:
        slot.session = session(shop.url)
        with monkeypatch.context() as broken:
            broken.setattr(Stream, "send_response", defect)
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(shop.url + "oats.html")
        assert NUDGE in (await client.get(shop.url + "oats.html")).text


# Content security policies


POLICY = (
    "default-src 'none'; script-src 'nonce-abc' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; "
    "style-src 'nonce-abc'"
)
GUARDED = PAGE.replace(
    "<p>All about oats.</p>",
    """<p id="inline" style="color: rgb(1, 2, 3)">All about oats.</p>
<style nonce="abc">#styled { color: rgb(4, 5, 6) }</style><p id="styled">Styled.</p>
<script nonce="abc">document.documentElement.dataset.allowed = 1</script>
<script>document.documentElement.dataset.forbidden = 1</script>
<img src="/pixel.png" onerror="document.documentElement.dataset.handler = 1">""",
)


@pytest.mark.browser
@pytest.mark.parametrize(
    ("policies", "inline_colour"),
    [
        pytest.param([POLICY], "rgb(0, 0, 0)", id="strict"),
        pytest.param([POLICY, "style-src 'none' 'nonce-abc'"], "rgb(0, 0, 0)", id="two"),
        pytest.param(
            [POLICY.replace("style-src 'nonce-abc'", "style-src 'unsafe-inline'")],
            "rgb(1, 2, 3)",
            id="inline styles allowed",
        ),
    ],
)
async def test_an_edit_shows_under_a_policy_that_still_holds(
    proxy: Proxy, slot: Slot, policies: list[str], inline_colour: str
) -> None:
    def answer(_: Request) -> Response:
        response = HTMLResponse(GUARDED)
        for policy in policies:
            response.headers.append("content-security-policy", policy)
        response.headers.append("content-security-policy-report-only", POLICY)
        return response

    async with (
        pages({"/oats.html": answer}) as url,
        run_browsers(proxy.spki) as browsers,
        browsers.context(slot.url) as context,
    ):
        slot.session = session(url)
        tab = await context.new_page()
        response = await tab.goto(url + "oats.html")
        assert response is not None
        headers = await response.headers_array()
        nudge = tab.get_by_text(NUDGE)
        declared = await nudge.evaluate("element => element.style.cssText")
        shown = await nudge.evaluate(
            """element => {
              const plain = document.createElement(element.localName);
              element.after(plain);
              const [set, unset] = [getComputedStyle(element), getComputedStyle(plain)];
              return [...element.style].map(name => [set[name], unset[name]]);
            }"""
        )
        colours = [
            await tab.locator(css).evaluate("element => getComputedStyle(element).color")
            for css in ("#inline", "#styled")
        ]
        data = await tab.evaluate("({...document.documentElement.dataset})")
    assert declared
    assert any(set_ != unset for set_, unset in shown)
    assert colours == [inline_colour, "rgb(4, 5, 6)"]
    assert data == {"allowed": "1"}
    reported = [h["value"] for h in headers if h["name"] == "content-security-policy-report-only"]
    assert reported == [POLICY]


# What is only passed through


async def test_websockets_pass(slot: Slot) -> None:
    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        async for text in socket.iter_text():
            await socket.send_text(text.upper())

    async with serve(Starlette(routes=[WebSocketRoute("/chat", echo)])) as url:
        slot.session = session(url)
        address = url.replace("http:", "ws:") + "chat"
        async with connect_websocket(address, proxy=slot.url) as socket:
            for text in ("how much?", "x" * 70_000):
                await socket.send(text)
                assert await socket.recv() == text.upper()
        elsewhere = address.replace("127.0.0.1", "localhost")
        with pytest.raises(Exception, match="403"):
            await connect_websocket(elsewhere, proxy=slot.url)
    assert slot.session.upstream_errors == []


async def test_an_endless_page_is_refused(slot: Slot, client: httpx.AsyncClient) -> None:
    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        with suppress(ConnectionError):
            while True:
                writer.write(bytes(1_000_000))
                await writer.drain()
        writer.close()

    async with listening(flood, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        slot.session = session(url)
        response = await client.get(url + "oats.html")
        assert response.status_code == 502
    assert len(slot.session.failures) == 1
    assert "too large" in slot.session.failures[0]


@pytest.mark.thorough
@pytest.mark.slow
async def test_two_hundred_connections_at_once(slot: Slot) -> None:
    arrived = 0
    everyone = asyncio.Event()

    async def answer(_: Request) -> Response:
        nonlocal arrived
        arrived += 1
        if arrived == 200:
            everyone.set()
        await everyone.wait()
        return HTMLResponse(PAGE)

    limits = httpx.Limits(max_connections=200)
    async with (
        serve(Starlette(routes=[Route("/{path:path}", answer)])) as url,
        httpx.AsyncClient(proxy=slot.url, limits=limits, timeout=60, trust_env=False) as client,
    ):
        slot.session = session(url)
        got = await asyncio.gather(*(client.get(url + "oats.html") for _ in range(200)))
    assert all(NUDGE in response.text for response in got)
    assert len(slot.session.receipts) == 200
    assert slot.session.failures == slot.session.upstream_errors == []


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("length", [True, False])
async def test_a_large_download_is_streamed(
    slot: Slot, client: httpx.AsyncClient, resident: Callable[[], int], length: bool
) -> None:
    size, piece = 200_000_000, bytes(1_000_000)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(size // len(piece)):
            yield piece

    def answer(_: Request) -> Response:
        headers = {"content-length": str(size)} if length else {}
        return StreamingResponse(pieces(), media_type="application/zip", headers=headers)

    async with pages({"/catalogue.zip": answer}) as url:
        slot.session = session(url)
        before = peak = resident()
        received = 0
        async with client.stream("GET", url + "catalogue.zip") as response:
            async for data in response.aiter_raw():
                received += len(data)
                peak = max(peak, resident())
    assert received == size
    assert peak - before < 60_000_000
    assert OTHER  # the server, the proxy and the client share this process
