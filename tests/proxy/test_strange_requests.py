"""Whatever a client sends to the testbed's own pages: it is answered or refused, and the proxy goes on."""

import asyncio
import gc
import json
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from environments.action.acts import read_acts
from interventions.cards.card import Card, LetterAnswer
from proxy import keys
from proxy.allow_list import AllowList
from proxy.card_run import CardRun
from proxy.guests import COOKIE, Guests
from proxy.keys import new_key
from proxy.server import Slot, run_proxy
from proxy.session import Session
from tests.mutations import damaged
from tests.proxy.test_guests import OneVisit
from tests.proxy.upstream import PLAN, SITE
from tests.support import listening, size

WAIT = 0.2
"""Seconds in which a strange request is answered, if it is one that is answered."""
NAMES = [
    *("/", "http://souk.test/", "http://shop.souk.test/", "http://127.0.0.1:PORT/", "http://evil.test/"),
    *("//[/", "//", "http://[/", "http://souk.test:99999/", "https://souk.test/", "http://souk.test:x/"),
    *("*", "", "SHOP"),
]
PATHS = [
    *("", "next", "end", "trial", "seen/here", "stopped/here", "answer", "../.souk/next", "%2e%2e/next"),
    *("//[", "next?a=[", "next#a", "next;a", "\xff", "x" * 9_000, "next\x00", "n\u0065xt?", "nothing"),
]
METHODS = ["GET", "POST", "POST", "HEAD", "PUT", "OPTIONS", "CONNECT", "TRACE", "post", "P\x00ST", ""]
HEADERS = [
    *("Host: souk.test", "Host: 127.0.0.1:PORT", "Host: [::1", "Host: shop\x00", "Host: "),
    *("Host: a\r\nHost: b", "Host: \xff", f"Cookie: {COOKIE}=KNOWN", f"Cookie: {COOKIE}"),
    *(f"Cookie: {COOKIE}=a; {COOKIE}=b", "Cookie: =; ;=", "Cookie: \xff=\xfe", "Cookie: a=1"),
    *("Cookie: " + "a=1; " * 2_000, "Origin: http://[", "Origin: null", "Origin: http://souk.test:x"),
    *("Referer: //[", "Referer: http://127.0.0.1:PORT//[", "Sec-Fetch-Site: cross-site"),
    *("Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: \xff", "Sec-Fetch-Dest: iframe"),
    *("Sec-Fetch-Mode: navigate", "Accept: application/json"),
    *("Content-Type: application/x-www-form-urlencoded", "Content-Type: multipart/form-data"),
    *("Content-Type: application/json", "Content-Type: multipart/form-data; boundary=\xff"),
    *("Content-Type: \x01", "Content-Encoding: gzip", "Content-Encoding: gzip, br", "Content-Length: -1"),
    *("Content-Length: 99999999999999999999", "Transfer-Encoding: chunked", "Transfer-Encoding: gzip"),
    *("Expect: 100-continue", "Upgrade: websocket", "Connection: upgrade", "no colon", ": no name"),
    *("Range: bytes=0-", "If-None-Match: \xff", "Service-Worker: script"),
]
BODIES = [
    b"",
    b"card=0&answer=a",
    b"card=" + b"9" * 5_000 + b"&answer",
    b"\xff" * 40,
    b"{" * 3_000,
    b'{"at": "//["}',
    new_key().encode() + b'{"acts":[{"kind":"scroll","when":1e999,"at":"/","x":0,"y":0}],"visit":0,"now":0}',
    b"\x1f\x8b",
]


@dataclass
class Shop:
    """Says that it is the shop, and keeps the heads of requests."""

    heads: list[bytes] = field(default_factory=list)
    url: str = ""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            body = b"<!doctype html><title>shop</title>"
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=1\r\nConnection: close\r\n\r\n"
                + body
            )
            await writer.drain()
        writer.close()


@dataclass
class Door:
    """A proxy whose guests are known by their ports, or by cookies; or one that asks a card."""

    kind: str
    shop: Shop
    slot: Slot
    errors: list[str]


class Told(OneVisit):
    """A visit that takes what its pages report, as trials do."""

    def reported(self, url: str, body: bytes) -> None:
        assert url.endswith("/.souk/seen/here")
        read_acts(keys.split(body)[1])


class Errors(logging.Handler):
    """What is logged of errors, which the proxy's own code should not have.

    A browser whose driver an earlier test has killed may be put away, and be heard of, only now.
    """

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "from the driver" not in (line := self.format(record)):
            self.lines.append(line)


