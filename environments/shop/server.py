"""Run the shop in a process of its own: from the command line, or for the time of a `with` block."""

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from environments.launch.watchdog import end_with_parent
from interventions.errors import UserError

if TYPE_CHECKING:
    from environments.shop.catalogue import Catalogue

logger = logging.getLogger(__name__)

_READY: Final = "shop ready "
_LOOPBACK: Final = "127.0.0.1"
_ROOT: Final = Path(__file__).parents[2]
_PATIENCE_S: Final = 5.0
"""How long a shop that is stopping may take before it is killed, in seconds."""
_BEAT_S: Final = 1
"""The time between two signs of life of a shop that was started by another process, in seconds."""
STANDSTILL_S: Final = 12
"""How long it may give no sign of life before it is killed and started again, in seconds."""
MOST_RESTARTS: Final = 20
"""How often a shop is started again in all."""

Say = Callable[[str], None]
"""A function that shows a line to the person who started the program."""


@asynccontextmanager
async def shop(
    seed: int = 0,
    port: int = 0,
    say: Say = logger.warning,
    own: "Catalogue | None" = None,
    *,
    interfaces: bool = False,
) -> AsyncIterator[str]:
    """Start a shop on 127.0.0.1 and yield its base URL, which ends with a slash.

    `own`: the catalogue that it serves in place of the one that follows from the seed. `interfaces`: whether
    it has those for programs besides its pages; in trials only where the experiment treats them too.

    Port 0 takes any free port. The process ends with the block, or when this process dies. One that dies or
    stands still meanwhile is started again at the same port, without its sessions; `say` is told.

    Raises:
        UserError: when the port is taken, or the shop does not start.
    """
    # Bound here, so that a taken port is known at once; the child inherits the socket.
    with _bind(port) as listener:
        given = b"" if own is None else own.to_json()
        more = () if interfaces else ("--pages-only",)
        where = ("--socket", str(listener.fileno()), *more)
        process = await _start(seed, given, *where, sockets=(listener.fileno(),))
    url = await _ready(process)
    keeping = asyncio.create_task(_keep(process, seed, given, url, say, more))
    try:
        await asyncio.sleep(0)  # a task that is cancelled before it begins would not end the process
        yield url
    finally:
        keeping.cancel()
        with suppress(asyncio.CancelledError):
            await keeping


async def _keep(
    process: asyncio.subprocess.Process, seed: int, given: bytes, url: str, say: Say, more: tuple[str, ...]
) -> None:
    """See that a shop is there until this is cancelled; then end it."""
    try:
        for restarts in count():
            await _until_still(process)
            if process.returncode is None:
                process.kill()
            await process.wait()
            if restarts == MOST_RESTARTS:
                say(f"the shop {url} died, or stood still, {restarts + 1} times; it is not started again")
                return
            # It listens only when it is ready: whoever watches the port sees that it was away.
            process = await _start(seed, given, "--port", str(urlsplit(url).port), *more)
            await _ready(process)
            say(f"the shop {url} died, or stood still; it was started again")
    except UserError as error:
        say(f"the shop {url} died and cannot be started again: {error}")
    finally:
        await _end(process)


async def _until_still(process: asyncio.subprocess.Process) -> None:
    """Wait until a shop gives no signs of life, in seconds in which this process moves."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    silent = 0
    reading = asyncio.ensure_future(process.stdout.readline())
    try:
        while silent < STANDSTILL_S:
            silent += 1
            if not (await asyncio.wait([reading], timeout=_BEAT_S))[0]:
                continue
            if not reading.result():
                return  # it has ended
            silent = 0
            reading = asyncio.ensure_future(process.stdout.readline())
    finally:
        reading.cancel()


async def _start(
    seed: int, given: bytes, *where: str, sockets: tuple[int, ...] = ()
) -> asyncio.subprocess.Process:
    """Start a process; `given` is the catalogue that it reads from its input, if there is one."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "environments.shop", "--seed", str(seed), *where, "--end-with-stdin"),
        *(("--given", str(len(given))) if given else ()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        pass_fds=sockets,
        cwd=_ROOT,
        start_new_session=True,  # Ctrl-C is for the process that started it, which ends it then
    )
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    with suppress(ConnectionError):  # one that died is not ready, which is told
        process.stdin.write(given)
        await process.stdin.drain()
    return process


async def _ready(process: asyncio.subprocess.Process) -> str:
    """Return the address of a shop once it is ready; end it where it is not. Raises UserError."""
    try:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        line = (await process.stdout.readline()).decode().strip()
        if not line.startswith(_READY):
            raise UserError("the shop did not start; its own message is above")
    except BaseException:
        await _end(process)
        raise
    return line.removeprefix(_READY)


def main(arguments: list[str] | None = None) -> None:
    """Serve the shop until SIGTERM or SIGINT: `python -m environments.shop`."""
    parser = argparse.ArgumentParser(
        prog="python -m environments.shop", description="Serve the embedded shop."
    )
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: any free port)")
    parser.add_argument(
        "--host", default=_LOOPBACK, help="address to listen on (default: 127.0.0.1; 0.0.0.0 in a container)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the catalogue (default: 0)")
    parser.add_argument("--socket", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--pages-only", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--end-with-stdin", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--given", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.seed < 0:
        parser.error("--seed must not be negative")
    try:
        if options.socket is None:
            listener = _bind(options.port, options.host)
        else:
            end_with_parent()
            listener = socket.socket(fileno=options.socket)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    # uvicorn raises the signal that ended it once more; by then the work is done.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    from environments.shop.catalogue import Catalogue, generate  # noqa: PLC0415 - only who serves it needs it

    given = sys.stdin.buffer.read(options.given)
    catalogue = Catalogue.from_json(given) if given else generate(options.seed)
    asyncio.run(_serve(listener, catalogue, options.end_with_stdin, interfaces=not options.pages_only))


async def _serve(
    listener: socket.socket, catalogue: "Catalogue", end_with_stdin: bool, *, interfaces: bool
) -> None:
    # Imported here: whoever only starts a shop in another process need not load a web server.
    import uvicorn  # noqa: PLC0415

    from environments.shop.app import create_app  # noqa: PLC0415

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            host, port = listener.getsockname()
            print(f"{_READY}http://{host}:{port}/", flush=True)

        def end_at_eof(self) -> None:
            if not os.read(sys.stdin.fileno(), 1024):
                self.should_exit = True
                asyncio.get_running_loop().remove_reader(sys.stdin)

    async def beat() -> None:
        print(flush=True)

    config = uvicorn.Config(
        create_app(catalogue, interfaces=interfaces),
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=1,
        callback_notify=beat if end_with_stdin else None,
        timeout_notify=_BEAT_S,
    )
    server = Server(config)
    if end_with_stdin:
        asyncio.get_running_loop().add_reader(sys.stdin, server.end_at_eof)
    await server.serve(sockets=[listener])


def _bind(port: int, host: str = _LOOPBACK) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # Two listeners may share a bound port until one of them listens; this makes sure that it is ours.
        listener.listen(2048)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        place = f"port {port}" if host == _LOOPBACK else f"port {port} of {host}"
        raise UserError(f"{place}: {reason}; choose another port, or 0 for any free one") from None
    return listener


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _PATIENCE_S)
    except TimeoutError:
        process.kill()
        await process.wait()
