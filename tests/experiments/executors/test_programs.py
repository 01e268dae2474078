"""Programs as subjects: whatever they do, each trial ends once, as what it was, and nothing is left."""

import json
import os
import signal
import sqlite3
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.experiments.command_line import Ended, forked_souk, start
from tests.experiments.executors.wild_program import EXPECTED, WAYS
from tests.support import size

WILD = Path(__file__).with_name("wild_program.py")
EXPERIMENT = """\
name: wild
goal: Add the best product to the cart.
options: {sets: 8}
factors:
  nudge: {interventions: nudges, only: [best-seller]}
limits: {seconds: 8}
"""
SECRETS = {"OPENAI_API_KEY": "sk-do-not-tell-anybody-1", "MY_TOKEN": "another-secret-of-mine"}
SETTINGS = {**SECRETS, "SOUK_PROGRAM_GB": "0.3", "SOUK_PROGRAM_ENV": "MY_TOKEN"}
DB = ("--db", "sqlite:///t.db")


def agent(folder: Path, way: str = "") -> str:
    return f"command:{sys.executable} {WILD} {folder} {way}".strip()


def run(folder: Path, name: str, *options: str, **env: str) -> Ended:
    (folder / "e.yaml").write_text(EXPERIMENT)
    return forked_souk("run", "e.yaml", "--agent", name, *DB, *options, cwd=folder, env=SETTINGS | env)


def rows(folder: Path, query: str) -> list[dict[str, Any]]:
    with sqlite3.connect(folder / "t.db") as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def told(folder: Path) -> list[dict[str, Any]]:
    """What the programs have said that they do."""
    return [json.loads(line) for line in (folder / "told.jsonl").read_text().splitlines()]


def running(folder: Path) -> list[int]:
    """The processes of programs that were given this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (
                str(folder).encode() in (path / "cmdline").read_bytes()
                and WILD.name.encode() in (path / "cmdline").read_bytes()
            ):
                found.append(int(path.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_each_trial_once_with_a_true_outcome(tmp_path: Path) -> None:
    count = size(8, 400)
    ended = run(tmp_path, agent(tmp_path), "--limit", str(count), "--slots", "3", "--workers", "2")
    assert "Traceback" not in ended.err.replace("Traceback (most recent call last):\\n", "")
    trials = rows(tmp_path, "SELECT * FROM trials")
    assert len(trials) == min(count, 32)
    did = {each["trial"]: each["way"] for each in told(tmp_path)}
    assert Counter(each["trial"] for each in told(tmp_path)) == Counter(did.keys())  # none was started twice
    assert {each["trial"]: each["outcome"] for each in trials} == {t: EXPECTED[way] for t, way in did.items()}
    assert running(tmp_path) == []
    written = {row["trial"]: row["text"] for row in rows(tmp_path, "SELECT * FROM output")}
    for trial in trials:
        text, way = written[trial["trial"]], did[trial["trial"]]
        assert len(text) < 70_000
        assert '"SOUK_PROXY": "http://127.0.0.1:' in text
        assert not any(secret in text for secret in SECRETS.values())
        assert ('"MY_TOKEN": "[key]"' in text, "OPENAI_API_KEY" in text) == (True, False)
        assert (trial["cost"], trial["tokens_in"]) == ((0.25, 12) if way == "told" else (None, 0))
        assert ("ValueError: the model said something odd" in trial["reason"]) == (way == "crash")
        assert trial["reason"].startswith("the program was ended: more than 0.3 GB") == (way == "memory")


@pytest.mark.slow
def test_every_way(tmp_path: Path) -> None:
    agents = [part for way in WAYS for part in ("--agent", agent(tmp_path, way))][1:]
    run(tmp_path, *agents, "--limit", "1", "--slots", "6")
    outcomes = {row["agent"].split()[-1]: row["outcome"] for row in rows(tmp_path, "SELECT * FROM trials")}
    assert outcomes == EXPECTED
    assert running(tmp_path) == []


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(EXPERIMENT)
    name = agent(tmp_path)
    command = ("run", "e.yaml", "--agent", name, *DB, "--limit", "8", "--slots", "4")
    process = start(*command, cwd=tmp_path, env=SETTINGS)
    while not (tmp_path / "told.jsonl").exists() or len(told(tmp_path)) < 4:
        process.join(0.05)
        assert process.exitcode is None
    assert process.pid
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    while running(tmp_path):  # the watchdog and the keepers end them
        process.join(0.05)
    forked_souk(*command, cwd=tmp_path, env=SETTINGS)
    trials = rows(tmp_path, "SELECT * FROM trials")
    did = {each["trial"]: each["way"] for each in told(tmp_path)}
    assert {each["trial"]: each["outcome"] for each in trials} == {t: EXPECTED[way] for t, way in did.items()}
    assert len(trials) == 8
    assert running(tmp_path) == []


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
