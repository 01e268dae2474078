"""A provider that refuses, breaks and answers: what is spent, what is counted, and what may still run."""

import random
from collections import Counter
from pathlib import Path

import pytest
from rich.console import Console

from agents.providers import network
from experiments.executors.workers import Workers
from experiments.records.reading.queries import cells, failed_requests, means
from experiments.runs import outages
from experiments.runs.experiment_run import ExperimentRun
from experiments.runs.outlook import outlook
from experiments.runs.status import run_statuses
from tests.agents.conftest import Provider, provider, server  # noqa: F401 (fixtures)
from tests.support import size

pytestmark = pytest.mark.slow

MODEL = "openai:gpt-4.1-mini"
COST = (1_000 * 0.4 + 100 * 1.6) / 1e6
BUDGET = 0.5
"""Twice what a trial may cost at most before one has ended."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits of milliseconds."""
    monkeypatch.setattr(network, "_FIRST_WAIT", 0.001)
    monkeypatch.setattr(outages, "PAUSES", (0.001, 0.001))
    monkeypatch.setattr(outages, "LOOK_SECONDS", 0.001)


def a_run(folder: Path, limit: int = 8) -> ExperimentRun:
    db = f"sqlite:///{folder}/t.db"
    return ExperimentRun("hotels", agents=[MODEL], limit=limit, mode="text", db=db, out=None)


async def ran(folder: Path, limit: int = 8) -> tuple[ExperimentRun, str]:
    """Carry it out; the run, and what the terminal showed."""
    run = a_run(folder, limit)
    with Console(record=True, width=300, file=(folder / "shown").open("w")) as console:
        await run.run(console, Workers(slots=2), budget=BUDGET)
    return run, console.export_text()


@pytest.mark.thorough
async def test_a_budget_goes_on_when_the_server_works_again(
    provider: Provider,  # noqa: F811
    tmp_path: Path,
) -> None:
    draw = random.Random(1)
    for kinds in ([429], ["cut"], [429, "cut", 500]):
        folder = tmp_path / str(kinds)
        folder.mkdir()
        for _ in range(200):
            kind = draw.choice(kinds)
            provider.cut() if kind == "cut" else provider.fail(int(kind))
        run, shown = await ran(folder, 3)
        assert f"{MODEL}: " in shown, "the first failure is told at once"
        (status,) = run_statuses(run.records)
        assert (status.cost, status.outcomes.keys()) == (0.0, {"infra_error"})
        told = next(run.complaints())
        if "cut" in kinds:
            assert told.startswith("--budget 0.5: 0.0000 USD are spent, 0.3840 more may be for 2 trials")
            assert "; the same command goes on" in told
            assert status.unknown_costs == 2
        else:
            assert (status.unknown_costs, status.outcomes) == (0, {"infra_error": 3})
            assert not told.startswith("--budget")
        provider.script.clear()
        for _ in range(200):
            provider.say("A")
        run, _ = await ran(folder, 3)
        (status,) = run_statuses(run.records)
        assert status.outcomes == {"choice": 3}
        assert (status.cost, status.unknown_costs) == (pytest.approx(3 * COST), 0)
        provider.script.clear()


async def test_a_trial_that_was_cut_once_costs_what_is_known_of_it(
    provider: Provider,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Five cut tries end an attempt; the second attempt is answered: 48 cents are not kept back for ever."""
    for _ in range(8):
        for _ in range(5):
            provider.cut()
        provider.say("A")
    run = a_run(tmp_path)
    await run.run(Console(quiet=True), Workers(slots=1), budget=BUDGET)
    (status,) = run_statuses(run.records)
    assert status.outcomes == {"choice": 8}
    assert (status.cost, status.unknown_costs) == (pytest.approx(8 * COST), 8)
    assert [*run.complaints()] == []


async def test_failed_requests_are_counted_by_what_happened(
    provider: Provider,  # noqa: F811
    tmp_path: Path,
) -> None:
    draw, true = random.Random(7), Counter[str]()
    for _ in range(size(24, 240)):
        for _ in range(draw.randrange(4)):
            kind = draw.choice(["HTTP 429", "HTTP 500", "no answer that can be read"])
            true[kind] += 1
            provider.fail(int(kind[5:])) if kind.startswith("HTTP") else provider.cut()
        provider.say("A")
    run, _ = await ran(tmp_path, size(24, 240))
    assert len(provider.requests) == size(24, 240) + true.total()
    assert [*failed_requests(run.records, run.design.run_id)] == [(MODEL, len(provider.requests), true)]
    line = next(line for line in run.warnings() if "failed" in line)
    assert line.startswith(
        f"{MODEL}: {true.total()} of {len(provider.requests)} requests to its provider failed: "
    )
    assert all(f"{number} {what}" in line for what, number in true.items())
    assert sum(cell.trials for cell in cells(run.records, run.design.run_id)) == size(24, 240)


async def test_a_forecast_counts_waits(
    provider: Provider,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = a_run(tmp_path, 12)
    trials = list(run.wanted())

    def forecast(slots: int) -> float:
        (found,) = outlook(run, trials, Workers(slots=slots))["forecast"]
        return float(found["seconds"])

    each = forecast(12)
    assert each == forecast(100) == 3.0, "no trial ends before its own requests"
    assert forecast(5) == 3 * each, "12 trials, five at a time, go in three turns"
    monkeypatch.setenv("OPENAI_REQUESTS_PER_MINUTE", "6")
    assert forecast(100) == 120.0, "12 requests, of which a minute has 6"
    monkeypatch.delenv("OPENAI_REQUESTS_PER_MINUTE")
    for _ in range(12):
        provider.say("A")
    other = a_run(tmp_path, 1)
    await other.run(Console(quiet=True), Workers(slots=1))
    (known,) = outlook(other, trials, Workers(slots=5))["forecast"]
    stored = means(other.records, other.design.run_id, MODEL)
    assert stored
    assert known["seconds"] == pytest.approx(3 * stored.seconds)
