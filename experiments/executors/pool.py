"""Hand attempts to workers, and replace a worker that dies."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, Protocol

from experiments.designs.design import Trial
from experiments.executors.executor import Attempt, WorkerDied, first_leaf
from experiments.records.record import TrialRecord
from interventions.errors import UserError

MAX_DEATHS: Final = 5
"""How often each worker, on average, may die without one attempt having ended meanwhile.

It is more than a trial's attempts: one that kills its workers must not end the run.
"""

PATIENCE_SECONDS: Final = 10.0
"""How long a worker that is stopping may take before it is killed."""

STANDSTILL_SECONDS: Final = 20
"""How long a worker may give no sign of life before it is killed and replaced.

The time limit of its trials does not count while it stands still (see `environments.protocol.time_limit`).
"""

Say = Callable[[str], None]
"""A function that shows a line to the person who started the run."""


class Worker(Protocol):
    """The protocol of a process that runs attempts."""

    @property
    def dead(self) -> asyncio.Event:
        """The event that is set once the worker is dead."""

    async def run(self, attempt: Attempt[Trial]) -> TrialRecord:
        """Run one attempt. Raises WorkerDied or UserError."""


Start = Callable[[int], AbstractAsyncContextManager[Worker]]
"""Starts the worker with this number, from 1, for the time of a `with` block."""


class Pool:
    """An executor of workers. Each takes the next attempt when one of its slots is free."""

    def __init__(self, start: Start, workers: int, slots: int, say: Say) -> None:
        """Prepare a pool without workers; `slots` is the number of attempts that one worker runs at once."""
        self.slots = workers * slots
        self.ready = asyncio.Event()
        """The event that is set once there is a worker."""
        self._start = start
        self._workers = workers
        self._slots = slots
        self._say = say
        self._free: asyncio.Queue[Worker] = asyncio.Queue()
        self._deaths = 0

    async def run(self, attempt: Attempt[Trial]) -> TrialRecord:
        """Run one attempt at the worker that has been free for longest. Raises WorkerDied, UserError."""
        worker = await self._free.get()
        while worker.dead.is_set():
            worker = await self._free.get()
        record = await worker.run(attempt)
        self._free.put_nowait(worker)
        self._deaths = 0
        return record

    async def keep(self, number: int) -> None:
        """Keep a worker with this number running until cancelled.

        Raises:
            UserError: it cannot start, or workers die one after the other.
        """
        while True:
            try:
                async with self._start(number) as worker:
                    for _ in range(self._slots):
                        self._free.put_nowait(worker)
                    self.ready.set()
                    await worker.dead.wait()
            except WorkerDied:  # while it started
                pass
            self._deaths += 1
            if self._deaths >= MAX_DEATHS * self._workers:
                raise UserError(
                    f"{self._deaths} workers died one after the other; look at the memory of their machines, "
                    "or use fewer --workers or --slots"
                )
            self._say(f"worker {number} died; another takes its place")


@asynccontextmanager
async def open_pool(start: Start, workers: int, slots: int, say: Say) -> AsyncIterator[Pool]:
    """Keep workers, of which at least one is ready, for the time of a `with` block."""
    pool = Pool(start, workers, slots, say)
    try:
        async with asyncio.TaskGroup() as group:
            keepers = [group.create_task(pool.keep(number)) for number in range(1, workers + 1)]
            await pool.ready.wait()
            yield pool
            for keeper in keepers:
                keeper.cancel()
    except BaseExceptionGroup as group:
        raise first_leaf(group) from None
