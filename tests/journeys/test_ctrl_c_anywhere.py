"""Ctrl-C and SIGTERM at any moment of commands that run no trials: one line at most, and soon."""

import os
import signal
from contextlib import suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tests.experiments.command_line import Ended, forked_souk, start
from tests.journeys.programs import run_program
from tests.support import size, usual

COMMANDS = (
    ("analyze", "hotels"),
    ("report",),
    ("analyze", "wtp"),
    ("export", "--out", "t.parquet"),
    ("experiments",),
    ("db", "check"),
    ("bundle", "wtp", "--out", "b.zip"),
)
MOMENTS = size(3, 12)
SECONDS = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with stored runs of two studies."""
    folder, limit = tmp_path_factory.mktemp("stored"), str(size(96, 360))
    for name, agent in (("wtp", "simulated:anchored"), ("hotels", "simulated:balanced")):
        done = forked_souk("run", name, "-a", agent, "--mode", "text", "--limit", limit, cwd=folder)
        assert done.status == 0, done.err
    return folder


def used(process: BaseProcess) -> float:
    """The processor time of a process, in seconds; infinite once it has ended."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return float("inf")
    ended = fields[0] == "Z"
    return float("inf") if ended else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.thorough
@pytest.mark.parametrize("command", usual(COMMANDS, 2), ids=" ".join)
def test_a_signal_at_any_moment_ends_a_command_soon(command: tuple[str, ...], folder: Path) -> None:
    whole = start(*command, cwd=folder)
    needed = 0.0
    while (now := used(whole)) < float("inf"):
        needed = now
        whole.join(0.02)
    whole.join()
    said = set((folder / "err.txt").read_text().splitlines())
    assert whole.exitcode == 0, said
    stopped = 0
    for moment in range(MOMENTS):
        process = start(*command, cwd=folder)
        while used(process) < needed * (moment + 0.5) / MOMENTS:
            process.join(0.005)
        with suppress(ProcessLookupError):  # it has ended already
            os.kill(process.pid or 0, (signal.SIGINT, signal.SIGTERM)[moment % 2])
        process.join(SECONDS)
        err = (folder / "err.txt").read_text()
        assert process.exitcode in {0, 130}, (moment, process.exitcode, err)
        more = set(err.splitlines()) - said
        assert len(more) <= (process.exitcode == 130), more
        stopped += process.exitcode == 130
    assert stopped


LAST_BREATH = """
import signal, time
from experiments import cli

class Last:
    def __del__(self):
        signal.raise_signal(signal.NAME)

@cli.app.command()
def waits():
    Last()
    time.sleep(3_600)

cli.main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_in_what_cannot_end_a_command_ends_it(name: str) -> None:
    assert run_program(LAST_BREATH.replace("NAME", name), "waits") == Ended(130, "", "")
