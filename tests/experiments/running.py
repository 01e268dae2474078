"""Trials from a design to the database, as `souk run` sees them through."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from experiments.backends.coordinator import Coordinator
from experiments.backends.executor import Executor
from experiments.backends.setup import Setup
from experiments.card_designs.design import CardDesign
from experiments.design import Design
from experiments.gate import Gate
from experiments.records import Records, TrialRecord
from experiments.writer import Writer


async def run_trials(
    executor: Executor,
    design: Design | CardDesign,
    records: Records,
    trials: Iterable[Any],
    finished: Callable[[TrialRecord], None] = lambda _: None,
) -> None:
    """Run them at this executor; `finished` is called after each has been stored."""
    writer = Writer(records)
    lost = Setup(design, Path(), None, executor.slots).lost
    async with Gate(records, design.run) as gate:
        await Coordinator(executor, writer, gate, lost).run(trials, finished)
    await writer.close()
