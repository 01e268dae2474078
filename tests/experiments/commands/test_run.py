"""Commands around runs: what is shipped, dry runs, deleting, renaming, completion."""

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from rich.console import Console

from experiments.designs.inputs.experiment_file import LIBRARY
from experiments.records import tables
from experiments.records.control import Runner
from experiments.records.integrity.check import check_database
from experiments.records.integrity.deletion import delete_run
from experiments.records.store import Records
from experiments.runs.experiment_run import ExperimentRun
from interventions.errors import UserError
from tests.experiments.command_line import environment, forked_souk, program
from tests.experiments.running import HOTELS, run_here
from tests.experiments.stored_runs import stored_runs
from tests.support import usual

SHIPPED = sorted(path.stem for path in LIBRARY.glob("*.yaml"))
AGENTS = ("simulated:balanced", "simulated:anchored")
NO_KEYS = {"OPENAI_API_KEY": None, "ANTHROPIC_API_KEY": None}


@pytest.mark.slow
def test_the_version_and_what_is_shipped(tmp_path: Path) -> None:
    assert re.fullmatch(r"souk \d+\.\d+\.\d+\n", forked_souk("--version", cwd=tmp_path).out)
    listed = json.loads(forked_souk("experiments", "--json", cwd=tmp_path).out)
    assert [each["name"] for each in listed] == SHIPPED
    kinds = {each["name"]: each["analysis"] for each in listed}
    assert kinds["nudges"] == "choice"
    assert kinds["wtp"] == "montecarlo"
    assert {each["name"]: each["trials"] for each in listed}["nudges"] == 3_000
    shown = forked_souk("experiments", "nudges", cwd=tmp_path).out
    assert shown == (LIBRARY / "nudges.yaml").read_text()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", usual(SHIPPED, 6))
def test_a_dry_run_needs_neither_key_nor_model(name: str, tmp_path: Path) -> None:
    agents = [] if name == "anchoring" else ["-a", "openai:gpt-4.1-mini", "-a", "simulated:random"]
    ended = forked_souk("run", name, *agents, "--dry-run", "--json", cwd=tmp_path, env=NO_KEYS)
    assert ended.status == 0, ended.err
    found = json.loads(ended.out)
    per_agent = found["trials"] // len(found["agents"])
    for title in ("conditions", "orders"):
        assert sum(found[title].values()) == found["trials"]
    assert [each["trials"] for each in found["forecast"]] == [per_agent] * len(found["agents"])
    assert name == "anchoring" or len(found["not_ready"]) == 1
    assert found["example"].get("options") or found["example"]["prompts"]
    if name != "anchoring":
        model, simulated = found["forecast"]
        assert model["requests"] >= per_agent
        assert model["tokens_in"] > 100 * per_agent
        assert model["cost"] > 0
        assert model["seconds"] > 0
        assert "assumed" in model["basis"]
        assert simulated["cost"] == 0
        assert found["smallest_effect"]["value"] > 0
    assert not (tmp_path / "runs").exists(), "a look leaves nothing behind"


def contents(db: str, without: str = "") -> dict[str, list[Any]]:
    """The rows of a database, but those of a run."""
    records = Records(db)
    with records.engine.connect() as connection:
        found = {
            table.name: sorted(map(repr, connection.execute(
                sql.select(table).where(table.c.run != without) if "run" in table.c else sql.select(table)
            )))
            for table in tables.metadata.sorted_tables
        }  # fmt: skip
    records.close()
    return found


@pytest.fixture
def db(tmp_path: Path) -> str:
    """A database with two runs, `nudges` and `wtp`."""
    return stored_runs(tmp_path / "t.db")


def test_deleting_a_run_leaves_the_others_as_they_are(db: str) -> None:
    records = Records(db)
    run = records.latest_run("nudges")["run"]
    others = contents(db, run)
    pages = set(others["artifacts"])
    count = delete_run(records, run)
    left = contents(db)
    gone = pages - set(left["artifacts"])
    assert len(gone) == count > 0
    assert left | {"artifacts": []} == others | {"artifacts": []}
    with records.engine.connect() as connection:
        named = set(connection.scalars(sql.select(tables.steps.c.observation)))
        kept = set(connection.scalars(sql.select(tables.artifacts.c.hash)))
    assert named == kept, "every page of the other run, and none besides"
    assert delete_run(records, records.latest_run("wtp")["run"]) > 0
    assert not any(rows for name, rows in contents(db).items() if name != "souk_schema")


def test_a_page_that_two_runs_hold_stays_until_both_are_gone(db: str) -> None:
    records = Records(db)
    run = records.latest_run("wtp")["run"]
    with records.engine.begin() as connection:
        for table in tables.metadata.sorted_tables:
            if "run" in table.c:
                rows = connection.execute(sql.select(table).where(table.c.run == run)).mappings().all()
                if rows:
                    connection.execute(table.insert(), [{**row, "run": "wtp-again"} for row in rows])
    assert delete_run(records, run) == 0
    assert delete_run(records, "wtp-again") > 0


