"""`souk` as its users meet it: a process of its own, with its folder, environment and signals."""

import atexit
import os
import selectors
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.experiments.forking import serve

ROOT = Path(__file__).parents[2]

# Importing the program takes most of a short command's time: it is done once, and every command is a fork.
_forks = get_context("forkserver")
_forks.set_forkserver_preload(["tests.experiments.loaded"])


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    status: int | None
    out: str
    err: str


def souk(*arguments: str, cwd: Path, env: Mapping[str, str | None] | None = None) -> Ended:
    """Run a command in an interpreter of its own. `env` is laid over ours; None removes a variable."""
    result = subprocess.run(
        [sys.executable, "-m", "experiments.cli", *arguments],
        cwd=cwd,
        env=environment(env or {}),
        check=False,
        capture_output=True,
        text=True,
    )
    return Ended(result.returncode, result.stdout, result.stderr)


def forked_souk(*arguments: str, cwd: Path, env: Mapping[str, str | None] | None = None) -> Ended:
    """Like `souk`, without the time that its imports take."""
    process = start(*arguments, cwd=cwd, env=env)
    process.join()
    return Ended(process.exitcode, (cwd / "out.txt").read_text(), (cwd / "err.txt").read_text())


@cache
def program() -> str:
    """Return a `souk` to be started like any program; each start is a fork, without the time of imports."""
    folder = tempfile.mkdtemp(prefix="souk-program-")
    here, there = _forks.Pipe(duplex=False)
    server = _forks.Process(target=serve, args=(Path(folder) / "souk", there), daemon=False)
    server.start()
    here.recv()

    def end() -> None:
        server.terminate()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return f"{folder}/souk"


def start(*arguments: str, cwd: Path, env: Mapping[str, str | None] | None = None) -> BaseProcess:
    """Start a command as the leader of a new session; it writes to `out.txt` and `err.txt` in `cwd`."""
    here, there = _forks.Pipe(duplex=False)
    process = _forks.Process(target=_main, args=(there, arguments, cwd, environment(env or {})), daemon=False)
    process.start()
    here.recv()  # from now on its group can be killed
    return process


def environment(changes: Mapping[str, str | None]) -> dict[str, str]:
    """Our environment with the changes, for a program that is run in another folder."""
    changed = {"PYTHONPATH": str(ROOT), "COLUMNS": "200", **os.environ, **changes}
    return {name: value for name, value in changed.items() if value is not None}


def _main(started: Connection, arguments: tuple[str, ...], cwd: Path, env: dict[str, str]) -> None:
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None  # where temporary files are was found when the fork's parent was started
    for name, number in (("out.txt", 1), ("err.txt", 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["souk", *arguments]
    sys.orig_argv = [sys.executable, "-m", "experiments.cli", *arguments]  # by which it can be started again
    from experiments.cli import main

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        started.send(None)
        started.close()
    except KeyboardInterrupt:  # a program of its own would only be loading its modules
        os._exit(130)
    main()


def started_at(db: Path) -> dict[str, str]:
    """When each stored trial was started; empty before there is a database."""
    if not db.exists():
        return {}
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=30)
    try:
        return dict(connection.execute("SELECT trial, started_at FROM trials"))
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return {}
        raise
    finally:
        connection.close()


def wait_for_trials(process: BaseProcess, db: Path, count: int) -> None:
    """Until so many trials are stored, or the process has ended."""
    while len(started_at(db)) < count and process.is_alive():
        process.join(0.02)


def processes_with(variable: str, value: str) -> dict[int, str]:
    """The command lines of the processes that were started with this environment variable, by id.

    For a folder also those that were started with a folder in it.
    """
    found, wanted = {}, f"{variable}={value}".encode()
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            given = (folder / "environ").read_bytes().split(b"\0")
            if any(each == wanted or each.startswith(wanted + b"/") for each in given):
                found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:  # it has ended, or is not ours
            continue
    return found


def descendants(number: int) -> dict[int, str]:
    """The command lines of a process's children and theirs, by id."""
    found = {}
    with suppress(FileNotFoundError, ProcessLookupError):  # one that has just ended has none any more
        for task in Path(f"/proc/{number}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                with suppress(FileNotFoundError, ProcessLookupError):
                    found[child] = Path(f"/proc/{child}/cmdline").read_text().replace("\0", " ")
                found |= descendants(child)
    return found


def left_after(variable: str, value: str, seconds: float) -> dict[int, str]:
    """Those of `processes_with` that have not ended by themselves after `seconds`."""
    return not_ended(processes_with(variable, value), seconds)


def not_ended(processes: dict[int, str], seconds: float) -> dict[int, str]:
    """Those of these processes that have not ended after `seconds`."""
    left = {}
    for number, command in processes.items():
        try:
            handle = os.pidfd_open(number)
        except ProcessLookupError:
            continue
        with selectors.DefaultSelector() as selector:
            selector.register(handle, selectors.EVENT_READ)  # readable once the process has ended
            if not selector.select(seconds):
                left[number] = command
        os.close(handle)
    return left
