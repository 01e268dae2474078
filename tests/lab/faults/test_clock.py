"""The date of another process jumps, and its durations do not."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.faults import clock

PROGRAM = """
import datetime, sys, time
for _ in sys.stdin:
    print(time.time(), time.monotonic(), datetime.datetime.now().year, flush=True)
"""


def test_a_date_that_jumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    if not clock.preload(tmp_path):
        pytest.skip("there is no C compiler")
    clock.make_clock(tmp_path / "clock")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, clock.VARIABLE: str(tmp_path / "clock")},
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        for seconds in (0, 3_600, -9_000 * 86_400, 0):
            clock.jump(tmp_path / "clock", seconds)
            before, began = time.time(), time.monotonic()
            other.stdin.write("\n")
            other.stdin.flush()
            date, duration, year = other.stdout.readline().split()
            assert before <= float(date) - seconds <= time.time()
            assert began <= float(duration) <= time.monotonic()
            assert int(year) == time.localtime(before + seconds).tm_year
        other.stdin.close()
