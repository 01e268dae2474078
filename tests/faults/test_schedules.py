"""Some schedules of the laboratory of faults; `make faults` carries out hundreds."""

from pathlib import Path

import pytest

from tests.faults.kinds import KINDS
from tests.faults.schedules import Schedule, carry_out
from tests.support import size

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc"),
]

QUICK = tuple(kind for kind in KINDS if "17 s" not in kind and "ever" not in kind and "while" not in kind)


@pytest.mark.parametrize("seed", range(size(1, 12)))
def test_no_fault_changes_what_is_found(seed: int) -> None:
    report = carry_out(Schedule.of(seed, QUICK))
    assert not report.broken, f"{report.schedule}\n{report.said}"
