"""Records: whole trials or nothing, each once; artifacts stored once; clear errors."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sql

from experiments import records as tables
from experiments.records import Records, TrialRecord, artifact_hash
from interventions.errors import UserError


def a_record(trial: str, outcome: str = "choice", page: str = "<h1>Oats</h1>") -> TrialRecord:
    name = artifact_hash(page)
    return TrialRecord(
        trial={
            "run": "r-1", "trial": trial, "agent": "simulated:balanced", "set": "cookies-1",
            "condition": "control", "nudge": "", "nudge_text": "", "family": "", "direction": None,
            "match": "none", "profile": "none",
            "ordering": "forward", "repeat": 0, "seed": 1, "outcome": outcome, "choice": "a", "reason": "",
            "attempts": 1, "started_at": "2026-01-01T00:00:00", "seconds": 1.0, "steps": 1, "tokens_in": 0,
            "tokens_out": 0, "cost": None,
        },
        options=[
            {
                "position": position, "option": key, "name": key, "category": "Cookies",
                "price": 2.5, "rating": 80.0, "reviews": 3, "viewed_first": position, "nudged": 0,
            }
            for position, key in enumerate("ab")
        ],
        steps=[
            {
                "step": 0, "url": "http://x/", "observation": name, "thought": "", "memory": "",
                "action": "click('1')", "error": "", "seconds": 0.1,
            }
        ],
        artifacts={name: page},
    )  # fmt: skip


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(f"sqlite:///{tmp_path}/t.db")


def count(records: Records, table: sql.Table) -> int:
    with records.engine.connect() as connection:
        return connection.scalar(sql.select(sql.func.count()).select_from(table)) or 0


def test_a_trial_is_stored_whole_and_its_page_once(records: Records) -> None:
    for trial in ("t1", "t2"):
        records.save(a_record(trial))
    assert [count(records, table) for table in (tables.trials, tables.options, tables.steps)] == [2, 4, 2]
    assert count(records, tables.artifacts) == 1
    assert records.artifact(artifact_hash("<h1>Oats</h1>")) == "<h1>Oats</h1>"


def test_a_trial_that_cannot_be_stored_whole_leaves_nothing(records: Records) -> None:
    broken = a_record("t1", page="<h1>Other</h1>")
    broken.options.append(broken.options[0])
    with pytest.raises(sql.exc.IntegrityError):
        records.save(broken)
    assert [count(records, table) for table in (tables.trials, tables.options, tables.artifacts)] == [0, 0, 0]
    records.save(a_record("t1", page="<h1>Other</h1>"))
    assert records.artifact(artifact_hash("<h1>Other</h1>")) == "<h1>Other</h1>"


def test_only_an_infrastructure_error_is_run_again_and_then_replaced(records: Records) -> None:
    for trial, outcome in (("t1", "choice"), ("t2", "agent_limit"), ("t3", "infra_error")):
        records.save(a_record(trial, outcome))
    assert records.finished("r-1") == {"t1", "t2"}
    assert records.finished("r-2") == set()
    records.save(a_record("t3"))
    assert records.finished("r-1") == {"t1", "t2", "t3"}
    assert records.outcomes("r-1") == {"choice": 2, "agent_limit": 1}
    assert count(records, tables.options) == 6


def test_a_resumed_run_keeps_its_start(records: Records) -> None:
    records.begin_run("r-1", "nudges", {"seed": 1})
    started = records.latest_run()["started_at"]
    records.begin_run("r-1", "nudges", {"seed": 2})
    assert (records.latest_run("nudges")["started_at"], records.latest_run("r-1")["facts"]) == (
        started,
        {"seed": 2},
    )


def test_what_a_killed_process_had_saved_is_there(tmp_path: Path) -> None:
    program = f"""
import os, sys
sys.path[:0] = [{str(Path.cwd())!r}, {str(Path(__file__).parent)!r}]
from test_records import a_record
from experiments.records import Records
records = Records("sqlite:///{tmp_path}/t.db")
for number in range(20):
    records.save(a_record(f"t{{number}}"))
os.kill(os.getpid(), 9)
"""
    result = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert result.returncode == -9, result.stderr
    records = Records(f"sqlite:///{tmp_path}/t.db")
    assert len(records.finished("r-1")) == 20


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("t.db", "not a database URL"),
        ("nosuchdb://x", "nosuchdb"),
        ("sqlite:////proc/no/t.db", "/proc/no"),
    ],
)
def test_an_unusable_database_is_the_users_mistake(url: str, words: str) -> None:
    with pytest.raises(UserError, match=words) as caught:
        Records(url)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_schema_is_refused(tmp_path: Path) -> None:
    Records(f"sqlite:///{tmp_path}/t.db").close()
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("UPDATE souk_schema SET version = 99")
    with pytest.raises(UserError, match="schema 99"):
        Records(f"sqlite:///{tmp_path}/t.db")


def test_an_empty_database_has_no_latest_run(records: Records) -> None:
    with pytest.raises(UserError, match="run an experiment first"):
        records.latest_run()
    with pytest.raises(UserError, match="no run 'x'"):
        records.latest_run("x")


def test_disagreements_are_kept_and_counted_among_the_wanted_trials(records: Records) -> None:
    for trial, texts in {"t1": [], "t2": ["price is 1, but 2", "rating is 3, but 4"], "t3": ["x"]}.items():
        record = a_record(trial)
        record.disagreements = [{"number": n, "text": text} for n, text in enumerate(texts)]
        records.save(record)
    assert records.disagreeing("r-1", {"t1", "t2"}) == (1, "price is 1, but 2")
    assert records.disagreeing("r-1", {"t1"}) == (0, "")
    records.save(a_record("t2"))
    assert records.disagreeing("r-1", {"t1", "t2"}) == (0, "")
