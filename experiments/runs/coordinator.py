"""See trials through: from the queue to an executor, again where that failed, and to the records."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Final, TypeVar

from experiments.designs.design import Trial
from experiments.executors.executor import (
    MAX_ATTEMPTS,
    Attempt,
    Executor,
    WorkerDied,
    first_leaf,
)
from experiments.records.record import Start, TrialRecord
from experiments.records.writer import Writer
from experiments.runs.admission import Admission
from experiments.runs.claims import ClaimedTrials
from experiments.runs.outages import LOOK_SECONDS, Outages

logger = logging.getLogger(__name__)

LOOK_AHEAD: Final = 1_000
"""The most trials that are passed over while their agent's provider is down."""

T = TypeVar("T", bound=Trial)
Lost = Callable[[Attempt[Trial], str], TrialRecord]
"""A function that makes the record of an attempt that never came back, for this reason."""


class Coordinator:
    """Holds the queue of one command.

    Executors never see the database; the coordinator claims and stores trials.
    """

    def __init__(self, executor: Executor[Trial], writer: Writer, admission: Admission, lost: Lost) -> None:
        self._executor = executor
        self._writer = writer
        self._admission = admission
        self._lost = lost
        self._outages = Outages()
        self._places = asyncio.Semaphore(executor.slots)

    async def run(
        self,
        trials: Iterable[Trial],
        finished: Callable[[TrialRecord], None],
        elsewhere: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Run all trials that are admitted, until all have ended; `finished` is told of each stored one.

        Other processes may run some of them: `elsewhere` is told how many these have ended.
        Cancelling stops the running trials; they leave no record and run again when resumed.
        """
        try:
            async with asyncio.TaskGroup() as group:
                claim = partial(self._writer.claim, self._admission.runner)
                slots, say = self._executor.slots, self._admission.say
                queue = ClaimedTrials(trials, claim, slots, elsewhere=elsewhere, say=say)
                async for trial in self._due(queue):
                    if self._admission.is_enough(trial.agent):
                        continue  # its claim ends with this process
                    if not await self._admission.admit(trial):
                        break
                    await self._places.acquire()
                    group.create_task(self._see_through(trial, finished))
        except BaseExceptionGroup as group:
            # A task of the group failed and stopped the others: its own error is what matters.
            raise first_leaf(group) from None

    async def _due(self, queue: ClaimedTrials[T]) -> AsyncIterator[T]:
        """The trials in order, each when it can start; where a provider is down, those of others first."""
        waiting = dict[str, deque[T]]()
        while True:
            async with self._places:
                pass
            back = next((agent for agent in waiting if not self._outages.lasts(agent)), None)
            if back is not None:
                yield waiting[back].popleft()
                waiting = {agent: those for agent, those in waiting.items() if those}
            elif sum(map(len, waiting.values())) >= LOOK_AHEAD:
                await asyncio.sleep(LOOK_SECONDS)
            elif (trial := await queue.next()) is not None:
                if self._outages.lasts(trial.agent):
                    waiting.setdefault(trial.agent, deque()).append(trial)
                else:
                    yield trial
            elif waiting or queue.waits:
                await asyncio.sleep(LOOK_SECONDS)
            else:
                return

    async def _see_through(self, trial: Trial, finished: Callable[[TrialRecord], None]) -> None:
        try:
            record = await self._outcome(trial)
            await self._writer.store(record)
            self._admission.settle(record)
            finished(record)
        finally:
            self._places.release()

    async def _outcome(self, trial: Trial) -> TrialRecord:
        start, failed = Start.now(), list[TrialRecord]()
        for number in count(1):
            record = await self._attempt(Attempt(trial, number, start))
            if record.trial.outcome != "infra_error":
                self._outages.answered(trial.agent)
                break
            if record.cause == "provider":
                if not self._outages.lasts(trial.agent):
                    reason = f"{trial.agent}: {record.trial.reason}"
                    self._admission.say(f"{reason}; its trials wait, then are tried again")
                self._outages.failed(trial.agent, number)
            if number == MAX_ATTEMPTS:
                break
            failed.append(record)
            logger.warning("trial %s, attempt %d: %s", trial.id, number, record.trial.reason)
            if record.cause == "provider":
                async with self._stepped_aside():
                    await self._outages.over(trial.agent)
        return with_calls_of(failed, record)

    async def _attempt(self, attempt: Attempt[Trial]) -> TrialRecord:
        try:
            return await self._executor.run(attempt)
        except WorkerDied as death:
            return self._lost(attempt, str(death))

    @asynccontextmanager
    async def _stepped_aside(self) -> AsyncIterator[None]:
        """Leave the place to other trials for the time of the block."""
        self._places.release()
        try:
            yield
        finally:
            await self._places.acquire()


def with_calls_of(failed: Sequence[TrialRecord], record: TrialRecord) -> TrialRecord:
    """Return the record with the requests that earlier attempts made to providers.

    These requests have been paid for.
    """
    calls = [call for each in (*failed, record) for call in each.calls]
    rows = [each.trial for each in (record, *failed)]
    costs = [row.cost for row in rows if row.cost is not None]
    trial = replace(
        record.trial,
        tokens_in=sum(row.tokens_in for row in rows),
        tokens_out=sum(row.tokens_out for row in rows),
        cost=sum(costs) if len(costs) == len(rows) else None,
    )
    numbered = [{**call, "number": number} for number, call in enumerate(calls)]
    return replace(record, trial=trial, calls=numbered)
