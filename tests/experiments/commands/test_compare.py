"""souk compare, and --margin: agents of a run, and of several."""

import asyncio
import json
from contextlib import chdir
from pathlib import Path

import pandas as pd
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from analysis.choice.comparing import compare_agents
from analysis.choice.stopping import COULD_STOP
from analysis.tables.errors import AnalysisError
from experiments.commands.analyze import analyze
from experiments.commands.compare import compare
from experiments.records.reading.tidy_tables import tidy_table
from interventions.errors import UserError
from tests.experiments.runs.test_stopping import RULE, DrawnRun, drawn_run

app = typer.Typer()
app.command()(compare)
app.command()(analyze)


def ended_run(folder: Path, rule: str, most: int = 60) -> DrawnRun:
    run = drawn_run(folder, "t.db", most, rule=rule)
    asyncio.run(run.run(Console(quiet=True)))
    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compare")
    ended_run(made, "rule: fixed")
    return made


def souk(folder: Path, *arguments: str) -> str:
    with chdir(folder):
        found = CliRunner().invoke(app, [*arguments, "--db", "sqlite:///t.db"], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.mark.thorough
@pytest.mark.slow
def test_the_agents_of_a_run(folder: Path) -> None:
    told = json.loads(souk(folder, "compare", "--margin", "30", "--out", "c", "--json"))
    assert len(told["comparison"]) == 3 * 4 and len(told["answer"]) == 3
    run = drawn_run(folder, "t.db", 60, rule="rule: fixed")
    expected = compare_agents(tidy_table(run.records, run.design.run_id), 30)
    frame = pd.read_csv(folder / "c" / "comparison.csv")
    assert frame["p_value"].tolist() == pytest.approx(expected["p_value"].tolist(), nan_ok=True)
    page = (folder / "c" / "report.html").read_text()
    assert all(line in page for line in told["answer"]) and "data:image/svg+xml" in page
    assert told["comparison"][0]["term"] == expected["term"].iloc[0]
    shown = souk(folder, "compare", "--agent", "simulated:balanced", "--agent", "simulated:random")
    assert "simulated:balanced against simulated:random: " in shown
    assert "simulated:balanced less simulated:random (percentage points)" in shown


@pytest.mark.thorough
@pytest.mark.slow
def test_two_runs_of_an_agent_and_a_rule_that_could_stop_one(folder: Path, tmp_path: Path) -> None:
    plain = ended_run(tmp_path, "rule: fixed", 30)
    ruled = ended_run(tmp_path, RULE, 30)
    assert plain.design.run_id != ruled.design.run_id
    names = (plain.design.run_id, ruled.design.run_id)
    told = json.loads(souk(tmp_path, "compare", *names, "--agent", "simulated:balanced", "--json"))
    by_term = {row["term"]: row for row in told["comparison"]}
    assert {by_term["nudged"]["group"], by_term["nudged"]["less"]} == {
        f"simulated:balanced ({name})" for name in names
    }
    assert by_term["nudged"]["p_value"] is None and by_term["nudged"]["note"] == COULD_STOP
    assert by_term["viewed_first"]["p_value"] is not None
    for arguments, message in (
        (["--agent", "simulated:balanced", names[0]], "there are choices of 1"),
        (["--agent", "simulated:balancd"], "there are no trials of this agent"),
        (["no-such-run"], "no run"),
    ):
        with pytest.raises((AnalysisError, UserError), match=message):
            souk(tmp_path, "compare", *arguments)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_margin_in_the_analysis(folder: Path) -> None:
    told = json.loads(souk(folder, "analyze", "--margin", "60", "--json", "--out", "out"))
    main = [row for row in told["exact"] if row["part"] == ""]
    assert {row["margin"] for row in main} == {60} and all(0 <= row["p_equivalent"] <= 1 for row in main)
    known = [row for row in main if row["p_equivalent"] < 0.05]
    assert known and any("moves the choice by less than 60 points" in line for line in told["answer"])


@pytest.mark.slow
def test_a_table_of_people_is_compared_with_a_run(folder: Path) -> None:
    """People who chose on the same strata, in a table of any origin, stand like another agent."""
    run = drawn_run(folder, "t.db", 60, rule="rule: fixed")
    table = tidy_table(run.records, run.design.run_id)
    people = table[table["agent"] == "simulated:random"].assign(agent="people", run="elsewhere")
    people.to_csv(folder / "people.csv", index=False)
    name = run.design.run_id.rpartition("-")[0]
    told = json.loads(souk(folder, "compare", name, "people.csv", "--exclude", "simulated:random", "--json"))
    expected = compare_agents(table)
    pairs = {(row["group"], row["less"]): row for row in told["comparison"] if row["term"] == "nudged"}
    same = expected[(expected["term"] == "nudged") & (expected["less"] == "simulated:random")]
    for row in same.to_dict("records"):
        found = pairs["people", row["group"]]  # in the order of the alphabet
        assert (found["estimate"], found["p_value"]) == pytest.approx((-row["estimate"], row["p_value"]))
    assert told["runs"] == [run.design.run_id]
