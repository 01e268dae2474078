"""A run with `allocation: adaptive`: with failures, several commands, a kill, and beside a stopping rule."""

import asyncio
import json
import random
import signal
from collections import Counter
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from experiments.bundles.bundle import make_bundle
from experiments.bundles.verify import verify_bundle
from experiments.designs.shop.design import ShopDesign
from experiments.records.record import TrialRecord
from experiments.runs.experiment_run import ExperimentRun
from experiments.runs.status import run_statuses
from experiments.studies.assignment import choice_table
from experiments.studies.kinds import analyze_run
from tests.experiments.command_line import forked_souk
from tests.experiments.runs.killed_runs import end_of, start_run
from tests.experiments.runs.test_stopping import RULE, Drawn, DrawnRun

FILE = """\
name: allocated
goal: Add the best product from the open tabs to the shopping cart.
options: {pairing: price-adjacent, set_size: 2, sets: 12, max_price_gap: 0.5, max_rating_gap: 0.1}
factors: {nudge: {interventions: nudges, only: [best-seller, newer-version, wirecutter]}, order: both}
agents: ["simulated:random", "simulated:balanced"]
seed: 3
allocation: adaptive
"""
FIXED, NOISY = "simulated:balanced", "simulated:random"
ASKED, ALL = 2 * 12 * (2 + 2 * 3), 2 * 12 * 3 * 3
"""The trials of an agent without further repeats, and all: 3 texts with 2 carriers, and the control."""


class ByQuestion(Drawn):
    """One agent answers each question as it did before, the other at random."""

    async def run(self, attempt: Any) -> TrialRecord:
        trial = attempt.trial
        await asyncio.sleep(0)
        if self.rng.random() < self.failing:
            return self._record(trial, "infra_error", None)
        words = trial.nudge.id if trial.carrier else ""
        asked = f"{trial.set} {trial.ordering} {trial.carrier} {words}"
        taste = random.Random(asked if trial.agent == FIXED else trial.id)
        return self._record(trial, "choice", taste.choice(sorted(product.key for product in trial.products)))


def a_run(folder: Path, more: str = "", **how: Any) -> DrawnRun:
    (folder / "allocated.yaml").write_text(FILE + more)
    with chdir(folder):
        run = DrawnRun("allocated.yaml", agents=None, limit=None, db=f"sqlite:///{folder}/t.db", out=folder)
    assert isinstance(run.design, ShopDesign)
    run.executor = ByQuestion(run.design, **{"slots": 4, "rng": random.Random(0), **how})
    return run


def counts(run: ExperimentRun) -> Counter[str]:
    with run.records.reading() as connection:
        query = "SELECT agent, count(*) FROM trials WHERE outcome = 'choice' GROUP BY agent"
        return Counter(dict(connection.exec_driver_sql(query).all()))


@pytest.mark.slow
def test_only_the_agent_whose_answers_vary_is_asked_all_repeats(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    asyncio.run(run.run(Console(quiet=True)))
    assert counts(run) == {FIXED: ASKED, NOISY: ALL}
    varying, fixed = run.stops()
    assert varying.startswith(f"{NOISY}: ") and varying.endswith("its answers vary, and all repeats are run")
    assert fixed == f"{FIXED}: 24 of 24 questions answered the same twice; 24 further repeats are left out"
    shown = forked_souk("status", run.design.run_id, "--db", run.records.url, cwd=tmp_path)
    assert fixed in " ".join(shown.out.split())
    again = a_run(tmp_path)
    assert f"{ASKED + ALL:,} trials: {ASKED + ALL:,} done, 0 to run" in again.summary()
    (status,) = run_statuses(run.records, run.design.run_id)
    assert (status.state, status.wanted, status.done) == ("finished", ASKED + ALL, ASKED + ALL)
    table = choice_table(run.records, run.design.run_id)
    chances = table.groupby(["agent", "condition"])["assignment"].agg(["min", "max"])
    assert (chances.loc[NOISY] == 1).all(axis=None)
    assert chances.loc[(FIXED, "nudged")].tolist() == [1, 1]
    assert chances.loc[(FIXED, "control")].tolist() == pytest.approx([2 / 3, 2 / 3])
    found = run.records.latest_run(run.design.run_id)
    analysis = json.loads(analyze_run(run.records, found).to_json())
    assert any("chance of assignment" in note for note in analysis["notes"])
    logit = {row["group"]: row for row in analysis["logit"] if row["term"] == "nudged"}
    assert logit[FIXED]["logit"] is None and "chances of assignment" in logit[FIXED]["note"]
    assert logit[NOISY]["logit"] is not None
    (tmp_path / "b.zip").write_bytes(make_bundle(run.records, found))
    assert not verify_bundle(tmp_path / "b.zip", 1e-9).differences


def test_repeats_wait_until_a_failed_trial_has_ended(tmp_path: Path) -> None:
    """Other commands may be killed at any moment: in the end the same trials have run."""
    a_run(tmp_path).records.close()
    commands = [
        start_run(lambda: a_run(tmp_path, failing=0.2, rng=random.Random(1)), seconds)
        for seconds in (0.3, 0.8)
    ]
    assert {end_of(process) for process in commands} <= {0, -signal.SIGPROF}
    for number in range(40):
        run = a_run(tmp_path, failing=0.5, rng=random.Random(number))
        asyncio.run(run.run(Console(quiet=True)))
        assert counts(run)[FIXED] <= ASKED
        if counts(run) == {FIXED: ASKED, NOISY: ALL}:
            break
    assert counts(run) == {FIXED: ASKED, NOISY: ALL}


def test_beside_a_stopping_rule(tmp_path: Path) -> None:
    """Trials count for the rule in the order in which they run; what is left out keeps none waiting."""
    run = a_run(tmp_path, f"stopping: {{{RULE}}}\n")
    asyncio.run(run.run(Console(quiet=True)))
    (status,) = run_statuses(run.records, run.design.run_id)
    own = {each["agent"]: each for each in status.sequences}
    assert (own[FIXED]["waiting"], own[NOISY]["waiting"]) == (0, 0)
    for agent, trials in ((FIXED, ASKED), (NOISY, ALL)):
        assert own[agent]["ended"] == trials or own[agent]["decision"]
        assert own[agent]["decision"] or own[agent]["strata"] == 2 * 12 * 3
