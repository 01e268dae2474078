"""Run a worker process: `python -m experiments.executors.worker SOCKET`, the other end of `processes.py`.

It gets its setup, says that it is ready or why not, and then answers each numbered attempt with its record.
It ends when the socket is closed, also because the process that started it is gone.
"""

import asyncio
import logging
import os
import socket
import sys
import traceback
from contextlib import suppress
from typing import Final

from environments.launch.watchdog import end_with_parent
from experiments.console.terminal import PlainFormatter
from experiments.designs.design import Trial
from experiments.executors.executor import Attempt, Executor
from experiments.executors.setup import open_executor
from experiments.executors.worker_protocol import Answer, receive_order, send_answer
from interventions.errors import UserError

READY: Final = -1
"""The number of the answer to the setup, and of signs of life."""

BEAT_SECONDS: Final = 2.0
"""The time between two signs of life."""


async def serve(connection: socket.socket) -> None:
    """Run attempts until the other side is gone."""
    reader, writer = await asyncio.open_connection(sock=connection)
    setup = await receive_order(reader)
    try:
        async with open_executor(setup) as executor:
            await send_answer(writer, READY, None)
            tasks: set[asyncio.Task[None]] = {asyncio.create_task(_beat(writer))}
            with suppress(EOFError):
                while True:
                    number, attempt = await receive_order(reader)
                    tasks.add(task := asyncio.create_task(_answer(writer, executor, number, attempt)))
                    task.add_done_callback(tasks.discard)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    except UserError as error:
        await send_answer(writer, READY, error)


async def _beat(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await send_answer(writer, READY, None)


async def _answer(
    writer: asyncio.StreamWriter, executor: Executor[Trial], number: int, attempt: Attempt[Trial]
) -> None:
    answer: Answer
    try:
        answer = await executor.run(attempt)
    except UserError as error:
        answer = error
    except (
        Exception
    ) as error:  # a fault in the program: its own place is what helps, not that of the other side
        answer = RuntimeError("".join(traceback.format_exception(error)))
    await send_answer(writer, number, answer)


def main() -> None:
    """Run the worker on the socket from the process that started this one."""
    end_with_parent()
    os.set_inheritable(number := int(sys.argv[1]), False)
    log = logging.StreamHandler()
    log.setFormatter(PlainFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=os.environ.get("SOUK_LOG", "ERROR"), handlers=[log])
    with suppress(EOFError, OSError):
        asyncio.run(serve(socket.socket(fileno=number)))


if __name__ == "__main__":
    main()
