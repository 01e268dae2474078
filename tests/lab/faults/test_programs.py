"""Some trials of programs that go wrong; `python -m tests.lab.faults.programs` runs thousands."""

from pathlib import Path

import pytest

from tests.lab.faults.programs import WHAT, carry_out
from tests.lab.faults.wild_program import WAYS
from tests.support import size

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc"),
]
SECONDS = 30
"""Of a trial: enough where much else runs, as each that does not hang has to end before."""


@pytest.mark.thorough
def test_each_trial_once_with_a_true_outcome() -> None:
    report = carry_out(size(16, 1_000), seed=0, slots=4, limit=SECONDS)
    assert report.broken == []
    assert sum(report.done.values()) == size(16, 1_000)


@pytest.mark.thorough
def test_every_way() -> None:
    report = carry_out(1, seed=1, workers=1, limit=SECONDS, ways=tuple(WAYS))
    assert report.broken == []
    assert {way for way, _ in report.done} == WAYS.keys() == WHAT.keys()
