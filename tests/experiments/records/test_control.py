"""What processes say of themselves, and what they are told."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from experiments.records import control
from experiments.records.control import LOST, Runner, request_state, requested_state, runners_of
from experiments.records.store import Records
from experiments.records.tables import claims, runners
from tests.experiments.records.test_store import a_record, some_facts

ROOT = Path(__file__).parents[3]


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
    assert requested_state(records, "r-1") == "running"
    request_state(records, "r-1", "paused")
    records.begin_run("r-1", "nudges", some_facts())
    assert requested_state(records, "r-1") == "paused"
    assert requested_state(records, "r-2") == "running"
    request_state(records, "r-1", "running")
    assert requested_state(records, "r-1") == "running"


def test_this_process_is_alive_until_it_says_that_it_ends(records: Records) -> None:
    me = Runner("r-1", trials=5)
    me.beat(records)
    me.settled = 2
    me.beat(records)
    assert [(row["alive"], row["settled"]) for row in runners_of(records, "r-1")] == [(True, 2)]
    me.end(records)
    assert [row["alive"] for row in runners_of(records, "r-1")] == [False]


@pytest.mark.slow
def test_a_killed_process_is_not_alive(tmp_path: Path, records: Records) -> None:
    program = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from experiments.records.control import Runner
from experiments.records.store import Records
Runner("r-1", trials=7).beat(Records("sqlite:///{tmp_path}/t.db"))
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", program], check=False)
    (row,) = runners_of(records, "r-1")
    assert (row["trials"], row["ended_at"], row["alive"]) == (7, None, False)
    Runner("r-1").beat(records)
    assert [row["alive"] for row in runners_of(records, "r-1")] == [True], "what is gone makes room"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_process_of_this_machine_is_alive_whatever_the_date_says(records: Records) -> None:
    command = [sys.executable, "-c", "input()", "experiments.cli"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        Runner("r-1", pid=process.pid).beat(records)
        with records.writing() as connection:
            connection.execute(runners.update().values(seen_at="2001-01-01T00:00:00+00:00"))
        assert [row["alive"] for row in runners_of(records, "r-1")] == [True]
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        assert [row["alive"] for row in runners_of(records, "r-1")] == [False], "it gives no more signs"
        process.send_signal(signal.SIGCONT)
        process.communicate()
    assert [row["alive"] for row in runners_of(records, "r-1")] == [False]


def test_a_process_on_another_machine_is_gone_when_it_is_silent(records: Records) -> None:
    elsewhere(records, timedelta(seconds=1), pid=1)
    elsewhere(records, LOST + timedelta(seconds=5), pid=2)
    assert {row["pid"]: row["alive"] for row in runners_of(records, "r-1")} == {1: True, 2: False}
    Runner("r-1").beat(records)
    assert {row["host"] for row in runners_of(records, "r-1") if row["pid"] == 1} == {"far-away"}


def claimed_elsewhere(records: Records, *trials: str, pid: int = 1, host: str = "far-away") -> None:
    with records.writing() as connection:
        for trial in trials:
            connection.execute(claims.insert().values(run="r-1", trial=trial, host=host, pid=pid))


def test_a_trial_is_claimed_by_one_process_until_it_is_stored(records: Records) -> None:
    records.save(a_record("done"), a_record("failed", "infra_error"))
    me, other = Runner("r-1"), Runner("r-1", pid=os.getppid())
    for each in (me, other):
        each.begin(records)
    assert me.claim(records, ["done", "failed", "t1"]).own == {"failed", "t1"}
    seen = other.claim(records, ["t1", "t2", "done"])
    assert (seen.own, dict(seen.others)) == ({"t2"}, {"t1": (me.host, me.pid)})
    assert me.claim(records, ["t1"]).own == {"t1"}, "what it has claimed already"
    records.save(a_record("t1"))
    after = other.claim(records, ["t1", "failed"])
    assert (after.own, set(after.others)) == (set(), {"failed"})
    me.end(records)
    assert other.claim(records, ["failed"]).own == {"failed"}
    assert Runner("r-2").claim(records, ["t2"]).own == {"t2"}, "another run has trials of its own"


def test_a_process_takes_nothing_over_from_an_earlier_one_with_its_number(records: Records) -> None:
    me = Runner("r-1")
    claimed_elsewhere(records, "t1", pid=me.pid, host=me.host)
    me.begin(records)
    assert Runner("r-1", pid=os.getppid()).claim(records, ["t1"]).own == {"t1"}


def test_a_process_that_has_ended_holds_no_trial(records: Records) -> None:
    me, other = Runner("r-1"), Runner("r-1", pid=os.getppid())
    me.begin(records)
    me.claim(records, ["t1"])
    me.end(records)
    with records.engine.connect() as connection:
        assert connection.execute(claims.select()).all() == []
    me.claim(records, ["t2"])  # on its way to the database when the process said that it ends
    assert other.claim(records, ["t1", "t2"]).own == {"t1", "t2"}


def test_processes_of_one_number_on_two_machines_are_two(records: Records) -> None:
    me, other = Runner("r-1"), Runner("r-1", host="far-away")
    me.begin(records)
    assert me.claim(records, ["t1", "t2"]).own == {"t1", "t2"}
    (first,) = other.begin(records)
    assert (first["host"], first["pid"]) == (me.host, other.pid)
    other.release(records, "t2")
    assert dict(other.claim(records, ["t1", "t2"]).others) == dict.fromkeys(["t1", "t2"], (me.host, me.pid))
    other.end(records)
    assert [row["alive"] for row in runners_of(records, "r-1") if row["host"] == me.host] == [True]
    assert set(Runner("r-1", pid=os.getppid()).claim(records, ["t1", "t2"]).others) == {"t1", "t2"}


def test_a_process_that_has_ended_one_run_goes_on_with_another(records: Records) -> None:
    one, other = Runner("r-1"), Runner("r-2")
    for each in (one, other):
        each.begin(records)
        assert each.claim(records, ["t1"]).own == {"t1"}
    one.release(records, "t1")
    one.end(records)
    assert [[row["alive"] for row in runners_of(records, run)] for run in ("r-1", "r-2")] == [[False], [True]]
    assert set(Runner("r-2", pid=os.getppid()).claim(records, ["t1"]).others) == {"t1"}


def test_of_two_that_begin_the_second_is_told_of_the_first(records: Records) -> None:
    assert Runner("r-1", pid=os.getppid(), budget=2).begin(records) == []
    (first,) = Runner("r-1").begin(records)
    assert (first["pid"], first["budget"]) == (os.getppid(), 2)


def test_a_process_elsewhere_keeps_its_trials_while_it_gives_signs_whatever_its_clock_says(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "LOST", timedelta(0))
    elsewhere(records, timedelta(hours=5))
    claimed_elsewhere(records, "t1")
    me = Runner("r-1")
    for minute in range(9):
        assert me.claim(records, ["t1"]).own == set()
        with records.writing() as connection:
            connection.execute(runners.update().values(seen_at=f"2001-01-01T00:{minute:02}:00+00:00"))
    assert me.claim(records, ["t1"]).own == set()
    assert me.claim(records, ["t1"]).own == {"t1"}, "no sign of life since the last look"


def test_a_process_elsewhere_that_nobody_knows_is_waited_for_as_long(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed_elsewhere(records, "t1")
    me = Runner("r-1")
    assert [me.claim(records, ["t1"]).own for _ in range(3)] == [set()] * 3
    monkeypatch.setattr(control, "LOST", timedelta(0))
    assert me.claim(records, ["t1"]).own == {"t1"}