@pytest.fixture(scope="module", params=["port", "cookie", "card"])
async def door(ca_dir: Path, request: pytest.FixtureRequest) -> AsyncIterator[Door]:
    kind, shop, errors = request.param, Shop(), Errors()
    gc.collect()  # what earlier tests have left to be complained of is heard of before
    logging.getLogger().addHandler(errors)

    def visit() -> Told:
        return Told(Session(PLAN, SITE, AllowList.of(shop.url)))

    card = Card(id="buy", look="shop", question="Buy?", answer=LetterAnswer(labels={"A": "Yes", "B": "No"}))
    places = {"stopped_at": "/.souk/stopped/here", "reports_to": "/.souk/seen/here"}
    guests = Guests(visit, by_cookie=kind == "cookie", **places)
    async with (
        listening(shop.converse, "127.0.0.1", 0) as server,
        run_proxy(ca_dir, guests=None if kind == "card" else guests) as proxy,
    ):
        shop.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        slot = await proxy.open_slot(0, shop.url.rstrip("/") if kind == "cookie" else None)
        if kind == "card":
            cards = CardRun([card] * 100_000)
            slot.session = Session(PLAN, SITE, AllowList.of("http://souk.test/"), cards=cards)
        yield Door(kind, shop, slot, errors.lines)
    logging.getLogger().removeHandler(errors)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """A request in bytes, right or wrong; PORT, SHOP and KNOWN stand for what is known later."""
    target = draw(st.sampled_from(NAMES)) + draw(st.sampled_from([".souk/", ".souk/", ".souk", "", "shop/"]))
    target += draw(st.sampled_from(PATHS))
    version = draw(st.sampled_from(["HTTP/1.1"] * 6 + ["HTTP/1.0", "HTTP/9", ""]))
    lines = [f"{draw(st.sampled_from(METHODS))} {target} {version}"]
    lines += draw(st.lists(st.sampled_from(HEADERS), max_size=4, unique=True))
    body = draw(st.sampled_from(BODIES))
    if not any(line.startswith(("Content-Length", "Transfer-Encoding")) for line in lines):
        lines.append(f"Content-Length: {len(body)}")
    whole = "\r\n".join([*lines, "", ""]).encode("latin-1") + body
    return draw(damaged(whole)) if draw(st.integers(0, 3)) == 0 else whole


async def ask(slot: Slot, request: bytes) -> tuple[bytes, bytes]:
    """Head and body of the answer to a good request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", slot.port)
    try:
        writer.write(request)
        async with asyncio.timeout(10):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        return head, body
    finally:
        writer.close()


async def goes_on(kind: str, slot: Slot) -> None:
    """A good request is answered as ever."""
    at = "" if kind == "cookie" else "http://souk.test"
    host = f"127.0.0.1:{slot.port}" if kind == "cookie" else "souk.test"
    path = "/" if kind == "card" else "/.souk/trial"
    head, body = await ask(
        slot,
        f"GET {at}{path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/html\r\nConnection: close\r\n\r\n".encode(),
    )
    assert head.startswith(b"HTTP/1.1 200"), head
    assert b"Buy?" in body if kind == "card" else {"trial", "goal"} <= json.loads(body).keys()


@pytest.mark.slow
@settings(max_examples=size(20, 3_000))
@given(request=requests())
@example(request=b"GET //[ HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nCookie: souk_guest=KNOWN\r\n\r\n")
async def test_any_request(door: Door, request: bytes) -> None:
    slot, known = door.slot, b"nobody"
    door.shop.heads.clear()
    door.errors.clear()
    if door.kind != "card":
        at = "" if door.kind == "cookie" else "http://souk.test"
        begin = f"POST {at}/.souk/next HTTP/1.1\r\nHost: 127.0.0.1:{slot.port}\r\n"
        head, _ = await ask(slot, f"{begin}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        known = head.partition(f"{COOKIE}=".encode())[2].partition(b";")[0] or known
    request = request.replace(b"PORT", str(slot.port).encode()).replace(b"KNOWN", known)
    request = request.replace(b"SHOP", door.shop.url.encode())
    reader, writer = await asyncio.open_connection("127.0.0.1", slot.port)
    answer = b""
    with suppress(TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        writer.write(request)
        async with asyncio.timeout(WAIT):
            answer = await reader.readuntil(b"\r\n")
    writer.close()
    await goes_on(door.kind, slot)
    assert door.errors == []
    assert b" 500 " not in answer, answer
    for head in door.shop.heads:
        assert not head.partition(b" ")[2].startswith(b"/.souk/"), head
        assert known not in head, "the shop is told the guest's name"
