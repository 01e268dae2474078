"""A server that closes a connection at the moment in which the next request comes on it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx
import pytest

from proxy import hardening
from proxy.allow_list import AllowList
from proxy.server import Proxy, Slot
from proxy.session import Session
from tests.proxy.upstream import PLAN, SITE
from tests.support import listening

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n\r\n"


@dataclass
class Hasty:
    """Answers so many requests of each connection, and closes it when the next one has come."""

    patience: int = 1
    requests: list[tuple[int, str]] = field(default_factory=list)
    """The number of the connection, from 1 on, and the method, of each request."""
    connections: int = 0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number, left = self.connections, self.patience
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.requests.append((number, head.split(b" ", 1)[0].decode()))
                if b"content-length: 3" in head.lower():
                    await reader.readexactly(3)
                if not left:
                    return
                left -= 1
                writer.write(ANSWER)
        except asyncio.IncompleteReadError:
            return  # the proxy has closed it
        finally:
            writer.close()


@pytest.fixture(params=["http", "https"])
async def shop(
    request: pytest.FixtureRequest, slot: Slot, shop_tls: ssl.SSLContext
) -> AsyncIterator[tuple[Hasty, str]]:
    """The server, and its address."""
    hasty = Hasty()
    async with listening(
        hasty.converse, "127.0.0.1", 0, ssl=shop_tls if request.param == "https" else None
    ) as server:
        url = f"{request.param}://localhost:{server.sockets[0].getsockname()[1]}/"
        slot.session = Session(PLAN, SITE, AllowList.of(url))
        yield hasty, url


@pytest.fixture
async def client(proxy: Proxy, slot: Slot) -> AsyncIterator[httpx.AsyncClient]:
    tls = ssl.create_default_context(cafile=str(proxy.certificate))
    async with httpx.AsyncClient(proxy=slot.url, verify=tls, trust_env=False, timeout=60) as client:
        yield client


async def test_it_is_asked_again_on_a_connection_of_its_own(shop, client) -> None:
    server, url = shop
    for method in ("GET", "GET", "HEAD", "OPTIONS"):
        assert (await client.request(method, url)).status_code == 200
    assert server.requests == [
        (1, "GET"), (1, "GET"), (2, "GET"), (2, "HEAD"), (3, "HEAD"), (3, "OPTIONS"), (4, "OPTIONS"),
    ]  # fmt: skip


async def test_it_is_asked_again_once(shop, client) -> None:
    server, url = shop
    await client.get(url)
    server.patience = 0
    assert (await client.get(url)).status_code == 502
    assert server.requests == [(1, "GET"), (1, "GET"), (2, "GET")]


async def test_a_first_request_is_not_sent_again(shop, client) -> None:
    server, url = shop
    server.patience = 0
    assert (await client.get(url)).status_code == 502
    assert server.requests == [(1, "GET")]


async def test_what_may_not_be_done_twice_is_sent_once(shop, client) -> None:
    server, url = shop
    await client.get(url)
    assert (await client.post(url, content=b"abc")).status_code == 502
    assert server.requests == [(1, "GET"), (1, "POST")]


async def test_it_uses_no_connection_that_has_been_idle(shop, client, monkeypatch) -> None:
    server, url = shop
    monkeypatch.setattr(hardening, "IDLE_SECONDS", 0.0)
    await client.get(url)
    for _ in range(2):
        assert (await client.post(url, content=b"abc")).status_code == 200
    assert server.requests == [(1, "GET"), (2, "POST"), (3, "POST")]
