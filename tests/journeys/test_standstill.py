"""Whatever stands still for longer than a trial may take: its trials end as in an undisturbed run."""

import json
import os
import signal
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from experiments.designs.inputs.experiment_file import LIBRARY
from tests.experiments.command_line import descendants, forked_souk, start, wait_for_trials
from tests.support import THOROUGH, size

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc"),
]

LIMIT = 8
"""The time limit of a trial, in seconds; an undisturbed one takes less than one."""
TRIALS = size(4, 6)
STOPS = {
    # what is stopped, for how long, in a run with how many workers
    "the command": ("", LIMIT + 2, 1),
    "the shop": ("environments.shop", LIMIT + 2, 1),
    "the browser": ("chrom", LIMIT + 2, 1),
    "Playwright": ("run-driver", LIMIT + 2, 1),
    "a worker": ("executors.worker", LIMIT + 2, 2),
    "the shop, for ever": ("environments.shop", None, 1),
    "the browser, for ever": ("chrom", None, 1),
    "Playwright, for ever": ("run-driver", None, 1),
    "a worker, for ever": ("executors.worker", None, 2),
}

Ends = dict[str, tuple[str, str | None]]


def ends(db: Path) -> Ends:
    """The outcome and the choice of each trial."""
    with closing(sqlite3.connect(db)) as connection:
        rows = connection.execute("SELECT trial, outcome, choice FROM trials").fetchall()
    return {trial: (outcome, choice) for trial, outcome, choice in rows}


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ends]:
    """The experiment's file, and how its trials end where nothing stands still."""
    folder = tmp_path_factory.mktemp("calm")
    source = (LIBRARY / "nudges.yaml").read_text()
    limited = source.replace("seconds: 300", f"seconds: {LIMIT}").replace("name: nudges", "name: short")
    (folder / "short.yaml").write_text(limited)
    ended = forked_souk("run", "short.yaml", "--limit", str(TRIALS), "--db", "sqlite:///t.db", cwd=folder)
    assert ended.status == 0, ended.err
    return folder / "short.yaml", ends(folder / "t.db")


@pytest.mark.thorough
@pytest.mark.parametrize("kind", STOPS if THOROUGH else ("the shop",))
def test_a_standstill_ends_no_trial(kind: str, calm: tuple[Path, Ends], tmp_path: Path) -> None:
    program, seconds, workers = STOPS[kind]
    file, undisturbed = calm
    db = tmp_path / "t.db"
    process = start(
        *("run", str(file), "--limit", str(TRIALS), "--db", "sqlite:///t.db", "--workers", str(workers)),
        cwd=tmp_path,
    )
    wait_for_trials(process, db, 1)
    number = process.pid or 0
    found = descendants(number) if program else {number: ""}
    stopped = [each for each, command in found.items() if program in command][:1]
    assert stopped, "it has ended already"
    os.kill(stopped[0], signal.SIGSTOP)
    began = time.monotonic()
    try:
        process.join(seconds)
    finally:
        with suppress(ProcessLookupError):
            os.kill(stopped[0], signal.SIGCONT)
    process.join()
    said = (tmp_path / "err.txt").read_text()
    assert process.exitcode == 0, said
    assert ends(db) == undisturbed, json.dumps(said)
    assert seconds is None or time.monotonic() - began >= seconds
