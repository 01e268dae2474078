"""What the laboratory of faults reads of a run."""

import subprocess
import sys

from tests.lab.faults.world import tracebacks

PROGRAM = """
import traceback

def fails():
    try:
        {}["key"]
    except KeyError:
        raise ValueError("no number\\n\\nat all")

for _ in range(2):
    try:
        fails()
    except ValueError:
        print("what follows is no news")
        traceback.print_exc()
        print("24 trials: 13 done, 11 to run")
"""


def test_a_traceback_is_known_by_what_was_raised() -> None:
    ended = subprocess.run(
        [sys.executable, "-uc", PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    assert tracebacks(ended.stdout) == ["KeyError: 'key'", "ValueError: no number"]


def test_what_only_speaks_of_one_is_none() -> None:
    assert tracebacks("no command writes a Traceback\n") == []
