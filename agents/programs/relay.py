"""Connect a program that has a network of its own to some ports of this machine, and to nothing else.

The program's keeper listens at the same addresses in the program's network, and hands the sockets on.
"""

import asyncio
import json
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

_PART: Final = 2**16


class Relay:
    """Carries the connections of one program. `ends`: the addresses and ports of its ends of them here."""

    def __init__(self, reach: Sequence[tuple[str, int]]) -> None:
        self.ends: set[tuple[str, int]] = set()
        self._reach = set(reach)
        self._expected: tuple[str, int] | None = None
        self._opened: asyncio.Future[None] | None = None
        self._own: asyncio.Server | None = None
        """What listens at the port that is reached now."""
        self._servers: list[asyncio.Server] = []
        self._running: set[asyncio.Task[None]] = set()

    def expect(self, port: int) -> asyncio.Future[None]:
        """Close the port that was reached before, and take this one; return what is done once it is open."""
        if self._own:
            self._own.close()
        self._own, self._expected = None, ("127.0.0.1", port)
        self._opened = asyncio.get_running_loop().create_future()
        return self._opened

    async def open(self, listening: socket.socket, told: bytes) -> None:
        """Take a socket that listens in the program's network, at the address that is told."""
        address, port = json.loads(told)
        where = (address, port)
        if where != self._expected and where not in self._reach:
            listening.close()
            return

        async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._carry(where, reader, writer))
            self._running.add(task)
            try:
                await asyncio.wait([task])
            finally:
                task.cancel()
                self._running.discard(task)
                writer.close()

        server = await asyncio.start_server(carry, sock=listening)
        if where == self._expected and self._opened and not self._opened.done():
            self._own = server
            self._opened.set_result(None)
        else:
            self._servers.append(server)

    async def _carry(
        self, where: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        end = socket.socket(socket.AF_INET6 if ":" in where[0] else socket.AF_INET)
        end.setblocking(False)
        end.bind((where[0], 0))
        near = end.getsockname()[:2]
        self.ends.add(near)  # before it is connected: the proxy asks at once whose it is
        try:
            await asyncio.get_running_loop().sock_connect(end, where)
            far_reader, far_writer = await asyncio.open_connection(sock=end)
            try:
                await asyncio.gather(_pass(reader, far_writer), _pass(far_reader, writer))
            finally:
                far_writer.close()
        except OSError:
            writer.transport.abort()
        finally:
            end.close()
            self.ends.discard(near)

    async def close(self) -> None:
        """Listen no more, and end all connections."""
        for server in (*self._servers, *([self._own] if self._own else [])):
            server.close()
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Carry what comes from one end to the other, and its end."""
    while part := await reader.read(_PART):
        writer.write(part)
        await writer.drain()
    with suppress(OSError):
        writer.write_eof()
