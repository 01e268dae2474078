"""Worker processes: what dies is replaced, and every trial ends exactly once."""

import os
import pickle
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import sqlalchemy as sql
from rich.console import Console

from experiments.designs.loading import load_design
from experiments.executors import pool
from experiments.executors.executor import Attempt
from experiments.executors.workers import Workers
from experiments.records import tables
from experiments.records.record import Start
from experiments.runs.experiment_run import ExperimentRun
from interventions.errors import UserError
from tests.experiments.command_line import left_after
from tests.experiments.running import HOTELS

PLUGIN = """
import os, signal
from pathlib import Path
from agents.base import Reply

class Mortal:
    def __init__(self, argument, seed):
        self.argument, self.seed = argument, seed

    def is_doomed(self):
        if self.argument == "each":
            return True
        # Of each kind the first trial that is asked.
        doomed = Path(os.environ["TMPDIR"]) / self.argument
        try:
            with doomed.open("x") as file:
                file.write(str(self.seed))
            return True
        except FileExistsError:
            return self.argument == "always" and doomed.read_text() == str(self.seed)

    async def answer(self, messages, *, temperature, max_tokens, schema=None):
        if self.is_doomed():
            os.kill(os.getpid(), signal.SIGKILL)
        return Reply("A")

def make(argument, *, seed):
    return Mortal(argument, seed)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """With an installed package of agents that kill their own process: `mortal:once`, `always` and `each`."""
    (tmp_path / "mortals.py").write_text(PLUGIN, encoding="utf-8")
    info = tmp_path / "mortals-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mortals\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[souk.agents]\nmortal = mortals:make\n", encoding="utf-8")
    (tmp_path / "x.yaml").write_text(HOTELS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    yield tmp_path
    assert not left_after("TMPDIR", str(tmp_path), seconds=10)


def run_of(folder: Path, name: str, *agents: str, limit: int | None = None) -> ExperimentRun:
    return ExperimentRun(name, agents=agents, limit=limit, db=f"sqlite:///{folder}/t.db", out=folder)


def ended(run: ExperimentRun) -> list[tuple[str, str, int, str]]:
    """Agent, outcome, attempts and reason of every trial, each of which is there once."""
    columns = tables.trials.c
    query = sql.select(columns.agent, columns.outcome, columns.attempts, columns.reason)
    with run.records.engine.connect() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    assert len(rows) == run.total
    return rows


@pytest.mark.parametrize("name", ["nudges", "listing", "hotels", "biases", "wtp"])
def test_designs_and_their_trials_reach_another_process(name: str) -> None:
    design = load_design(name)
    trials = list(islice(design.trials(["simulated:balanced"]), 3))
    sent = pickle.loads(pickle.dumps([design, *(Attempt(trial, 1, Start.now()) for trial in trials)]))
    assert sent[0].run_id == design.run_id
    assert [attempt.trial for attempt in sent[1:]] == trials
    assert list(islice(sent[0].trials(["simulated:balanced"]), 3)) == trials


@pytest.mark.slow
async def test_trials_of_a_dead_worker_go_to_another(folder: Path) -> None:
    run = run_of(folder, str(folder / "x.yaml"), "mortal:once", "mortal:always", "simulated:balanced")
    await run.run(Console(quiet=True), Workers(2, slots=1))
    rows = ended(run)
    failed = [row for row in rows if row[1] != "choice"]
    assert [(agent, outcome, attempts) for agent, outcome, attempts, _ in failed] == [
        ("mortal:always", "infra_error", 3)
    ]
    assert failed[0][3].startswith("its worker died (process ")
    assert {outcome for _, outcome, *_ in rows} == {"choice", "infra_error"}
    again = [attempts for agent, _, attempts, _ in rows if agent == "mortal:once"]
    assert max(again) > 1


@pytest.mark.thorough
@pytest.mark.slow
async def test_workers_that_all_die_end_the_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MAX_DEATHS", 1)
    run = run_of(folder, str(folder / "x.yaml"), "mortal:each")
    with pytest.raises(UserError, match=r"^2 workers died one after the other; look at the memory"):
        await run.run(Console(quiet=True), Workers(2, slots=1))


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("workers", [None, Workers(2, slots=1)])
async def test_a_program_that_is_no_browser_ends_the_run(
    folder: Path, workers: Workers | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program := folder / "tool").write_text("#!/bin/sh\necho tool 1.0\n")
    program.chmod(0o755)
    monkeypatch.setenv("SOUK_BROWSER", str(program))
    run = run_of(folder, "nudges", "simulated:balanced", limit=2)
    with pytest.raises(UserError, match=rf"^SOUK_BROWSER: {program} is no browser .*souk doctor"):
        await run.run(Console(quiet=True), workers)
