"""No worker, browser, shop or driver outlives its command, also where they are stopped: each test ends."""

import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from environments.launch.watchdog import VARIABLE, watched
from interventions.errors import UserError
from tests.experiments.command_line import (
    descendants,
    environment,
    left_after,
    not_ended,
    processes_with,
    start,
    wait_for_trials,
)

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc"),
    pytest.mark.timeout(120),
]

RUN = ("run", "nudges", "--limit", "40", "--workers", "2", "--db", "sqlite:///t.db")
KINDS = ("executors.worker", "environments.shop", "run-driver", "--headless", "--type=renderer")
"""What the command lines of a worker, the shop, Playwright's driver, a browser and its renderer hold."""
STUCK = """
from experiments.runs.interrupts import run_until_stopped
async def main():
    print("ready", flush=True)
    sum(range(10**15))  # looks at no signal, and lets no other thread run
run_until_stopped(main())
"""


def stop_all(process: int) -> dict[int, str]:
    """Stop everything below a command but its watchdog, once all kinds are there; all of it, by id."""
    found = descendants(process)
    while not all(any(kind in command for command in found.values()) for kind in KINDS):
        assert found, "the command has ended"  # a page's renderer comes and goes with its trial
        found = descendants(process)
    for child, command in found.items():
        if "watchdog" not in command:
            with suppress(ProcessLookupError):  # and one that was seen may have gone with its page
                os.kill(child, signal.SIGSTOP)
    return found


def end_what_is_stopped(folder: Path, temporary: Path, number: signal.Signals) -> int | None:
    """Send a command whose parts are stopped a signal; nothing is left of it. Returns its status."""
    process = start(*RUN, cwd=folder, env={"TMPDIR": str(temporary)})
    wait_for_trials(process, folder / "t.db", 1)
    found = stop_all(process.pid or 0)
    os.kill(process.pid or 0, number)
    process.join()
    assert not left_after("TMPDIR", str(temporary), seconds=20)
    assert not not_ended(found, seconds=20)
    assert not list(temporary.iterdir()), "temporary files are left"
    return process.exitcode


@pytest.mark.thorough
def test_what_is_stopped_ends_with_a_command_that_is_killed(tmp_path: Path, short_folder: Path) -> None:
    end_what_is_stopped(tmp_path, short_folder, signal.SIGKILL)


def test_ctrl_c_ends_a_command_and_what_is_stopped(tmp_path: Path, short_folder: Path) -> None:
    assert end_what_is_stopped(tmp_path, short_folder, signal.SIGINT) == 130
    assert (tmp_path / "err.txt").read_text().splitlines()[-1].startswith("stopped")


def test_a_command_that_hears_no_signal_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUCK],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({}),
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
    assert process.returncode == -signal.SIGKILL
    assert "did not end within 5 seconds" in told


# A read that begins just after Ctrl-C would not notice it.
WATCHED = """
import time
from environments.launch.watchdog import watched
try:
    with watched():
        print(open("at.txt", "w").name, end="", flush=True)
        while True:
            time.sleep(0.02)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_without_its_watchdog_a_command_ends_as_usual(tmp_path: Path, short_folder: Path) -> None:
    """Somebody has killed the watchdog: Ctrl-C is no mistake, and no temporary file is left."""
    with subprocess.Popen(
        [sys.executable, "-c", WATCHED],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({"TMPDIR": str(short_folder)}),
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(6) == "at.txt"
        (watchdog,) = (
            number
            for number, command in processes_with("TMPDIR", str(short_folder)).items()
            if "watchdog_process" in command
        )
        os.kill(watchdog, signal.SIGKILL)
        assert not not_ended({watchdog: "the watchdog"}, seconds=20)
        (folder,) = short_folder.iterdir()
        (folder / "left.txt").touch()
        process.send_signal(signal.SIGINT)
        assert (process.stdout.read(), process.stderr.read()) == ("interrupted\n", "")
    assert not list(short_folder.iterdir())


def test_a_command_in_the_background_has_a_watchdog_of_its_own(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from experiments.console.detach import detach\n"
        f"os.environ['{VARIABLE}'] = 'outer'; sys.orig_argv[1:] = ['-c', 'input()']\n"
        "detach(Path('log.txt'), '')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment({}), check=True)
    assert not processes_with(VARIABLE, "outer")


def test_where_no_temporary_file_can_be_made_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.mkdtemp", full)
    with pytest.raises(UserError, match=r"can be made: No space left on device; make room"), watched():
        pass
