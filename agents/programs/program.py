"""Run a program of the user's: its output is kept, its memory limited, and nothing it starts outlives it."""

import asyncio
import json
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import psutil

from agents.programs.bubblewrap import KEEPER
from agents.programs.relay import Relay
from environments.launch.watchdog_process import kill, processes

MOST_PROCESSES: Final = 512
"""The most processes that a program and all that it starts may be at once."""
MOST_OUTPUT: Final = 64 * 2**20
"""The most bytes that a program may write."""
VARIABLE: Final = "SOUK_PROGRAM"
"""The variable in the environment of a program and of what it starts."""
_KEPT: Final = 32 * 2**10
"""How many bytes are kept of the beginning of an output, and of its end."""
_LONGEST_LINE: Final = 16 * 2**10
_PATIENCE_SECONDS: Final = 10.0
"""How long the keeper may take to end a program before it is killed itself."""


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """How a program ended.

    `status` is negative for a signal; `limit` is why it was ended, and `error` why it did not start.
    """

    status: int | None = None
    limit: str = ""
    error: str = ""


@dataclass(slots=True)
class Output:
    """The output of a program: the beginning and the end are kept; `line` is told of each short line."""

    line: Callable[[bytes], None]
    size: int = 0
    _first: bytearray = field(default_factory=bytearray)
    _last: bytearray = field(default_factory=bytearray)
    _begun: bytearray = field(default_factory=bytearray)
    """The line that has not ended; longer than a line may be, where it is passed over."""

    def add(self, part: bytes) -> None:
        """Take what the program has written next."""
        self.size += len(part)
        fits = max(0, _KEPT - len(self._first))
        self._first += part[:fits]
        self._last += part[fits:]
        del self._last[:-_KEPT]
        *whole, rest = part.split(b"\n")
        for end in whole:
            if len(self._begun) + len(end) <= _LONGEST_LINE:
                self.line(bytes(self._begun + end))
            self._begun.clear()
        self._begun += rest[: _LONGEST_LINE + 1 - len(self._begun)]

    @property
    def text(self) -> str:
        """What is kept, as text."""
        left_out = self.size - len(self._first) - len(self._last)
        gap = f"\n[... {left_out:,} bytes ...]\n".encode() if left_out else b""
        return bytes(self._first + gap + self._last).decode("utf-8", "replace")


def _ends(connection: Any) -> list[tuple[str, int]]:
    """The two ends of a connection; one that only listens has one."""
    return [end for end in (connection.laddr, connection.raddr) if end]


