"""A shop that is killed and started again while trials run: they are repeated, and nothing else changes."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.shop_episode import ShopTrialRunner
from experiments.executors.browser import BrowserExecutor, Testbed, open_testbed
from experiments.records import tables
from experiments.records.record import TrialRecord
from experiments.records.store import Records
from tests.experiments.running import run_trials
from tests.support import size

ROOT = Path(__file__).parents[2]
TRIALS = size(6, 8)
SLOTS = 2


class Shop:
    """The embedded shop as a process that can be killed and started again at the same address."""

    def __init__(self) -> None:
        self.url = ""
        self._process: asyncio.subprocess.Process

    async def start(self) -> None:
        """Start it, at its former port if it had one, and wait until it is ready."""
        port = self.url.rstrip("/").rpartition(":")[2] or "0"
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "environments.shop", "--port", port),
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
        )
        assert self._process.stdout is not None
        ready = (await self._process.stdout.readline()).decode()
        self.url = ready.split()[-1]

    async def kill(self) -> None:
        """End it as a power cut would."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop()
    await shop.start()
    yield shop
    await shop.kill()


class Missed(logging.Handler):
    """Notices when the runner says that it waits for the shop."""

    def __init__(self) -> None:
        super().__init__()
        self.event = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "does not answer" in record.getMessage():
            self.event.set()


async def restart(shop: Shop, amid: asyncio.Event) -> None:
    """Kill the shop at `amid`, and start it again once it has been missed."""
    missed = Missed()
    logger = logging.getLogger("experiments.executors.shop_watch")
    logger.addHandler(missed)
    await amid.wait()
    await shop.kill()
    await missed.event.wait()
    logger.removeHandler(missed)
    await shop.start()


async def run_all(folder: Path, testbed: Testbed, shop: Shop, *, disturbed: bool) -> Records:
    """The first trials of the nudge experiment; disturbed, the shop is killed when three have ended."""
    design = ShopDesign(experiment_source("nudges"))
    name = "disturbed" if disturbed else "calm"
    records = Records(f"sqlite:///{folder}/{name}.db")
    finished: list[TrialRecord] = []
    amid = asyncio.Event()

    def note(record: TrialRecord) -> None:
        finished.append(record)
        if disturbed and len(finished) == 3:
            amid.set()

    trials = islice(design.trials(["simulated:balanced"]), TRIALS)
    executor = BrowserExecutor(ShopTrialRunner(design, testbed.base_url), testbed, SLOTS)
    async with asyncio.TaskGroup() as group:
        group.create_task(run_trials(executor, design, records, trials, note))
        if disturbed:
            group.create_task(restart(shop, amid))
    assert len(finished) == len({record.trial.trial for record in finished}) == TRIALS
    return records


def rows(records: Records, *columns: sql.Column[Any]) -> list[tuple[Any, ...]]:
    with records.engine.connect() as connection:
        return sorted(tuple(row) for row in connection.execute(sql.select(*columns)))


@pytest.mark.thorough
async def test_a_restart_changes_nothing_but_the_attempts(tmp_path: Path, shop: Shop) -> None:
    async with open_testbed(tmp_path, shop.url) as testbed:
        calm = await run_all(tmp_path, testbed, shop, disturbed=False)
        disturbed = await run_all(tmp_path, testbed, shop, disturbed=True)

    trials, receipts, steps = tables.trials.c, tables.receipts.c, tables.steps.c
    kept = (trials.trial, trials.outcome, trials.choice, trials.reason, trials.steps)
    assert rows(disturbed, *kept) == rows(calm, *kept)
    assert {outcome for _, outcome, *_ in rows(disturbed, *kept)} == {"choice"}
    proof = (
        receipts.trial,
        receipts.number,
        receipts.edit,
        receipts.product,
        receipts.before,
        receipts.after,
    )
    assert rows(disturbed, *proof) == rows(calm, *proof)
    seen = (steps.trial, steps.step, steps.action, steps.thought)
    assert rows(disturbed, *seen) == rows(calm, *seen)

    assert {attempts for (attempts,) in rows(calm, trials.attempts)} == {1}
    assert {attempts for (attempts,) in rows(disturbed, trials.attempts)} == {1, 2}


@pytest.mark.thorough
async def test_a_shop_that_is_gone_for_good_ends_the_trials_as_infra_error(
    tmp_path: Path, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.executors.shop_watch.OUTAGE_SECONDS", 0.5)
    design = ShopDesign(experiment_source("nudges"))
    records = Records(f"sqlite:///{tmp_path}/t.db")
    await shop.kill()
    async with open_testbed(tmp_path, shop.url) as testbed:
        trials = islice(design.trials(["simulated:balanced"]), 3)
        runner = BrowserExecutor(ShopTrialRunner(design, testbed.base_url), testbed, SLOTS)
        await run_trials(runner, design, records, trials)
    assert records.outcomes(design.run_id) == {"infra_error": 3}
    assert rows(records, tables.trials.c.attempts) == [(3,), (3,), (3,)]
