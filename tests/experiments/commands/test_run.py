"""Commands around runs: what is shipped, dry runs, runs as arguments, analyses of some agents, deleting."""

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
import typer
from rich.console import Console

from experiments.cli import command_line
from experiments.designs.inputs.experiment_file import LIBRARY
from experiments.records import tables
from experiments.records.control import Runner
from experiments.records.integrity.check import check_database
from experiments.records.integrity.deletion import delete_run
from experiments.records.store import Records
from experiments.runs.experiment_run import ExperimentRun
from interventions.errors import UserError
from tests.experiments.command_line import environment, forked_souk, program
from tests.support import usual

SHIPPED = sorted(path.stem for path in LIBRARY.glob("*.yaml"))
AGENTS = ("simulated:balanced", "simulated:anchored")
NO_KEYS = {"OPENAI_API_KEY": None, "ANTHROPIC_API_KEY": None}


def run_names(db: str) -> set[str]:
    records = Records(db)
    with records.engine.connect() as connection:
        found = set(connection.scalars(sql.select(tables.runs.c.name)))
    records.close()
    return found


def every_command(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from every_command(inner, (*path, name))


def test_flags_are_shown_without_a_type() -> None:
    top = command_line()
    for path in every_command(top):
        context, command = typer.Context(top, help_option_names=["-h", "--help"]), top
        for name in path:
            command = command.commands[name]
            context = typer.Context(command, parent=context, info_name=name)
        for parameter in command.get_params(context):
            if getattr(parameter, "is_flag", False):
                assert not parameter.display_type_rich(context), (path, parameter.name)


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


def test_a_dry_run_still_refuses_names_that_nobody_has(tmp_path: Path) -> None:
    for name in ("simulated:nobody", "opnai:gpt", "openai:"):
        ended = forked_souk("run", "nudges", "-a", name, "--dry-run", cwd=tmp_path, env=NO_KEYS)
        assert ended.status == 2
        assert ended.err.startswith("error: agents: ")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`runs/souk.db` with a run of two agents (wtp), and one of hotels; `one.db` with one agent's wtp."""
    folder = tmp_path_factory.mktemp("runs")
    both = ("run", "wtp", "--mode", "text", "-a", AGENTS[0], "-a", AGENTS[1], "--limit", "36")
    ended = forked_souk(*both, cwd=folder)
    assert ended.status == 0, ended.err
    with chdir(folder):
        for name, agents, db in (("wtp", AGENTS[:1], "one.db"), ("hotels", None, "runs/souk.db")):
            run = ExperimentRun(
                name, agents=agents, limit=36, mode="text", db=f"sqlite:///{db}", out=folder / "one"
            )
            asyncio.run(run.run(Console(quiet=True)))
            assert run.done == run.total
            run.records.close()
    return folder


@pytest.mark.thorough
@pytest.mark.slow
def test_after_trials_have_ended_the_forecast_follows_from_them(folder: Path) -> None:
    ended = forked_souk("run", "wtp", "--mode", "text", "-a", AGENTS[0], "--dry-run", "--json", cwd=folder)
    (forecast,) = json.loads(ended.out)["forecast"]
    assert forecast["trials"] == 1_800 - 36
    assert forecast["basis"].startswith("36 trials of this run that have ended")


@pytest.mark.slow
@pytest.mark.parametrize("command", usual([("analyze",), ("report",), ("export",), ("status",)], 2))
def test_a_run_is_an_argument_everywhere(command: tuple[str, ...], folder: Path) -> None:
    out = ("--out", "t.csv") if command == ("export",) else ()
    ended = forked_souk(*command, "wtp", *out, cwd=folder)
    assert ended.status == 0, ended.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("wtp", "--as", "choice"), "--as choice: a run has its own kind of study; leave it out"),
        (("wtp", "--margin", "5"), "--margin: an analysis of the kind montecarlo has no such option; leave it out"),  # noqa: E501
        (("t.csv", "--as", "choise"), '--as choise: did you mean "choice"?'),
        (("t.csv",), "t.csv: a table does not say its kind of study; add --as with one of choice, conjoint, montecarlo, biases, anchoring"),  # noqa: E501
        (("wtp", "wtp-2"), "wtp wtp-2: name one run, or tables, and not both"),
        (("wtp", "t.csv"), "t.csv wtp: name one run, or tables, and not both"),
        (("wtp", "-a", "simulated:balancd"), "--agent simulated:balancd: there are no trials of this agent; did you mean \"simulated:balanced\"?"),  # noqa: E501
        (("wtp", *(word for name in AGENTS for word in ("--exclude", name))), "--exclude simulated:balanced simulated:anchored: no agent is left; exclude fewer"),  # noqa: E501
        (("--db", "mysql://me:secret@here/runs"), "--db mysql://me:***@here/runs: runs are kept in SQLite or PostgreSQL; write sqlite:///FILE or postgresql://USER@HOST/NAME"),  # noqa: E501
    ],
)  # fmt: skip
def test_what_cannot_be_analysed_is_one_line(arguments: tuple[str, ...], message: str, folder: Path) -> None:
    ended = forked_souk("analyze", *arguments, cwd=folder)
    assert (ended.status, ended.err) == (2, f"error: {message}\n")


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


