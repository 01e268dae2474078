"""A run that is killed or stopped, at any moment, is finished by the same command: each trial once."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.experiments.chains import has_whole_chains
from tests.experiments.command_line import environment, left_after, start, started_at, wait_for_trials
from tests.support import size

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="looks for processes in /proc"
)

STOPPED = "stopped; what was finished is stored. "
TRIALS = 36  # more than a fast machine finishes between the first stored trial and a kill
KILLS = size(3, 10)
RUN = ("run", "nudges", "--limit", str(TRIALS), "--db", "sqlite:///t.db")


def is_sound(db: Path) -> bool:
    with sqlite3.connect(db) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def is_whole(db: Path) -> bool:
    """Whether every trial has its two options, at least three steps, and its link."""
    query = """
        SELECT count(*) FROM trials WHERE
        (SELECT count(*) FROM options WHERE options.trial = trials.trial) != 2
        OR (SELECT count(*) FROM steps WHERE steps.trial = trials.trial) != trials.steps + 1
    """
    with sqlite3.connect(db) as connection:
        return connection.execute(query).fetchone() == (0,) and has_whole_chains(f"sqlite:///{db}")


def test_a_run_killed_again_and_again_has_every_trial_once(tmp_path: Path, short_folder: Path) -> None:
    rng = random.Random(5)
    db = tmp_path / "t.db"
    mark = {"TMPDIR": str(short_folder)}
    stored: dict[str, str] = {}
    kills_amid_trials = 0
    for kill in range(KILLS):
        process = start(*RUN, cwd=tmp_path, env=mark)
        # Some are killed while they start, the others while trials run.
        if kill % 2:
            wait_for_trials(process, db, len(stored) + rng.randint(1, 3))
            process.join(rng.uniform(0, 0.1))
        else:
            process.join(rng.uniform(0, 2.5))
        alive = process.is_alive()
        if alive:
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
        now = started_at(db)
        assert stored.items() <= now.items(), "a trial that had ended ran again"
        kills_amid_trials += alive and len(stored) < len(now) < TRIALS
        stored = now
        assert not left_after("TMPDIR", str(short_folder), seconds=10)
        if not alive:
            break
    assert kills_amid_trials >= KILLS // 3

    process = start(*RUN, cwd=tmp_path, env=mark)
    process.join()
    assert process.exitcode == 0, (tmp_path / "err.txt").read_text()
    finished = started_at(db)
    assert stored.items() <= finished.items()
    assert len(finished) == TRIALS
    assert is_sound(db)
    assert is_whole(db)
    assert not left_after("TMPDIR", str(short_folder), seconds=10)


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["while it gets ready", "while trials run"])
def test_ctrl_c_again_ends_at_once_with_one_line(tmp_path: Path, short_folder: Path, when: str) -> None:
    err = tmp_path / "err.txt"
    with (
        err.open("w") as output,
        subprocess.Popen(
            [sys.executable, "-m", "experiments.cli", "run", "listing", "--db", "sqlite:///t.db"],
            cwd=tmp_path,
            env=environment({"TMPDIR": str(short_folder)}),
            stdout=subprocess.DEVNULL,
            stderr=output,
            start_new_session=True,
        ) as process,
    ):
        while process.poll() is None:
            ready = list(tmp_path.glob("t.db-runs/**/ca")) if when == "while trials run" else err.read_text()
            if ready:
                break
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.02)
        while process.poll() is None:
            process.send_signal(signal.SIGINT)  # as a key that is held repeats, whatever the command is doing
            with suppress(subprocess.TimeoutExpired):
                process.wait(1 / 30)
    assert process.returncode == 130
    *_, last = lines = err.read_text().splitlines()
    assert last.startswith((STOPPED, "stopped at once; what was stored is safe. "))
    assert len(lines) <= 3, lines
    assert not left_after("TMPDIR", str(short_folder), seconds=10)
