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
from analysis.choice.distances import market_distances
from experiments.commands.analyze import analyze
from experiments.commands.common import named_studies
from experiments.commands.compare import compare
from experiments.records.reading.tidy_tables import tidy_table
from experiments.studies.comparing import compared
from tests.analysis.choice.lists import lists
from tests.analysis.conftest import simulate_study, simulate_valuations
from tests.experiments.command_line import forked_souk
from tests.experiments.runs.test_stopping import drawn_run

app = typer.Typer()
app.command()(compare)
app.command()(analyze)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compare")
    run = drawn_run(made, "t.db", 60, rule="rule: fixed")
    asyncio.run(run.run(Console(quiet=True)))
    return made


def souk(folder: Path, *arguments: str) -> str:
    with chdir(folder):
        found = CliRunner().invoke(app, [*arguments, "--db", "sqlite:///t.db"], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


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
    others = ("--exclude", "simulated:random", "--margin", "30", "--out", "c")
    told = json.loads(souk(folder, "compare", name, "people.csv", *others, "--json"))
    expected = compare_agents(table, 30)
    pairs = {(row["group"], row["less"]): row for row in told["comparison"] if row["term"] == "nudged"}
    same = expected[(expected["term"] == "nudged") & (expected["less"] == "simulated:random")]
    for row in same.to_dict("records"):
        found = pairs["people", row["group"]]  # in the order of the alphabet
        assert (found["estimate"], found["p_value"]) == pytest.approx((-row["estimate"], row["p_value"]))
    assert told["runs"] == [run.design.run_id]
    frame, page = pd.read_csv(folder / "c" / "comparison.csv"), (folder / "c" / "report.html").read_text()
    assert len(frame) == len(told["comparison"])
    assert all(line in page for line in told["answer"]) and "data:image/svg+xml" in page


@pytest.mark.slow
def test_other_kinds_are_compared_and_mistakes_are_one_line(tmp_path: Path) -> None:
    simulate_valuations(1).to_csv(tmp_path / "may.csv", index=False)
    simulate_valuations(2).to_csv(tmp_path / "june.csv", index=False)
    files = ("compare", "may.csv", "june.csv", "--as", "montecarlo")
    ended = forked_souk(*files, "--agent", "alpha", "--out", "made", "--json", cwd=tmp_path)
    assert ended.status == 0, ended.err
    told = json.loads(ended.out)
    assert {(row["group"], row["less"]) for row in told["comparison"]} == {("alpha (june)", "alpha (may)")}
    assert told["answer"][0].startswith("alpha (june) against alpha (may): ")
    assert all((tmp_path / "made" / f"comparison.{kind}").is_file() for kind in ("csv", "png", "svg"))
    for more, problem in (
        (("--margin", "5"), "--margin 5: the kind montecarlo has no test with a margin"),
        (("--agent", "nobody"), "there are no trials of this agent"),
    ):
        refused = forked_souk(*files, *more, cwd=tmp_path)
        assert (refused.status, refused.err.count("\n")) == (2, 1)
        assert problem in refused.err


@pytest.mark.slow
def test_market_shares_of_lists_are_compared_and_those_of_pairs_are_not(tmp_path: Path) -> None:
    shares = {"a": [[0.8, 0.1, 0.1]] * 2, "b": [[0.1, 0.1, 0.8]] * 2}
    lists(shares, pages=30).to_csv(tmp_path / "lists.csv", index=False)
    simulate_study(agents=("a", "b"), sets=2).table.to_csv(tmp_path / "pairs.csv", index=False)
    told = {}
    for name in ("lists", "pairs"):
        ended = forked_souk("compare", f"{name}.csv", "--json", "--out", name, cwd=tmp_path)
        assert ended.status == 0, ended.err
        told[name] = json.loads(ended.out)
    expected = market_distances(pd.read_csv(tmp_path / "lists.csv"))
    found = [row["p_value"] for row in told["lists"]["distances"]]
    assert found == pytest.approx(expected["p_value"].tolist())
    assert "market shares differ" in told["lists"]["answer"][1]
    assert "distances" not in told["pairs"] and len(told["pairs"]["answer"]) == 1
    assert (tmp_path / "lists" / "distances.svg").is_file()
    assert not list((tmp_path / "pairs").glob("distances*"))
    printed = forked_souk("compare", "lists.csv", cwd=tmp_path).out
    assert " ".join(told["lists"]["answer"][1].split()) in " ".join(printed.split())


def test_files_of_one_name_are_never_pooled(tmp_path: Path) -> None:
    for seed, year in enumerate(("2026", "2027")):
        (tmp_path / year).mkdir()
        simulate_valuations(seed).to_csv(tmp_path / year / "may.csv", index=False)
        simulate_study(seed, agents=("alpha",), sets=12, nudges_per_set=1).table.to_csv(
            tmp_path / year / "shop.csv", index=False
        )
    for name, kind in (("may.csv", "montecarlo"), ("shop.csv", "choice")):
        files = [tmp_path / year / name for year in ("2026", "2027")]
        found = compared(named_studies([str(file) for file in files], ""), kind, ["alpha"], (), None).frame
        assert {(row["group"], row["less"]) for row in found.to_dict("records")} == {
            (f"alpha ({files[0]})", f"alpha ({files[1]})")
        }
