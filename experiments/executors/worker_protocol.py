"""Pass messages between a command and its worker process, over a socket pair that only these two hold.

The command sends objects of its own, pickled. What comes back is JSON, because a worker has had to do with
pages and models: the command unpickles nothing.
"""

import asyncio
import json
import pickle
import struct
from dataclasses import asdict
from typing import Any, Final

from experiments.records.record import TrialRecord, TrialRow
from interventions.errors import UserError

HEADER: Final = struct.Struct("!Q")

Answer = TrialRecord | Exception | None
"""The result of an attempt; None: the worker is ready."""


async def send_order(writer: asyncio.StreamWriter, value: object) -> None:
    """Send one object to a worker. Raises OSError when it is gone."""
    await _send(writer, pickle.dumps(value))


async def receive_order(reader: asyncio.StreamReader) -> Any:
    """Return the next object from the command. Raises EOFError when it is gone."""
    return pickle.loads(await _receive(reader))  # noqa: S301 - see the top of this module


async def send_answer(writer: asyncio.StreamWriter, number: int, answer: Answer) -> None:
    """Send the result of the attempt with this number. Raises OSError when the command is gone."""
    said: dict[str, Any] = {"number": number}
    if isinstance(answer, TrialRecord):
        said["record"] = asdict(answer)
    elif isinstance(answer, UserError):
        said["mistake"] = str(answer)
    elif answer is not None:
        said["fault"] = str(answer)
    await _send(writer, json.dumps(said).encode())


async def receive_answer(reader: asyncio.StreamReader) -> tuple[int, Answer]:
    """Return the next answer and its number.

    Raises EOFError when the worker is gone, or sends what is no answer.
    """
    try:
        said = json.loads(await _receive(reader))
        number = int(said["number"])
        if "record" in said:
            record = said["record"]
            return number, TrialRecord(**{**record, "trial": TrialRow(**record["trial"])})
    except (ValueError, KeyError, TypeError):
        raise EOFError from None
    if "mistake" in said:
        return number, UserError(said["mistake"])
    return number, RuntimeError(said["fault"]) if "fault" in said else None


async def _send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(HEADER.pack(len(data)) + data)
    await writer.drain()


async def _receive(reader: asyncio.StreamReader) -> bytes:
    try:
        (length,) = HEADER.unpack(await reader.readexactly(HEADER.size))
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, OSError):
        raise EOFError from None
