"""Let nothing that a command has started outlive it: not after SIGKILL, and not where it is stopped or busy.

Workers, the shop, Playwright's driver and browsers end by themselves when the command is gone, unless they
are stopped or busy. So each command has a watchdog: a small process that holds one end of a pipe, sees
it close when the command ends in whatever way, and kills what is left. It tells the command's processes by a
variable in their environments. Then it removes the folder in which they had their temporary files.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from interventions.errors import UserError

VARIABLE: Final = "SOUK_COMMAND"
"""The variable in the environment of all that a command starts."""
_PROGRAM: Final = Path(__file__).with_name("watchdog_process.py")
_PR_SET_PDEATHSIG: Final = 1
_outside: list[str | None] = []
"""Where temporary files are outside of the blocks that are watched now."""


@contextmanager
def watched(*, signals: bool = True) -> Iterator[None]:
    """Keep a watchdog for the time of this block; it also kills this process where it does not end.

    Temporary files, of this process and of those that it starts, are in a folder that goes with the block.
    Five seconds after the first Ctrl-C or SIGTERM it kills this process too. Signals are written to its pipe
    by the interpreter itself, so this works also where no Python code runs any longer. Only the main thread
    gets them: in another there is no watchdog, but without `signals`, for a process that is all ours. Without
    Linux, which shows the environments of processes in `/proc`, there is none either.
    """
    in_main = threading.current_thread() is threading.main_thread()
    if sys.platform != "linux" or (signals and not in_main):
        yield
        return
    try:
        token, folder = os.urandom(16).hex(), tempfile.mkdtemp(prefix="souk-")
    except OSError as error:
        raise UserError(
            f"no temporary file can be made: {error.strerror}; make room, or set TMPDIR"
        ) from None
    try:
        reading, writing = _start_watchdog(token, folder)
    except OSError:
        Path(folder).rmdir()
        raise
    before, outer = dict(os.environ), tempfile.tempdir
    os.environ |= {VARIABLE: token, "TMPDIR": folder}
    tempfile.tempdir = folder
    _outside.append(before.get("TMPDIR"))
    earlier = signal.set_wakeup_fd(writing, warn_on_full_buffer=False) if signals else None
    try:
        yield
    finally:
        if earlier is not None:
            signal.set_wakeup_fd(earlier)
        tempfile.tempdir = outer
        _outside.pop()
        for name in (VARIABLE, "TMPDIR"):
            os.environ.pop(name)
            os.environ |= {name: before[name]} if name in before else {}
        os.close(reading)
        os.close(writing)
        # The watchdog does the same after what is left has ended, but somebody may have killed it.
        shutil.rmtree(folder, ignore_errors=True)


def _start_watchdog(token: str, folder: str) -> tuple[int, int]:
    """Start the watchdog of this process; return both ends of its pipe, the second tells it of signals.

    The first is kept open: else a signal could not be written to the pipe of a watchdog that was killed.
    """
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        command = (sys.executable, "-I", "-S", str(_PROGRAM), f"{VARIABLE}={token}", str(os.getpid()), folder)
        process = subprocess.Popen(  # noqa: S603 (our own program)
            command, stdin=reading, stdout=subprocess.DEVNULL, start_new_session=True
        )
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    process.wait()  # it goes on in a process that is not our child
    return reading, writing


def unwatched(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that may outlive the command."""
    found = {name: value for name, value in environment.items() if name != VARIABLE}
    if _outside:
        found.pop("TMPDIR", None)
        found |= {"TMPDIR": _outside[0]} if _outside[0] else {}
    return found


def end_with_parent() -> None:
    """Let the kernel kill this process when the one that started it ends; only Linux can do this."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 (few processes need it)

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
