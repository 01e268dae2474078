"""Some schedules of the laboratory of faults; `make faults` carries out hundreds."""

from functools import cache
from pathlib import Path

import pytest

from tests.lab.faults.kinds import KINDS
from tests.lab.faults.schedules import Schedule, carry_out, undisturbed
from tests.lab.faults.world import Contents
from tests.support import size

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc"),
]

QUICK = tuple(kind for kind in KINDS if "17 s" not in kind and "ever" not in kind and "while" not in kind)


SECONDS = 60
"""The time limit of a trial: of these faults none lasts, so on a busy machine none needs to reach it."""


@cache
def calm(study: str) -> Contents:
    return undisturbed(study, SECONDS)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 1 + size(1, 12)))
def test_no_fault_changes_what_is_found(seed: int) -> None:
    schedule = Schedule.of(seed, QUICK)
    report = carry_out(schedule, calm(schedule.study), SECONDS)
    assert not report.broken, f"{report.schedule}\n{report.said}"
