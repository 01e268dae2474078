"""souk status, pause and resume, while a run goes on in another process and after it has been killed."""

import asyncio
import io
import itertools
import json
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import typer
from rich.console import Console, RenderableType
from typer.testing import CliRunner

from agents.base import Call
from experiments.commands.control import pause, resume
from experiments.commands.status import _all, _one, status
from experiments.records.control import Runner, request_state
from experiments.records.reading.queries import run_names
from experiments.records.record import to_row
from experiments.records.store import Records
from experiments.runs import admission
from experiments.runs.admission import Admission
from experiments.runs.experiment_run import ExperimentRun
from experiments.runs.status import RunStatus, run_statuses
from tests.experiments.command_line import forked_souk, start, wait_for_trials
from tests.experiments.records.test_store import a_record, some_facts

HOTELS = """\
name: hotel-choices
task: card
mode: text
cards: hotels
design:
  conjoint:
    pool: hotels
    blocks: [{set_size: 2, sets: SETS, repeats: 2}]
seed: 3
"""

app = typer.Typer()
for command in (status, pause, resume):
    app.command()(command)


def souk(*arguments: str) -> str:
    """What a command prints."""
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def an_experiment(folder: Path, sets: int, limit: int | None = None) -> ExperimentRun:
    (folder / "x.yaml").write_text(HOTELS.replace("SETS", str(sets)))
    db = f"sqlite:///{folder}/t.db"
    return ExperimentRun(str(folder / "x.yaml"), agents=None, limit=limit, db=db, out=folder)


def the_status(folder: Path) -> RunStatus:
    (only,) = run_statuses(Records(f"sqlite:///{folder}/t.db"))
    return only


@pytest.fixture
def records(tmp_path: Path) -> Records:
    opened = Records(f"sqlite:///{tmp_path}/t.db")
    opened.begin_run("r-1", "nudges", some_facts())
    return opened


@pytest.mark.slow
def test_a_run_is_paused_resumed_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "LOOK", 0.02)
    db, said = f"sqlite:///{tmp_path}/t.db", io.StringIO()
    experiment = an_experiment(tmp_path, 500)
    console = Console(file=said, width=200)
    running = threading.Thread(target=lambda: asyncio.run(experiment.run(console)))
    running.start()
    while not experiment.records.finished(experiment.design.run_id) and running.is_alive():
        running.join(0.02)
    assert "paused; what runs ends, nothing more starts" in souk("pause", "hotel-choices", "--db", db)
    while "paused; souk resume hotel-choices-" not in said.getvalue() and running.is_alive():
        running.join(0.02)
    assert (the_status(tmp_path).state, running.is_alive()) == ("paused", True)
    assert 0 < the_status(tmp_path).done < 2_000
    assert "goes on" in souk("resume", "--db", db)
    running.join()
    assert "resumed" in said.getvalue()
    assert (the_status(tmp_path).state, the_status(tmp_path).done) == ("finished", 2_000)


@pytest.mark.slow
def test_a_killed_run_is_lost_until_it_is_run_again(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(HOTELS.replace("SETS", "1000"))
    process = start("run", "x.yaml", "--db", f"sqlite:///{tmp_path}/t.db", cwd=tmp_path)
    wait_for_trials(process, tmp_path / "t.db", 1)
    assert the_status(tmp_path).state == "running"
    os.killpg(process.pid or 0, signal.SIGKILL)
    process.join()
    seen = the_status(tmp_path)
    assert (seen.state, seen.wanted, seen.per_minute) == ("lost", 4_000, None)
    asyncio.run(an_experiment(tmp_path, 1_000, limit=seen.done + 4).run(Console(quiet=True)))
    assert (the_status(tmp_path).state, the_status(tmp_path).done) == ("finished", seen.done + 4)


async def test_costs_budget_and_outcomes_by_condition(tmp_path: Path, records: Records) -> None:
    for number, (condition, outcome, cost) in enumerate(
        [("control", "choice", 0.2), ("nudged", "choice", 0.3), ("nudged", "infra_error", None)]
    ):
        taken = {"cost": cost, "tokens_in": 1_000, "tokens_out": 10}
        records.save(a_record(f"t{number}", outcome, condition=condition, **taken))
    async with Admission(records, "r-1", budget=4, trials=8) as entry:
        entry.settle(a_record("t1"))
        (seen,) = json.loads(souk("status", "nudges", "--json", "--db", f"sqlite:///{tmp_path}/t.db"))
    expected = {
        "state": "running", "wanted": 8, "done": 2, "outcomes": {"choice": 2, "infra_error": 1},
        "cost": 0.5, "unknown_costs": 1, "budget": 4, "budget_left": 3.5,
        "tokens_in": 3_000, "tokens_out": 30,
    }  # fmt: skip
    assert {name: seen[name] for name in expected} == expected
    cell = {"agent": "simulated:balanced", "condition": "nudged", "outcome": "infra_error", "trials": 1}
    assert cell in seen["cells"]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("gpt-4.1-mini", ", which saved 0.4500 USD"),  # per million: 0.40 for input, 0.10 of the cache
        ("computer-use-preview", ""),  # it has no such price
        ("unheard-of", ""),
    ],
)
def test_what_caches_saved_is_told(tmp_path: Path, records: Records, model: str, said: str) -> None:
    call = Call("", model, 2_000_000, 20, 0.1, 1.0, tokens_cached=1_500_000)
    saved = replace(
        a_record("t0", agent=f"openai-responses:{model}", tokens_in=2_000_000, tokens_out=20),
        calls=[to_row(call, number=0, step=0)],
    )
    records.save(saved)
    told = souk("status", "nudges", "--db", f"sqlite:///{tmp_path}/t.db")
    cache = f"2,000,000 tokens in (1,500,000 from the provider's cache{said}), 20 out"
    assert cache in " ".join(told.split())


