"""`python -m tests.bench.soak [--flows 100000]`: the proxy's memory stays flat over many flows.

One proxy with one plan rewrites pages for keep-alive connections from a second process. Fails when the proxy
has grown by more than 10 % between a fifth of the flows and all of them.
"""

import argparse
import asyncio
import gc
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from interventions.apply.plan import Plan
from interventions.yaml.sitemap import load_site_map
from proxy.server import run_proxy
from proxy.session import Session, ShownPage
from tests.bench.page import TEXT, product_page
from tests.bench.proxied import HOST, Announce, process
from tests.proxy.upstream import NUDGE, PAGE, PLAN

CONNECTIONS = 20
LARGE_EVERY = 20
"""One page of 126 KB after so many small ones."""
LARGE = 126_000
HANGS_UP_EVERY = 500
"""The shop closes a connection after so many answers, as servers do."""
LIMIT = 1.10
MARKS = (0.01, 0.1, 0.2, 0.5, 1.0)


def main() -> int:
    """Run it, and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description=__doc__)
    parser.add_argument("--flows", type=int, default=100_000)
    flows = parser.parse_args().flows
    return asyncio.run(run(flows))


async def run(flows: int) -> int:
    """0 when the proxy stayed flat, else 1."""
    large = await product_page(LARGE)
    bodies = {"/oats.html": PAGE.encode(), urlsplit(large.url).path: large.body}
    plan = Plan((*PLAN.treatments, *large.plan.treatments))
    began = time.perf_counter()
    with ExitStack() as stack:
        (shop,) = stack.enter_context(process(serve_pages, bodies))
        measured: list[tuple[int, int, int, int]] = []
        with tempfile.TemporaryDirectory() as folder:
            async with run_proxy(Path(folder)) as proxy:
                slot = await proxy.open_slot()
                session = slot.session = Counting(plan, load_site_map("onestopmarket"))
                done = stack.enter_context(process(ask, slot.port, shop, tuple(bodies), flows))
                assert done
                for mark in MARKS:
                    await session.reached(int(flows * mark))
                    gc.collect()
                    measured.append((session.treated, resident(), descriptors(), len(asyncio.all_tasks())))
                    line = "{:>7,} flows: {:>7.1f} MB, {} descriptors, {} tasks".format(
                        measured[-1][0], measured[-1][1] / 1e6, *measured[-1][2:]
                    )
                    sys.stdout.write(line + "\n")
                    sys.stdout.flush()
    growth = measured[-1][1] / measured[MARKS.index(0.2)][1]
    rate = flows / (time.perf_counter() - began)
    sys.stdout.write(f"grown by {growth - 1:+.1%} after the first fifth; {rate:.0f} flows per second\n")
    return int(growth > LIMIT or bool(session.problems))


@dataclass(slots=True)
class Counting(Session):
    """Counts instead of keeping."""

    treated: int = 0
    problems: int = 0
    _waiting: tuple[int, asyncio.Event] = field(default_factory=lambda: (0, asyncio.Event()))

    def note_page(self, page: ShownPage) -> None:
        pass

    def note_receipts(self, receipts: object) -> None:
        self.treated += 1
        if self.treated >= self._waiting[0]:
            self._waiting[1].set()

    def note_failure(self, reason: str) -> None:
        self.problems += 1
        sys.stdout.write(f"failed: {reason}\n")
        self._waiting[1].set()

    def note_upstream_error(self, reason: str) -> None:
        self.note_failure(reason)

    async def reached(self, pages: int) -> None:
        """Return once so many pages were treated, or one could not be."""
        self._waiting = (pages, asyncio.Event())
        if self.treated < pages and not self.problems:
            await self._waiting[1].wait()


def resident() -> int:
    """Bytes of memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    """How many files and sockets it has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


@asynccontextmanager
async def connection(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body, whose length the head tells."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
    return head, await reader.readexactly(int(length or 0))


async def serve_pages(announce: Announce, bodies: dict[str, bytes]) -> None:
    """The shop."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for count in range(HANGS_UP_EVERY):
                head, _ = await read_message(reader)
                body = bodies[head.split()[1].decode()]
                last = "Connection: close\r\n" if count == HANGS_UP_EVERY - 1 else ""
                writer.write(
                    f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n{last}"
                    f"Content-Length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(converse, HOST, 0) as server:
        announce(server.sockets[0].getsockname()[1])
        await asyncio.Event().wait()


async def ask(announce: Announce, proxy: int, shop: int, paths: tuple[str, ...], flows: int) -> None:
    """The client: a few connections that are kept."""
    announce(0)
    turns = iter(range(flows))
    small, large = paths[0], paths[-1]

    async def work() -> None:
        """Ask over one connection after another; whoever answers says when one ends."""
        turn = next(turns, None)
        while turn is not None:
            async with connection(proxy) as (reader, writer):
                head = b""
                while turn is not None and b"connection: close" not in head.lower():
                    path = large if turn % LARGE_EVERY == 0 else small
                    host = f"{HOST}:{shop}"
                    writer.write(f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                    head, body = await read_message(reader)
                    assert head.startswith(b"HTTP/1.1 200"), head
                    assert (NUDGE if path == small else TEXT).encode() in body, "the edit is missing"
                    turn = next(turns, None)

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