def contents(db: Path, without: str = "") -> dict[str, list[Any]]:
    """The rows of a database, but those of a run."""
    records = Records(f"sqlite:///{db}")
    with records.engine.connect() as connection:
        found = {
            table.name: sorted(map(repr, connection.execute(
                sql.select(table).where(table.c.run != without) if "run" in table.c else sql.select(table)
            )))
            for table in tables.metadata.sorted_tables
        }  # fmt: skip
    records.close()
    return found


def copied(folder: Path, target: Path) -> Path:
    with Records(f"sqlite:///{folder}/runs/souk.db").engine.connect() as connection:
        connection.execute(sql.text("VACUUM INTO :path"), {"path": str(target)})
    return target


@pytest.mark.slow
def test_deleting_a_run_leaves_the_others_as_they_are(folder: Path, tmp_path: Path) -> None:
    db = copied(folder, tmp_path / "t.db")
    records = Records(f"sqlite:///{db}")
    run = records.latest_run("wtp")["run"]
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
    assert delete_run(records, records.latest_run("hotels")["run"]) > 0
    assert not any(rows for name, rows in contents(db).items() if name != "souk_schema")


@pytest.mark.slow
def test_a_page_that_two_runs_hold_stays_until_both_are_gone(folder: Path, tmp_path: Path) -> None:
    db = copied(folder, tmp_path / "t.db")
    records = Records(f"sqlite:///{db}")
    run = records.latest_run("wtp")["run"]
    with records.engine.begin() as connection:
        for table in tables.metadata.sorted_tables:
            if "run" in table.c:
                rows = connection.execute(sql.select(table).where(table.c.run == run)).mappings().all()
                if rows:
                    connection.execute(table.insert(), [{**row, "run": "wtp-again"} for row in rows])
    assert delete_run(records, run) == 0
    assert delete_run(records, "wtp-again") > 0


@pytest.mark.slow
def test_a_run_that_is_running_is_never_deleted(folder: Path, tmp_path: Path) -> None:
    db = copied(folder, tmp_path / "t.db")
    records = Records(f"sqlite:///{db}")
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
def test_who_cannot_be_asked_has_to_say_yes(folder: Path, tmp_path: Path) -> None:
    db = f"sqlite:///{copied(folder, tmp_path / 't.db')}"
    refused = forked_souk("runs", "delete", "wtp", "--db", db, cwd=tmp_path)
    assert refused.status == 2
    assert refused.err.endswith(": to delete it where nobody can be asked, add --yes\n")
    for answer, status, left in (("n\n", 1, 1), ("y\n", 0, 0)):
        ours, theirs = pty.openpty()
        asked = subprocess.Popen(
            [program(), "runs", "delete", "wtp", "--db", db],
            cwd=tmp_path, env=environment({}), stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        os.write(ours, answer.encode())
        said = asked.communicate()[0].decode()
        assert asked.returncode == status, said
        assert "72 trials: delete it for ever? [y/N]" in said
        assert ("wtp" in run_names(db)) == bool(left)
        os.close(ours)
        os.close(theirs)
    gone = forked_souk("runs", "delete", "wtp", "--db", db, "--yes", cwd=tmp_path)
    assert gone.err == f"error: {db}: no run 'wtp' in this database; runs: hotels\n"


@pytest.mark.thorough
@pytest.mark.slow
def test_a_run_is_found_by_a_new_name_and_goes_on(folder: Path, tmp_path: Path) -> None:
    db = f"sqlite:///{copied(folder, tmp_path / 't.db')}"
    run = Records(db).latest_run("wtp")["run"]
    wrong = forked_souk("runs", "rename", "wtp", "May 2026", "--db", db, cwd=tmp_path)
    assert (wrong.status, wrong.err.startswith('error: "May 2026" is no name; use lower-case')) == (2, True)
    assert forked_souk("runs", "rename", "wtp", "tea-in-may", "--db", db, cwd=tmp_path).status == 0
    assert Records(db).latest_run("tea-in-may")["run"] == run
    assert f"{run} (tea-in-may)" in forked_souk("status", "--db", db, cwd=tmp_path).out
    assert all(finding.ok for finding in check_database(db, lambda *_: None))
    more = ("--mode", "text", "-a", AGENTS[0], "--limit", "48", "--db", db)
    again = forked_souk("run", "wtp", *more, cwd=tmp_path)
    assert (again.status, "48 trials: 36 done, 12 to run" in again.err) == (0, True), again.err
    assert Records(db).latest_run("tea-in-may")["run"] == run


@pytest.mark.thorough
@pytest.mark.slow
def test_a_shell_completes_names(folder: Path) -> None:
    def completed(*words: str) -> set[str]:
        line = {"COMP_CWORD": str(len(words)), "COMP_WORDS": " ".join(["souk", *words])}
        asked = environment({"_SOUK_COMPLETE": "complete_bash", **line})
        done = subprocess.run(
            [Path(sys.executable).with_name("souk")],
            cwd=folder, env=asked, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return set(done.stdout.split())

    assert completed("run", "nudges-") == {"nudges-mr", "nudges-mrap"}
    assert completed("run", "/") == set(), "a path is completed by the shell"
    assert completed("run", "wtp", "--agent", "simulated:bal") == {"simulated:balanced"}
    run = Records(f"sqlite:///{folder}/runs/souk.db").latest_run("wtp")["run"]
    assert completed("analyze", "wt") == {"wtp", run}
