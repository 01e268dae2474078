"""A command in the background: the same one, apart from whoever started it, with its output in a file."""

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiments.command_line import environment

PROGRAM = """
import os, sys
from pathlib import Path
from experiments.detach import detach
from interventions.errors import UserError
if "--detach" in sys.argv:
    try:
        print(detach(Path(sys.argv[1]) / "log.txt"))
    except UserError as error:
        sys.exit(str(error))
else:
    print(os.getsid(0) == os.getpid(), sys.stdin.read() == "", *sys.argv[2:])
"""


def run(folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", PROGRAM, str(folder), "run", "--detach", "--limit", "3"]
    return subprocess.run(command, env=environment({}), check=False, capture_output=True, text=True)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not its child")
def test_it_goes_on_in_a_session_of_its_own_and_says_it_in_the_log(tmp_path: Path) -> None:
    log = tmp_path / "runs" / "log.txt"
    log.parent.mkdir()
    log.write_text("earlier\n")
    process = int(run(log.parent).stdout)
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:  # it has ended already
        pass
    else:
        select.select([handle], [], [])  # readable once it has ended
        os.close(handle)
    assert log.read_text() == "earlier\nTrue True run --limit 3\n"


def test_a_log_that_cannot_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run(tmp_path / "file")
    assert result.returncode == 1
    assert result.stderr.startswith(f"--detach: {tmp_path}/file/log.txt: ")
    assert result.stderr.endswith("choose another folder with --out\n")
