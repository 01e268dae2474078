"""Whatever a shop sends: the proxy goes on, and no page that concerns the plan passes untreated."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interventions.html.content_type import is_data
from proxy.allow_list import AllowList
from proxy.server import Proxy, Slot
from proxy.session import Session
from tests.proxy.upstream import NUDGE, PAGE, PLAN, SITE
from tests.support import listening, size

WAIT = 10
"""Seconds after which an answer that never ends counts as given up; no example takes so long."""

NOISE = st.binary(max_size=60)
GOOD_HEADERS = st.sampled_from(
    [
        *(b"Content-Type: text/html" + more for more in (b"", b"; charset=utf-8", b"; charset=utf-16")),
        *(b"Content-Type: text/html; charset=" + name for name in (b"gbk", b"no-such-charset")),
        *(b"Content-Type: application/xhtml+xml", b"Content-Type: image/png\r\nContent-Type: text/html"),
        *(b"Set-Cookie: a=1", b"X-Long: " + b"x" * 70_000, b"Content-Security-Policy: ;;'none',style-src"),
        *(b"X-Null: a\x00b", b"X-Latin: \xe9\xff", b" folded: continued", b": no name", b"No colon"),
        *(b"Content-Encoding: " + name for name in (b"gzip", b"GZIP, ", b"deflate", b"zstd", b"\x80")),
        *(b"Content-Encoding: gzip\r\nContent-Encoding: br", b"Content-Length: 5\r\nContent-Length: 6"),
        *(b"Content-Length: -1", b"Content-Length: 99999999999999999999"),
        *(b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: identity", b"Trailer: X-After"),
        *(b"Connection: keep-alive", b"Upgrade: h2c"),
    ]
)
STATUS = st.sampled_from(
    [b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 200", b"HTTP/1.1 203 \xff", b"HTTP/1.1 206 Part",
     b"HTTP/1.1 204 None", b"HTTP/9.9 200 OK", b"ICY 200 OK", b"HTTP/1.1 999 Odd", b"HTTP/1.1 101 Switch",
     b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", b""]
)  # fmt: skip
MARKUP = st.sampled_from(
    ["<", "<h1", "</h1>", "<!--", "-->", "<script>", "<template>", "<table>", "<select>", "<svg>", "\0",
     "]]>", '<h1 class="page-title">', '<meta property="og:type" content="product">', "<plaintext>",
     "\ufeff", "<title>", "<noscript>", "<div class='page-title-wrapper product'>", "\r", "é", "&#0;"]
)  # fmt: skip


@st.composite
def pages_like(draw: st.DrawFn) -> bytes:
    """The product's page with markup strewn in, or cut, in some encoding."""
    page = PAGE
    for mark in draw(st.lists(MARKUP, max_size=3)):
        position = draw(st.integers(0, len(page)))
        page = page[:position] + mark + page[position:]
    if draw(st.booleans()):
        page = page[: draw(st.integers(0, len(page)))]
    body = page.encode(draw(st.sampled_from(["utf-8", "utf-8", "latin-1", "utf-16", "gbk"])), "replace")
    if draw(st.integers(0, 3)) == 0:
        body = gzip.compress(body)
        if draw(st.booleans()):
            body = body[: draw(st.integers(0, len(body)))]
    return body


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """An answer in bytes, right or wrong."""
    body = draw(pages_like() | NOISE)
    headers = draw(st.lists(GOOD_HEADERS, max_size=3))
    framing = draw(st.sampled_from(["length", "length", "chunked", "close", "short", "long", "bad chunks"]))
    match framing:
        case "length":
            headers.append(b"Content-Length: %d" % len(body))
        case "short" | "long":
            headers.append(b"Content-Length: %d" % max(0, len(body) + (9 if framing == "short" else -9)))
        case "chunked" | "bad chunks":
            headers.append(b"Transfer-Encoding: chunked")
            end = draw(st.sampled_from([b"0\r\n\r\n", b"0\r\n", b"0\r\nX-After: 1\r\n\r\n", b"zz\r\n", b""]))
            size = (
                len(body) if framing == "chunked" else draw(st.sampled_from([0, 1, 1 << 40, len(body) + 3]))
            )
            body = b"%x\r\n%b\r\n" % (size, body) + end
    if draw(st.booleans()) and not any(header.startswith(b"Content-Type") for header in headers):
        headers.insert(0, b"Content-Type: text/html; charset=utf-8")
    return b"\r\n".join([draw(STATUS), *headers, b"", b""]) + body


class Shop:
    """Answers the next request with `answer` and hangs up; `/good.html` with a good page."""

    def __init__(self) -> None:
        self.answer = b""
        self.url = ""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            good = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\ngood"
            writer.write(good if b"/good.html" in head else self.answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture(scope="module")
async def shop() -> AsyncIterator[Shop]:
    shop = Shop()
    async with listening(shop.converse, "127.0.0.1", 0) as server:
        shop.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        yield shop


@pytest.fixture(scope="module")
async def slot(proxy: Proxy) -> Slot:
    return await proxy.open_slot()


async def raw(slot: Slot, url: str) -> bytes:
    """All that comes back on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", slot.port)
    try:
        writer.write(
            f"GET {url} HTTP/1.1\r\nHost: shop\r\nAccept: text/html\r\nConnection: close\r\n\r\n".encode()
        )
        async with asyncio.timeout(WAIT):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.slow
@settings(max_examples=size(100, 500), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answers())
async def test_a_page_is_treated_or_refused_whatever_the_shop_sends(shop: Shop, slot, answer: bytes) -> None:
    shop.answer = answer
    session = slot.session = Session(PLAN, SITE, AllowList.of(shop.url))
    received = await raw(slot, shop.url + "oats.html")
    head, _, body = received.partition(b"\r\n\r\n")
    status = head.split(b" ")[1:2]
    kind = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-type:")]
    html = not kind or b"html" in kind[-1]
    if session.receipts:
        assert NUDGE.encode() in body or NUDGE.encode("utf-16-le") in body
        assert not session.failures
    elif status == [b"200"] and html and not is_data(body):  # data without a type is no page
        raise AssertionError("a product's page passed untreated")
    elif session.failures:
        assert status == [b"502"]
    good = await raw(slot, shop.url + "good.html")
    assert good.endswith(b"good")
