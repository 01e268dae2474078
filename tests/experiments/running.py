"""Trials from a design to the database, as `souk run` sees them through."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import chdir
from pathlib import Path
from typing import Any

from rich.console import Console

from experiments.designs.cards.design import CardDesign
from experiments.designs.shop.design import ShopDesign
from experiments.executors.executor import Executor
from experiments.executors.setup import Setup
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from experiments.records.writer import Writer
from experiments.runs.admission import Admission
from experiments.runs.coordinator import Coordinator
from experiments.runs.experiment_run import ExperimentRun

HOTELS = """\
name: few-hotels
task: card
mode: text
cards: hotels
design: {conjoint: {pool: hotels, blocks: [{set_size: 2, sets: 8, repeats: 1}]}}
agents: [simulated:balanced]
seed: 3
"""


def run_here(experiment: str, folder: Path, limit: int | None = None) -> None:
    """Run an experiment in a folder, to its end, with its records in `t.db`."""
    with chdir(folder):
        run = ExperimentRun(experiment, agents=None, limit=limit, db="sqlite:///t.db", out=folder / "out")
        asyncio.run(run.run(Console(quiet=True)))
        assert run.done == run.total
        run.records.close()


async def run_trials(
    executor: Executor,
    design: ShopDesign | CardDesign,
    records: Records,
    trials: Iterable[Any],
    finished: Callable[[TrialRecord], None] = lambda _: None,
) -> None:
    """Run them at this executor; `finished` is called after each has been stored."""
    writer = Writer(records)
    lost = Setup(design, Path(), design.shop, executor.slots).lost
    async with Admission(records, design.run_id) as admission:
        await Coordinator(executor, writer, admission, lost).run(trials, finished)
    await writer.close()
