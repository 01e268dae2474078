"""A command in the background: the same one, apart from whoever started it, with its output in a file."""

import json
import os
import re
import select
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.records.store import Records
from experiments.runs.status import run_statuses
from tests.experiments.command_line import environment, forked_souk
from tests.experiments.running import HOTELS

PROGRAM = """
import os, sys
from pathlib import Path
from experiments.console.detach import detach
from interventions.errors import UserError
if "--detach" in sys.argv:
    try:
        print(detach(Path(sys.argv[1]) / "log.txt", "choose another folder with --out").pid)
    except UserError as error:
        sys.exit(str(error))
else:
    print(os.getsid(0) == os.getpid(), sys.stdin.read() == "", *sys.argv[2:])
"""


def run(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", PROGRAM, str(folder), "run", "--detach", "--limit", "3"]
    return subprocess.run(command, env=environment({}), check=False, capture_output=True, text=True)


def wait_for(process: int) -> None:
    """Return when a process that is not our child has ended."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:  # it has ended already
        return
    select.select([handle], [], [])  # readable once it has ended
    os.close(handle)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not its child")
def test_it_goes_on_in_a_session_of_its_own_and_says_it_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "runs" / "log.txt"
    log.parent.mkdir()
    log.write_text("earlier\n")
    process = int(run(log.parent).stdout)
    wait_for(process)
    assert log.read_text() == "earlier\nTrue True run --limit 3\n"


def test_a_log_that_cannot_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run(tmp_path / "file")
    assert result.returncode == 1
    assert result.stderr.startswith(f"--detach: {tmp_path}/file/log.txt: ")
    assert result.stderr.endswith("choose another folder with --out\n")


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not its child")
def test_a_detached_run_is_known_when_the_command_returns(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(HOTELS)
    ended = forked_souk("run", "x.yaml", "--detach", "--db", "sqlite:///t.db", cwd=tmp_path)
    assert ended.status == 0, ended.err
    (process,) = map(int, re.findall(r"process (\d+)", ended.err))
    (run,) = run_statuses(Records(f"sqlite:///{tmp_path}/t.db"))
    assert (run.name, run.wanted, [row["pid"] for row in run.runners]) == ("few-hotels", 16, [process])
    assert run.state in ("running", "finished")
    # What it tells the user to type works as it stands, and goes on until the run has ended.
    (command,) = re.findall(r"souk (status --watch \S+ --db \S+) follows it", ended.err)
    assert forked_souk(*command.split(), cwd=tmp_path).status == 0
    wait_for(process)
    told = forked_souk("status", "--json", "--db", "sqlite:///t.db", cwd=tmp_path)
    assert [(each["state"], each["done"]) for each in json.loads(told.out)] == [("finished", 16)]
