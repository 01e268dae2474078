"""souk run --batch: half the price, and a run that was killed goes on with the batches that it sent."""

import asyncio
import os
import signal
import sqlite3
from collections.abc import Iterator
from itertools import accumulate, islice
from pathlib import Path

import pytest
from rich.console import Console

from experiments.designs.loading import load_design
from experiments.executors.expected_use import most_cost_in_a_batch
from experiments.executors.workers import Workers
from experiments.runs.experiment_run import ExperimentRun
from experiments.runs.outlook import outlook
from tests.agents.batch_provider import BatchProvider, chat, serving
from tests.experiments.command_line import start

pytestmark = pytest.mark.slow

MODEL = "openai:gpt-4.1-mini"
RUN = ("run", "hotels", "--mode", "text", "--agent", MODEL, "--limit", "12", "--batch")
COST = (1_000 * 0.4 + 100 * 1.6) / 2e6  # of a request


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[BatchProvider, dict[str, str]]]:
    """A provider of batches that answers A, and the environment that leads there, which is ours as well."""
    found = BatchProvider(lambda _: (200, chat("A")))
    found.polls = 0
    with serving(found) as url:
        env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1", "NO_PROXY": "127.0.0.1"}
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        yield found, env


def run_of(folder: Path) -> ExperimentRun:
    """The run of the command in this process."""
    db = f"sqlite:///{folder}/t.db"
    return ExperimentRun("hotels", agents=[MODEL], limit=12, mode="text", db=db, out=None)


def ran(folder: Path, budget: float | None = None) -> list[str]:
    """Run it to its end; what it complains of."""
    run = run_of(folder)
    asyncio.run(run.run(Console(quiet=True), Workers(in_batches=True), budget=budget))
    return [*run.complaints()]


def test_a_killed_run_goes_on_with_the_batches_that_were_sent(
    provider: tuple[BatchProvider, dict[str, str]], tmp_path: Path
) -> None:
    batches, env = provider
    batches.open = False
    db = tmp_path / "t.db"
    command = (*RUN, "--db", f"sqlite:///{db}")
    killed = start(*command, cwd=tmp_path, env=env)
    assert batches.looked.wait(120)
    os.killpg(killed.pid or 0, signal.SIGKILL)
    killed.join()
    sizes = list(batches.sizes)
    batches.open = True
    assert ran(tmp_path) == []
    assert batches.sizes[: len(sizes)] == sizes
    assert sum(batches.sizes) == 12
    with sqlite3.connect(db) as connection:
        rows = connection.execute("SELECT outcome, choice IS NOT NULL, cost FROM trials").fetchall()
    assert [row[:2] for row in rows] == [("choice", 1)] * 12
    assert [row[2] for row in rows] == pytest.approx([COST] * 12)


def test_half_the_price_is_forecast(provider: tuple[BatchProvider, dict[str, str]], tmp_path: Path) -> None:
    run = run_of(tmp_path)
    trials = list(run.wanted())
    (half,), (whole,) = (
        outlook(run, trials, Workers(in_batches=in_batches))["forecast"] for in_batches in (True, False)
    )
    assert half["cost"] == pytest.approx(whole["cost"] / 2)
    assert (half["requests"], half["seconds"]) == (12, None)
    assert "in batches, at half the price" in half["basis"]
    assert provider[0].sizes == []


@pytest.mark.thorough
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_budget_sends_what_it_can_pay_for(
    provider: tuple[BatchProvider, dict[str, str]],
    tmp_path: Path,
    share: float,
) -> None:
    batches, _ = provider
    trials = islice(load_design("hotels", "text").trials([MODEL]), 12)
    most = [cost for trial in trials if (cost := most_cost_in_a_batch(trial))]
    tokens = int(share * min(most) * 2e6 / 0.4)
    usage = {"prompt_tokens": tokens, "completion_tokens": 0}  # what a trial may cost, or a share of it
    batches.answer = lambda _: (200, {**chat("A"), "usage": usage})
    budget = 2.5 * max(most)
    (complaint,) = ran(tmp_path, budget)
    with sqlite3.connect(tmp_path / "t.db") as connection:
        (spent, count) = connection.execute("SELECT sum(cost), count(*) FROM trials").fetchone()
    assert spent <= budget < spent + max(most)
    assert batches.sizes[0] == sum(total <= budget for total in accumulate(most))
    assert sum(batches.sizes) == count < 12
    assert complaint.endswith(f"{12 - count} of 12 trials were left out")
    assert (ran(tmp_path, 1), sum(batches.sizes)) == ([], 12)
