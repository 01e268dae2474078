"""Write a process's trials: those that end together in one transaction; wait for a database that is away."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from experiments.records.asking import DatabaseThread
from experiments.records.control import ClaimResult, Runner
from experiments.records.errors import cause, is_away, is_damaged, is_full, unreadable
from experiments.records.record import Trace, TrialRecord
from experiments.records.store import Records
from interventions.errors import UserError

logger = logging.getLogger(__name__)

T = TypeVar("T")

PATIENCE: Final = 300.0
"""How long to wait for a database that is away, in seconds."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 15.0


class Writer:
    """Claims trials, and stores finished ones in the order in which they end."""

    def __init__(
        self,
        records: Records,
        trace: Trace = "full",
        *,
        say: Callable[[str], None] = logger.warning,
        patience: float = PATIENCE,
    ) -> None:
        """Start the writer.

        `trace` is what is kept of the steps; `say` is told, in a line, why nothing is being stored.
        """
        self._records = records
        self._trace = trace
        self._say = say
        self._patience = patience
        self._asking = DatabaseThread(records, "records")
        self._waiting: list[tuple[TrialRecord, asyncio.Future[None]]] = []
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._failure: Exception | None = None
        self._told = False
        self._away = False

    async def claim(self, runner: Runner, trials: Sequence[str]) -> ClaimResult:
        """Claim trials for a process of the run, before it starts them.

        Raises:
            UserError: the database stayed away, or nothing can be written to it.
        """
        return await self._patiently(partial(runner.claim, self._records, trials), "")

    async def release(self, runner: Runner, trial: str) -> None:
        """Give up a claimed trial, so that another process can claim it.

        Raises UserError as `claim` does.
        """
        await self._patiently(partial(runner.release, self._records, trial), "")

    async def store(self, record: TrialRecord) -> None:
        """Store a record; return once it is durable.

        Raises:
            UserError: the database stayed away, or nothing can be written to it.
        """
        if self._failure:
            raise self._failure
        stored = asyncio.get_running_loop().create_future()
        self._waiting.append((kept(record, self._trace), stored))
        if self._task is None or self._task.done():
            # A task of its own: a trial that is stopped while it waits does not stop the others' writing.
            self._task = asyncio.create_task(self._write())
        await stored

    async def close(self) -> None:
        """Store what is left, without waiting for a database that is away.

        Raises:
            UserError: what had ended could not be stored, and nobody was told so yet.
        """
        self._closing.set()
        self._asking.hurry()
        if self._task:
            await self._task
        self._asking.close()
        if self._failure and not self._told:
            raise self._failure

    async def _write(self) -> None:
        while self._waiting:
            await asyncio.sleep(0)  # what ends in the same turn is written together
            batch = self._waiting[:]
            try:
                records = [record for record, _ in batch]
                unsaid = f"{len(batch):,} finished trials are not stored; "
                await self._patiently(partial(self._records.save, *records), unsaid)
            except Exception as error:  # whatever it is, whoever waits has to know
                self._failure = error
                for _, stored in self._waiting:
                    if not stored.done():
                        stored.set_exception(error)
                        self._told = True
                return
            del self._waiting[: len(batch)]
            for _, stored in batch:
                if not stored.done():
                    stored.set_result(None)

    async def _patiently(self, change: Callable[[], T], unsaid: str) -> T:
        """Make a change to the database once it is there; `unsaid` is lost where it stays away."""
        loop = asyncio.get_running_loop()
        began, pause = loop.time(), _FIRST_PAUSE
        while True:
            try:
                changed = await self._asking.ask(change)
            except (SQLAlchemyError, OSError) as error:
                if is_full(error):
                    raise UserError(
                        f"--db {self._records.url}: {cause(error)}; make room, or mend it, and the same "
                        "command goes on (what was stored is safe)"
                    ) from None
                if is_damaged(error):
                    raise unreadable(self._records.url, error) from None
                if not is_away(error):
                    raise
                why = "it does not answer" if self._records.stood_still else cause(error)
                if self._closing.is_set() or loop.time() - began > self._patience:
                    raise UserError(
                        f"--db {self._records.url}: {why}; {unsaid}once it answers again, the same "
                        "command goes on"
                    ) from None
                if not self._away:
                    self._say(f"waiting for the database {self._records.url}: {why}")
                    self._away = True
            else:
                self._away = False
                return changed
            try:
                await asyncio.wait_for(self._closing.wait(), pause)
            except TimeoutError:
                pause = min(2 * pause, _LONGEST_PAUSE)


def kept(record: TrialRecord, trace: Trace) -> TrialRecord:
    """Return the record without what is not to be kept.

    `light` drops the pages, `none` the steps as well.
    """
    if trace == "full":
        return record
    steps = [{**step, "observation": None} for step in record.steps] if trace == "light" else []
    return replace(record, steps=steps, sent_pages=[], artifacts={})
