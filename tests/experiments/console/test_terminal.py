"""What libraries log of a failure is a line; its traceback is for those who ask for everything."""

import logging
import sys

import pytest

from experiments.console.terminal import PlainFormatter


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
