"""Run attempts in worker processes on this machine, which have own proxies and browsers but share a shop."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from experiments.designs.design import Trial
from experiments.executors.executor import Attempt, WorkerDied
from experiments.executors.pool import PATIENCE_SECONDS, STANDSTILL_SECONDS, Pool, Say, Worker, open_pool
from experiments.executors.setup import Setup
from experiments.executors.worker_protocol import receive_answer, send_order
from experiments.records.record import TrialRecord

ROOT: Final = Path(__file__).parents[2]


@asynccontextmanager
async def open_processes(setup: Setup, workers: int, say: Say) -> AsyncIterator[Pool]:
    """Open an executor of worker processes. Raises UserError when they do not start."""
    async with open_pool(partial(worker_process, setup), workers, setup.slots, say) as pool:
        yield pool


@asynccontextmanager
async def worker_process(setup: Setup, number: int) -> AsyncIterator[Worker]:
    """Start a worker process and wait until it is ready. Raises WorkerDied, UserError."""
    ours, theirs = socket.socketpair()
    with theirs:
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "experiments.executors.worker", str(theirs.fileno())),
            stdin=asyncio.subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the process that started it, which ends it then
        )
    reader, writer = await asyncio.open_connection(sock=ours)
    worker = ProcessWorker(process.pid, reader, writer)
    try:
        # Each has a certificate authority of its own, whose key no other process writes.
        await worker.begin(replace(setup, folder=setup.folder.absolute() / f"worker-{number}"))
        reading = asyncio.create_task(worker.read())
        watching = asyncio.create_task(worker.watch())
        try:
            yield worker
        finally:
            reading.cancel()
            watching.cancel()
    finally:
        writer.close()
        await _end(process)


class ProcessWorker:
    """A worker process, as the process that started it sees it."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.dead = asyncio.Event()
        self._pid = pid
        self._reader = reader
        self._writer = writer
        self._silent = 0
        self._numbers = count()
        self._running: dict[int, asyncio.Future[TrialRecord]] = {}

    async def begin(self, setup: Setup) -> None:
        """Send the setup and wait until the worker is ready. Raises WorkerDied, UserError."""
        try:
            await send_order(self._writer, setup)
            _, problem = await receive_answer(self._reader)
        except (EOFError, OSError):
            raise self._death() from None
        if isinstance(problem, Exception):
            raise problem

    async def run(self, attempt: Attempt[Trial]) -> TrialRecord:
        """Send an attempt to the worker and wait for its record. Raises WorkerDied, UserError."""
        number = next(self._numbers)
        self._running[number] = asyncio.get_running_loop().create_future()
        try:
            await send_order(self._writer, (number, attempt))
            return await self._running[number]
        except OSError:
            self._lose()
            raise self._death() from None
        finally:
            del self._running[number]

    async def watch(self) -> None:
        """Kill a worker that stands still; the seconds are those in which this process moves."""
        while self._silent < STANDSTILL_SECONDS:
            await asyncio.sleep(1)
            self._silent += 1
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    async def read(self) -> None:
        """Receive records and signs of life until the worker is dead."""
        try:
            while True:
                number, answer = await receive_answer(self._reader)
                self._silent = 0
                running = self._running.get(number)
                if running is None or running.done():  # nobody waits for it any longer
                    continue
                if isinstance(answer, TrialRecord):
                    running.set_result(answer)
                else:
                    running.set_exception(answer or self._death())
        except EOFError:
            self._lose()

    def _lose(self) -> None:
        self.dead.set()
        for future in self._running.values():
            if not future.done():
                future.set_exception(self._death())

    def _death(self) -> WorkerDied:
        return WorkerDied(f"its worker died (process {self._pid})")


async def _end(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
