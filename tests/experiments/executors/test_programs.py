"""Programs as subjects: a run of them that is killed, the script of the docs, mistakes.

What programs do that go wrong is in tests/faults/test_programs.py.
"""

import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.command_line import Ended, forked_souk, start
from tests.faults.programs import SETTINGS, expected, place, trials_of_programs
from tests.faults.wild_program import drawn

EXPERIMENT = """\
name: wild
goal: Add the best product to the cart.
options: {sets: 8}
factors:
  nudge: {interventions: nudges, only: [best-seller]}
limits: {seconds: 8}
"""
DB = ("--db", "sqlite:///t.db")


def run(folder: Path, name: str, *options: str, **env: str) -> Ended:
    (folder / "e.yaml").write_text(EXPERIMENT)
    return forked_souk("run", "e.yaml", "--agent", name, *DB, *options, cwd=folder, env=SETTINGS | env)


def rows(folder: Path, query: str) -> list[dict[str, Any]]:
    with sqlite3.connect(folder / "t.db") as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    (temporary := tmp_path / "t").mkdir()
    command = ("run", "e.yaml", "--agent", f"{place(tmp_path)} 2", *DB, "--limit", "8", "--slots", "4")
    env = {**SETTINGS, "TMPDIR": str(temporary)}
    process = start(*command, cwd=tmp_path, env=env)
    notes = tmp_path / "started"
    while not notes.exists() or len(notes.read_text().split()) < 4:
        process.join(0.05)
        assert process.exitcode is None
    assert process.pid
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    while any(trials_of_programs(temporary)):  # the watchdog and the keepers end them
        process.join(0.05)
    forked_souk(*command, cwd=tmp_path, env=env)
    trials = rows(tmp_path, "SELECT * FROM trials")
    assert len(trials) == 8
    for trial in trials:
        assert trial["outcome"] == expected(*drawn("2", trial["trial"]))[0]
    assert not any(trials_of_programs(temporary))


@pytest.mark.browser
@pytest.mark.slow
def test_the_script_of_the_docs(tmp_path: Path) -> None:
    script = Path(__file__).parents[3] / "docs" / "agents" / "playwright_script.py"
    (tmp_path / "e.yaml").write_text(EXPERIMENT.replace("seconds: 8", "seconds: 120"))
    name = f"command:{sys.executable} {script}"
    forked_souk("run", "e.yaml", "--agent", name, *DB, "--limit", "2", cwd=tmp_path)
    assert rows(tmp_path, "SELECT DISTINCT outcome FROM trials") == [{"outcome": "choice"}]
    prices = {(row["trial"], row["option"]): row["price"] for row in rows(tmp_path, "SELECT * FROM options")}
    for trial in rows(tmp_path, "SELECT * FROM trials"):
        own = {option: price for (name, option), price in prices.items() if name == trial["trial"]}
        assert trial["choice"] == min(own, key=lambda option: own[option])
        assert trial["cost"] is None


@pytest.mark.slow
def test_mistakes_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    for name, said in (
        ("command:", "names no program"),
        ("command:no-such-program-1 x", "there is no program no-such-program-1"),
        ("command:python 'x", "close the quotation"),
    ):
        ended = run(tmp_path, name)
        assert (ended.status, ended.out) == (2, "")
        assert said in ended.err
        assert "Traceback" not in ended.err
    assert "is no size" in run(tmp_path, "command:python x.py", SOUK_PROGRAM_GB="much").err
    cards = forked_souk("run", "hotels", "--agent", "command:python x.py", cwd=tmp_path)
    assert cards.status == 2
    assert "is a program, which visits shops" in cards.err
