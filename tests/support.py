"""What tests of several rooms share: small real servers on loopback."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from environments.observation.stops import stops_of
from interventions.html.numbers import figures
from interventions.html.page import Piece
from interventions.yaml.sitemap import load_site_map

THOROUGH = "SOUK_THOROUGH" in os.environ
"""Whether tests that repeat or generate cases try as many as `make thorough` does."""
Case = TypeVar("Case")


MOST_TIMES = 10
"""`make thorough` is no use if nobody can wait for it: a test has at most so many times as many cases."""


def size(usual: int, thorough: int) -> int:
    """Return a number of trials, studies or cases: the usual one, or that of `make thorough`."""
    return min(thorough, MOST_TIMES * usual) if THOROUGH else usual


def usual(cases: Iterable[Case], number: int) -> list[Case]:
    """Return so many of the cases, from all parts of the list; all of them in `make thorough`."""
    every = list(cases)
    number = min(number, len(every))
    return every if THOROUGH else [every[place * len(every) // number] for place in range(number)]


STOPS = stops_of(load_site_map("onestopmarket").choice)
"""The stop conditions of the embedded shop: the first is that a product is in the cart."""

Converse = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Answer = str | bytes | Response | Callable[[Request], Response]


@asynccontextmanager
async def listening(
    converse: Converse, host: str, port: int, **options: Any
) -> AsyncIterator[asyncio.Server]:
    """`asyncio.start_server` for a block; does not wait for open connections to end, as newer Pythons do."""
    server = await asyncio.start_server(converse, host, port, **options)
    try:
        yield server
    finally:
        server.close()


@asynccontextmanager
async def serve(app: Starlette, certificate: Path | None = None) -> AsyncIterator[str]:
    """Run an ASGI application on a free loopback port; yields its base URL, with a trailing slash.

    It is an HTTPS server with a `certificate` and its key, both in one file.
    """
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="critical", lifespan="off", ssl_certfile=certificate
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[method-assign]
    started, stopped = asyncio.Event(), asyncio.Event()

    async def wait_for_the_end() -> None:
        await server.on_tick(0)
        started.set()
        await stopped.wait()

    server.main_loop = wait_for_the_end  # type: ignore[method-assign] # instead of looking ten times a second
    task = asyncio.create_task(server._serve())
    await started.wait()
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{port}/"
    finally:
        server.force_exit = True
        stopped.set()
        await task
        for unanswered in (left := list(server.server_state.tasks)):
            unanswered.cancel()
        await asyncio.gather(*left, return_exceptions=True)


@asynccontextmanager
async def pages(answers: Mapping[str, Answer]) -> AsyncIterator[str]:
    """Serve fixed answers by path: HTML text or bytes, a response, or a function of the request."""

    async def answer(request: Request) -> Response:
        found = answers.get(request.url.path)
        if found is None:
            return HTMLResponse("<title>Not found</title>", status_code=404)
        if callable(found) and not isinstance(found, Response):
            found = found(request)
        return found if isinstance(found, Response) else HTMLResponse(found)

    methods = ["GET", "POST", "HEAD"]
    async with serve(Starlette(routes=[Route("/{path:path}", answer, methods=methods)])) as base_url:
        yield base_url


def own_processes(words: str) -> set[int]:
    """The processes with these words in their command that this process has started, also by others."""
    parents, found = {}, set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat, command = (folder / "stat").read_text(), (folder / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
        if words.encode() in command:
            found.add(int(folder.name))

    def is_ours(process: int) -> bool:
        return process == os.getpid() or (process in parents and is_ours(parents[process]))

    return set(filter(is_ours, found)) - {os.getpid()}


def network_services() -> set[int]:
    """The processes that fetch from the network for the browsers that this process has started."""
    return own_processes("--utility-sub-type=network.mojom.NetworkService")


def figures_as(written: str) -> Callable[[str], list[Piece]]:
    """What writes every figure of a text so."""
    return lambda text: [Piece(figure.start, figure.end, written) for figure in figures(text)]
