"""Run trials in the shop as `souk run` does, each of which has to end as a choice."""

import time
from collections.abc import Iterable
from typing import Any

from experiments.designs.cards.design import CardDesign
from experiments.designs.shop.design import ShopDesign
from experiments.executors.executor import Executor
from experiments.records.record import TrialRecord, TrialRow
from experiments.records.store import Records
from tests.experiments.running import run_trials

Ended = list[tuple[float, TrialRow]]
"""Trials in the order of their ends, each with the second of the clock, and without their pages."""


async def all_ended(
    executor: Executor[Any], design: ShopDesign | CardDesign, trials: Iterable[object], db: str
) -> Ended:
    """Run the trials, and store them in a new database."""
    records, ended = Records(db), Ended()

    def finished(record: TrialRecord) -> None:
        assert record.trial.outcome == "choice", record.trial.reason
        ended.append((time.perf_counter(), record.trial))

    records.begin_run(design.run_id, design.experiment.name, design.facts([]))
    await run_trials(executor, design, records, trials, finished)
    return ended


def rate_of_the_middle(ended: Ended) -> float:
    """Return how many ended in a minute, after the first quarter of them and before the last."""
    quarter = len(ended) // 4
    return 60 * (len(ended) - 2 * quarter) / (ended[-quarter - 1][0] - ended[quarter - 1][0])
