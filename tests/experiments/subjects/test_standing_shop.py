"""A shop that stands still takes no time from a subject that Souk did not start."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.experiments.command_line import processes_with
from tests.experiments.subjects.test_guests import JSON, OWN, served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc"),
]

LIMIT = 9
"""The time limit of a trial, in seconds; a shop that stands for 12 is started anew."""


@pytest.mark.thorough
def test_a_guest_does_not_lose_the_time(tmp_path: Path) -> None:
    with (
        served(tmp_path, seconds=LIMIT) as shop,
        httpx.Client(proxy=shop.url, headers=JSON) as guest,
        ThreadPoolExecutor(1) as aside,
    ):
        processes = processes_with("SERVED_FROM", str(tmp_path)).items()
        [stopped] = [number for number, command in processes if "environments.shop" in command]
        trial = guest.post(f"{OWN}next").json()
        os.kill(stopped, signal.SIGSTOP)
        try:
            asked = aside.submit(guest.get, trial["urls"][0], headers={"accept": "text/html"}, timeout=60)
            with pytest.raises(TimeoutError):
                asked.result(timeout=LIMIT + 1)
        finally:
            os.kill(stopped, signal.SIGCONT)
        assert asked.result().status_code == 200
        guest.post(f"{OWN}end")
        assert shop.ended()["outcome"] == "no_choice"
