"""Run servers in the background: start them, wait until they answer, find them again, stop them.

A server in the background holds a lock on a file in `runs/background` that names its process. The lock ends
with the process, however that ends: so a process is known by its lock, and never by a number that another
process may have by now. Nothing here waits for a fixed time.
"""

import fcntl
import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from experiments.console.detach import detach
from interventions.errors import UserError

FOLDER: Final = Path("runs") / "background"
READY: Final = "SOUK_READY"
"""The environment variable that tells a server how to report that it is ready: file descriptor and lock."""

_held: list[IO[str]] = []
"""Locks of this process; they stay open as long as the process lives."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs in the background."""

    pid: int
    url: str
    lock: Path

    def stop(self) -> None:
        """Stop the server; return when it has ended."""
        with self.lock.open() as file:
            os.kill(self.pid, signal.SIGTERM)
            fcntl.flock(file, fcntl.LOCK_EX)
        self.lock.unlink(missing_ok=True)


def start() -> str:
    """Start this command again without `--detach`, apart from the terminal.

    Returns what the new process printed until it was ready.

    Raises:
        UserError: the process has ended instead, or nothing can be written.
    """
    log = FOLDER / f"proxy-{os.getpid()}.log"
    with suppress(OSError):
        log.unlink()  # of an earlier process with this number
    reader, writer = os.pipe()
    environment = {**os.environ, READY: f"{writer}:{log.with_suffix('.lock')}"}
    try:
        process = detach(log, "go to a folder that can be written", pass_fds=(writer,), env=environment)
    finally:
        os.close(writer)
    with os.fdopen(reader) as pipe:
        is_ready = bool(pipe.read())  # until it is ready, or has ended
    said = log.read_text(encoding="utf-8", errors="replace").rstrip()
    if not is_ready:
        process.wait()
        raise UserError(said.rpartition("error: ")[2] or f"it has ended at once; see {log}")
    return f"{said}\n  process {process.pid}, whose output goes to {log}"


def ready(url: str) -> None:
    """Report that this process answers at `url`, where `start` started it."""
    descriptor, _, name = os.environ.pop(READY, "").partition(":")
    if not descriptor:
        return
    lock = Path(name).open("w", encoding="utf-8")  # noqa: SIM115 - held until this process ends
    fcntl.flock(lock, fcntl.LOCK_EX)
    json.dump({"pid": os.getpid(), "url": url}, lock)
    lock.flush()
    _held.append(lock)
    with os.fdopen(int(descriptor), "w") as pipe:
        pipe.write("ready")


def servers() -> Iterator[Server]:
    """Yield the running servers that were started from this folder.

    Files that ended servers left behind are removed.
    """
    for lock in sorted(FOLDER.glob("*.lock")):
        with lock.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                said = json.load(file)
                yield Server(said["pid"], said["url"], lock)
            else:
                lock.unlink(missing_ok=True)