class Program:
    """A program that runs. `relay`: what a program can reach that has a network of its own."""

    def __init__(
        self,
        keeper: asyncio.subprocess.Process,
        control: socket.socket,
        written: asyncio.StreamReader,
        output: Output,
        mark: bytes,
        relay: Relay | None,
        *,
        confined: bool,
    ) -> None:
        self.output, self._mark, self._relay, self.confined = output, mark, relay, confined
        self._keeper, self._control, self._written = keeper, control, written
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._hear())]
        self.ended: asyncio.Future[ProgramEnd] = asyncio.get_running_loop().create_future()
        """How the program ended, once nothing is left of it."""

    def tell(self, text: str, *, more: bool = False) -> None:
        """Write a line to the program's standard input; without `more` that is its end.

        A program that reads nothing is not waited for.
        """
        if self._keeper.stdin:
            self._keeper.stdin.write(text.encode() + b"\n")
            if not more:
                self._keeper.stdin.close()

    async def reach(self, port: int) -> None:
        """Let a program with a network of its own reach this port from now on, not the one before."""
        if self._relay:
            opened = self._relay.expect(port)
            with suppress(OSError):  # its keeper has ended
                self._control.send(b"%d" % port)
            until: list[asyncio.Future[Any]] = [opened, self.ended]
            await asyncio.wait(until, return_when=asyncio.FIRST_COMPLETED)

    async def _read(self) -> None:
        while part := await self._written.read(2**16):
            self.output.add(part)
            if self.output.size > MOST_OUTPUT:
                self._end(ProgramEnd(limit=f"more than {MOST_OUTPUT >> 20} MB of output"))
                with suppress(OSError):
                    self._control.shutdown(socket.SHUT_WR)
                return

    async def _hear(self) -> None:
        told = b""
        while part := await self._receive():
            told = part
        try:
            said = json.loads(told)
            ended = ProgramEnd(said["status"], said["limit"], said["error"])
        except (ValueError, KeyError, TypeError):  # it was killed, or bubblewrap has not started it
            while left := processes(self._mark, os.getsid(0)):
                for process in left:
                    kill(process)
                await asyncio.sleep(0.01)
            await asyncio.wait(self._tasks[:1], timeout=1)
            said = self.output.text.strip().rpartition("\n")[2]
            ended = (
                ProgramEnd(error=said)
                if said.startswith("bwrap: ")
                else ProgramEnd(limit="its keeper was killed")
            )
        # What it has written before its end is still in the pipe.
        await asyncio.wait(self._tasks[:1], timeout=1)
        self._end(ended)

    async def _receive(self) -> bytes:
        """Wait for what the keeper says; sockets that it hands on are the relay's. Empty: it has ended."""
        loop = asyncio.get_running_loop()
        while True:
            ready = loop.create_future()
            loop.add_reader(self._control, ready.set_result, None)
            try:
                await ready
            finally:
                loop.remove_reader(self._control)
            try:
                part, handles, _, _ = socket.recv_fds(self._control, 4096, 1)
            except OSError:
                return b""
            if not handles:
                return part
            for handle in handles:
                server = socket.socket(fileno=handle)
                if self._relay:
                    await self._relay.open(server, part)
                else:
                    server.close()

    def _end(self, ended: ProgramEnd) -> None:
        if not self.ended.done():
            self.ended.set_result(ended)

    def has_connection(self, near: tuple[str, int], far: tuple[str, int]) -> bool:
        """Return whether the connection from `near` to `far` is the program's, or of what it has started.

        `near` and `far` are IPv4 addresses and ports. True also where the machine does not say it.
        """
        if self._relay:
            return near in self._relay.ends
        try:
            family = psutil.Process(self._keeper.pid).children(recursive=True)
        except psutil.Error:  # it was killed
            return False
        for process in family:
            try:
                for each in process.net_connections("tcp"):
                    if [near, far] == [(ip.removeprefix("::ffff:"), port) for ip, port in _ends(each)]:
                        return True
            except psutil.AccessDenied:
                return True
            except psutil.Error:  # it has ended meanwhile
                continue
        return False

    async def close(self) -> None:
        """End the program and all that it has started."""
        try:
            with suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)
            await asyncio.wait_for(self._keeper.wait(), _PATIENCE_SECONDS)
        except TimeoutError:
            pass
        finally:
            with suppress(ProcessLookupError):
                self._keeper.kill()
            # What a keeper leaves that had to be killed is ended here.
            await asyncio.wait(self._tasks[1:], timeout=_PATIENCE_SECONDS)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            self._control.close()
            if self._relay:
                await self._relay.close()
            await self._keeper.wait()


@asynccontextmanager
async def run_program(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    memory: int,
    line: Callable[[bytes], None],
    sandbox: Sequence[str] = (),
    reach: Sequence[tuple[str, int]] | None = None,
    port: int = 0,
) -> AsyncIterator[Program]:
    """Run a program for the time of the block, without a shell.

    `memory`, in bytes, is what it may have together with all that it starts. `line` is told of each line of
    its output. `sandbox`: the command that confines it. `reach`: None for a program with this machine's
    network; else the addresses and ports of this machine that it reaches in a network of its own, and `port`
    the one that it reaches at first (see `Program.reach`).
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mark = secrets.token_hex(16)
    ours.setblocking(False)
    relay = None if reach is None else Relay(reach)
    if relay:
        relay.expect(port)
    ports = json.dumps([*reach, ("127.0.0.1", port)] if reach is not None else None)
    reading, writing = os.pipe()
    # A pipe of our own: asyncio would wait for its end, and whoever holds it could go on for ever.
    written = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(written), os.fdopen(reading, "rb", buffering=0)
    )
    with theirs, os.fdopen(writing, "wb", buffering=0) as end:
        keeper = await asyncio.create_subprocess_exec(
            *(*sandbox, sys.executable, "-I", "-S", str(KEEPER)),
            *(str(theirs.fileno()), str(memory), str(MOST_PROCESSES), ports, *command),
            stdin=asyncio.subprocess.PIPE,
            stdout=end,
            stderr=end if sandbox else None,
            pass_fds=(theirs.fileno(),),
            env={**environment, VARIABLE: mark},
            start_new_session=True,
        )
    marked = f"{VARIABLE}={mark}".encode()
    program = Program(keeper, ours, written, Output(line), marked, relay, confined=bool(sandbox))
    try:
        yield program
    finally:
        await program.close()
        pipe.close()
