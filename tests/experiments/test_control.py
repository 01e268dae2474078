"""What processes say of themselves, and what they are told."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from experiments.control import LOST, Runner, runners_of, tell, told
from experiments.records import Records
from experiments.tables import runners

ROOT = Path(__file__).parents[2]


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    opened = Records(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


def elsewhere(records: Records, seen: timedelta, pid: int = 1) -> None:
    """A process on another machine gave its last sign of life so long ago."""
    seen_at = (datetime.now(UTC) - seen).isoformat(timespec="seconds")
    row = {"run": "r-1", "host": "far-away", "pid": pid, "started_at": "2026-01-01T00:00:00+00:00"}
    said = {"seen_at": seen_at, "trials": 9, "settled": 0, "running": 2, "reason": ""}
    with records.writing() as connection:
        connection.execute(runners.insert().values({**row, **said}))


def test_a_run_does_what_it_was_told_last(records: Records) -> None:
    assert told(records, "r-1") == "running"
    tell(records, "r-1", "paused")
    records.begin_run("r-1", "nudges", {})
    assert told(records, "r-1") == "paused"
    assert told(records, "r-2") == "running"
    tell(records, "r-1", "running")
    assert told(records, "r-1") == "running"


def test_this_process_is_alive_until_it_says_that_it_ends(records: Records) -> None:
    me = Runner("r-1", trials=5)
    me.beat(records)
    me.settled = 2
    me.beat(records)
    assert [(row["alive"], row["settled"]) for row in runners_of(records, "r-1")] == [(True, 2)]
    me.end(records)
    assert [row["alive"] for row in runners_of(records, "r-1")] == [False]


def test_a_killed_process_is_not_alive(tmp_path: Path, records: Records) -> None:
    program = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from experiments.control import Runner
from experiments.records import Records
Runner("r-1", trials=7).beat(Records("sqlite:///{tmp_path}/t.db"))
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    (row,) = runners_of(records, "r-1")
    assert (row["trials"], row["ended_at"], row["alive"]) == (7, None, False)
    Runner("r-1").beat(records)
    assert [row["alive"] for row in runners_of(records, "r-1")] == [True], "what is gone makes room"


def test_a_process_on_another_machine_is_gone_when_it_is_silent(records: Records) -> None:
    elsewhere(records, timedelta(seconds=1), pid=1)
    elsewhere(records, LOST + timedelta(seconds=5), pid=2)
    assert {row["pid"]: row["alive"] for row in runners_of(records, "r-1")} == {1: True, 2: False}
    Runner("r-1").beat(records)
    assert {row["host"] for row in runners_of(records, "r-1") if row["pid"] == 1} == {"far-away"}
