"""Processes that carry out a run with a stopping rule, and are killed at a random moment."""

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Final

from rich.console import Console

from experiments.runs.experiment_run import ExperimentRun

LATE: Final = 3600.0


def start_run(make: Callable[[], ExperimentRun], seconds: float = LATE) -> int:
    """Carry out a run in a process of its own, and return its id.

    After so many seconds of its processor time a timer of the kernel ends the process as kill -9 does: in the
    middle of anything, and nothing of it can run any more.
    """
    if process := os.fork():
        return process
    status = 1
    try:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        run = make()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        asyncio.run(run.run(Console(quiet=True)))
        status = 0
    finally:
        os._exit(status)


def end_of(process: int) -> int:
    """Wait for a process, and return its exit code; that of a killed one is below 0."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