def test_a_run_that_is_running_is_never_deleted(db: str) -> None:
    records = Records(db)
    run = records.latest_run("wtp")["run"]
    runner = Runner(run, trials=3)
    runner.beat(records)
    before = contents(db)
    said = rf"{run}: process {os.getpid()} on .+ is at work on it; stop it first"
    with pytest.raises(UserError, match=said):
        delete_run(records, run)
    assert contents(db) == before
    runner.end(records)
    assert delete_run(records, run) > 0


@pytest.mark.slow
def test_who_can_be_asked_is_asked_before_a_run_is_deleted(db: str, tmp_path: Path) -> None:
    for answer, status, left in ((b"n\n", 1, ["nudges", "wtp"]), (b"y\n", 0, ["nudges"])):
        ours, theirs = pty.openpty()
        asked = subprocess.Popen(
            [program(), "runs", "delete", "wtp", "--db", db],
            cwd=tmp_path, env=environment({}), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        os.write(ours, answer)
        said = asked.communicate()[0].decode()
        assert asked.returncode == status, said
        assert "24 trials: delete it for ever? [y/N]" in said
        with Records(db).engine.connect() as connection:
            assert sorted(connection.scalars(sql.select(tables.runs.c.name))) == left
        os.close(ours)
        os.close(theirs)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_run_is_found_by_a_new_name_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(HOTELS)
    run_here("x.yaml", tmp_path, limit=8)
    db = ("--db", "sqlite:///t.db")
    assert forked_souk("runs", "rename", "few-hotels", "tea-in-may", *db, cwd=tmp_path).status == 0
    assert "(tea-in-may)" in forked_souk("status", *db, cwd=tmp_path).out
    assert all(finding.ok for finding in check_database(f"sqlite:///{tmp_path}/t.db", lambda *_: None))
    again = forked_souk("run", "x.yaml", "--limit", "12", *db, cwd=tmp_path)
    assert (again.status, "12 trials: 8 done, 4 to run" in again.err) == (0, True), again.err
    assert Records(f"sqlite:///{tmp_path}/t.db").latest_run("tea-in-may")["run"].startswith("few-hotels-")


@pytest.mark.thorough
@pytest.mark.slow
def test_a_shell_completes_names(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    stored_runs(tmp_path / "runs/souk.db")

    def completed(*words: str) -> set[str]:
        line = {"COMP_CWORD": str(len(words)), "COMP_WORDS": " ".join(["souk", *words])}
        asked = environment({"_SOUK_COMPLETE": "complete_bash", **line})
        done = subprocess.run(
            [Path(sys.executable).with_name("souk")],
            cwd=tmp_path, env=asked, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return set(done.stdout.split())

    assert completed("run", "nudges-") == {"nudges-mr", "nudges-mrap"}
    assert completed("run", "/") == set(), "a path is completed by the shell"
    assert completed("run", "wtp", "--agent", "simulated:bal") == {"simulated:balanced"}
    assert completed("analyze", "wt") == {"wtp", "wtp-5f81d129"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`runs/souk.db` with a run of two agents (wtp), and one of hotels; `one.db` with one agent's wtp."""
    folder = tmp_path_factory.mktemp("runs")
    both = ("run", "wtp", "--mode", "text", "-a", AGENTS[0], "-a", AGENTS[1], "--limit", "36")
    ended = forked_souk(*both, cwd=folder)
    assert ended.status == 0, ended.err
    with chdir(folder):
        for name, agents, db in (("wtp", AGENTS[:1], "one.db"),):
            run = ExperimentRun(
                name, agents=agents, limit=36, mode="text", db=f"sqlite:///{db}", out=folder / "one"
            )
            asyncio.run(run.run(Console(quiet=True)))
            assert run.done == run.total
            run.records.close()
    return folder


@pytest.mark.thorough
@pytest.mark.slow
def test_an_analysis_of_one_agent_is_that_of_a_run_of_this_agent(folder: Path) -> None:
    def analysed(*arguments: str) -> dict[str, Any]:
        ended = forked_souk("analyze", *arguments, "--json", cwd=folder)
        assert ended.status == 0, ended.err
        found: dict[str, Any] = json.loads(ended.out)
        return {name: frame for name, frame in found.items() if name not in ("facts", "report")}

    alone = analysed("--db", "sqlite:///one.db", "--out", "x")
    assert analysed("wtp") != alone
    report = next((folder / "runs").glob("wtp-*/report.html"))
    of_all = (report.read_bytes(), report.stat().st_mtime_ns)
    assert analysed("wtp", "--agent", AGENTS[0]) == alone
    assert analysed("wtp", "--exclude", AGENTS[1]) == alone
    assert forked_souk("export", "wtp", "--out", "both.csv", cwd=folder).status == 0
    one, kind = ("--db", "sqlite:///one.db"), ("--as", "montecarlo")
    assert forked_souk("export", "wtp", *one, "--out", "one.csv", cwd=folder).status == 0
    assert analysed("both.csv", *kind, "--agent", AGENTS[0]) == analysed("one.csv", *kind)
    assert (report.read_bytes(), report.stat().st_mtime_ns) == of_all, "the report is of all agents still"