def test_the_cost_at_the_end_is_known_once_each_agent_has_cost_something(
    tmp_path: Path, records: Records
) -> None:
    db = f"sqlite:///{tmp_path}/t.db"
    records.begin_run("r-2", "two", replace(some_facts(), agents=["openai:a", "openai:b"]))
    of = {"run": "r-2", "agent": "openai:a"}
    records.save(a_record("t0", **of, cost=0.1), a_record("t1", "infra_error", **of, cost=0.3))
    Runner("r-2", trials=8, budget=9).end(records)

    def at_end() -> float | None:
        return next(each for each in run_statuses(Records(db)) if each.run == "r-2").cost_at_end

    assert at_end() is None, "of the other agent nothing is known"
    records.save(a_record("t2", run="r-2", agent="openai:b", cost=1.0))
    # Three trials are left of each agent; what failed has cost something and is tried again.
    assert at_end() == pytest.approx(1.4 + 3 * 0.4 + 3 * 1.0)
    assert "1.4000 USD of 9; 7.6000 left, about 5.6000 at the end;" in souk("status", "r-2", "--db", db)
    records.save(a_record("t3", run="r-2", agent="openai:b", cost=None))
    assert at_end() is None, "what a trial has cost is not known"


def test_a_stopped_run_says_why_and_how_it_goes_on(tmp_path: Path, records: Records) -> None:
    db = f"sqlite:///{tmp_path}/t.db"
    assert "stopped" in souk("status", "--db", db)
    records.save(a_record("t1"))
    request_state(records, "r-1", "paused")
    Runner("r-1", trials=9, reason="--budget 1: [red]1.0[/red] USD are spent").end(records)
    said = souk("status", "r-1", "--watch", "--db", db)
    assert "stopped: the same souk run goes on" in said
    assert "1 of 9 trials" in said
    assert "--budget 1: [red]1.0[/red] USD are spent" in said
    assert "paused: the next souk run waits for souk resume" in said
    assert "1 of 9" in souk("status", "--db", db)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_ids_and_endings_are_whole_at_any_width(records: Records, columns: int) -> None:
    outcomes = ["choice", "no_choice", "agent_limit", "agent_error", "treatment_failed", "infra_error"]
    agents = ["command:python docs/agents/playwright_script.py", "openai:a-model-with-a-long-name-0123"]
    for number, (agent, outcome) in enumerate(itertools.product(agents, outcomes)):
        records.save(a_record(f"t{number}", agent=agent, outcome=outcome, condition="limited-edition"))
    records.begin_run(f"a-study-with-a-long-name-{'x' * 20}-89abcdef", "same", some_facts())
    found = run_statuses(records)
    (whole,) = (each for each in found if each.run == "r-1")
    several, one = shown(partial(_all, found), columns), shown(partial(_one, whole), columns)
    for each in found:
        assert each.run in several and each.state in several and f"{each.done:,}" in several
    for word in [*" ".join(agents).split(), "limited-edition", *" ".join(outcomes).replace("_", " ").split()]:
        assert word in one.replace("  limited", " limited"), one


def shown(table: Callable[[Console], RenderableType], columns: int) -> str:
    """What a terminal of this width shows."""
    console = Console(width=columns, file=io.StringIO(), record=True)
    console.print(table(console))
    return console.export_text()


@pytest.mark.slow
def test_a_name_of_several_runs_is_taken_for_the_latest_and_says_so(tmp_path: Path, records: Records) -> None:
    records.begin_run("nudges-2", "nudges", some_facts())
    db = ("--db", f"sqlite:///{tmp_path}/t.db")
    latest = records.latest_run("nudges")["run"]
    other = next(run for run, *_ in run_names(records) if run != latest)
    told = (
        f"nudges is taken for {latest}, the latest of 2 runs of this name; name another by its id: {other}\n"
    )
    ended = forked_souk("status", "nudges", "--json", *db, cwd=tmp_path)
    assert (ended.err, json.loads(ended.out)[0]["run"]) == (told, latest)
    assert forked_souk("status", "r-1", *db, cwd=tmp_path).err == ""
