"""A trial that comes after others in one browser context is the same as one in a context of its own."""

from pathlib import Path

import pytest

from tests.journeys.chains import differences
from tests.support import size


@pytest.mark.browser
@pytest.mark.slow
async def test_a_trial_after_others_is_as_one_alone(tmp_path: Path) -> None:
    assert [each async for each in differences(tmp_path, size(12, 240))] == []
