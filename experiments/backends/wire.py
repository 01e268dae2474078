"""How a worker process and the one that started it talk: pickled objects over a socket pair.

Nobody else can write to it: it has no name, and only these two processes hold its ends.
"""

import asyncio
import pickle
import struct
from typing import Any, Final

HEADER: Final = struct.Struct("!Q")


async def send(writer: asyncio.StreamWriter, value: object) -> None:
    """Send one object. Raises OSError when the other side is gone."""
    data = pickle.dumps(value)
    writer.write(HEADER.pack(len(data)) + data)
    await writer.drain()


async def receive(reader: asyncio.StreamReader) -> Any:
    """The next object. Raises EOFError when the other side is gone."""
    try:
        (length,) = HEADER.unpack(await reader.readexactly(HEADER.size))
        return pickle.loads(await reader.readexactly(length))  # noqa: S301 - see the top of this module
    except (asyncio.IncompleteReadError, OSError):
        raise EOFError from None
