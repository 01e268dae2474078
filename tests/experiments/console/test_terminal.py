"""What libraries log of a failure is a line; its traceback is for those who ask for everything."""

import logging
import sys
from collections.abc import Callable

import pytest
from rich.console import Console

from experiments.console.terminal import PlainFormatter, stderr_console, stdout_console


def logged() -> str:
    try:
        raise OSError(24, "Too many open files\x1b[2J")
    except OSError:
        record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "it failed", None, sys.exc_info())
    return PlainFormatter("%(levelname)s %(name)s: %(message)s").format(record)


@pytest.mark.parametrize(("level", "lines"), [(logging.ERROR, 2), (logging.INFO, 2), (logging.DEBUG, 5)])
def test_a_failure_that_a_library_logs(level: int, lines: int) -> None:
    root = logging.getLogger()
    before = root.level
    root.setLevel(level)
    try:
        first, *rest = logged().splitlines()
    finally:
        root.setLevel(before)
    assert first == "ERROR x: it failed"
    assert rest[-1] == "OSError: [Errno 24] Too many open files\\u001b[2J"
    assert len([first, *rest]) == lines


@pytest.mark.parametrize("console", [stdout_console, stderr_console])
def test_the_name_of_an_agent_stays_as_it_is(
    console: Callable[[], Console], capsys: pytest.CaptureFixture[str]
) -> None:
    console().print("compatible:M: 3 trials", markup=False)
    assert "compatible:M: 3 trials" in "".join(capsys.readouterr())
