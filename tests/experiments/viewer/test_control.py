"""A run that goes on is paused and resumed from its screen, which says what was spent and decided."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from rich.console import Console

from experiments.records.control import Runner, request_state, requested_state
from experiments.runs.stopping import sequence_line
from tests.experiments.runs.test_stopping import drawn_run, status_of
from tests.experiments.viewer.made_run import RUN, record, sqlite, stored, trial, viewing

pytestmark = pytest.mark.browser

PATIENCE = 60_000
"""Milliseconds within which a screen is renewed, also on a busy machine."""


def test_a_person_pauses_a_run(page: Page, tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    records = stored(url, [record(trial(number)) for number in range(4)])
    Runner(RUN, trials=16).begin(records)
    with viewing(records, url) as address:
        page.goto(f"{address}/runs/{RUN}")
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=PATIENCE)
        expect(page.locator("#progress")).to_contain_text("paused", timeout=PATIENCE)
        assert requested_state(records, RUN) == "paused"
        request_state(records, RUN, "running")  # souk resume, in a terminal
        expect(page.get_by_role("button", name="Pause")).to_be_visible(timeout=PATIENCE)


@pytest.mark.thorough
def test_the_screen_says_what_is_spent_of_the_budget(page: Page, tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    records = stored(url, [record(trial(number, cost=0.01)) for number in range(4)])
    process = Runner(RUN, trials=16, budget=0.10)
    process.begin(records)
    with viewing(records, url) as address:
        page.goto(f"{address}/runs/{RUN}")
        said = page.locator("#progress")
        expect(said).to_contain_text("4 of 16 trials")
        expect(said).to_contain_text("0.0400 of 0.1 USD spent, 0.0600 left")
        expect(said).to_contain_text("about 0.1600 at the end, more than the budget")
        names = [each.get_attribute("aria-label") for each in page.locator("svg.way").all()]
        assert names == ["trials: 25 %", "budget: 40 %"]
        process.reason = "--budget 0.1: 0.04 USD are spent"
        process.end(records)
        expect(said).to_contain_text("--budget 0.1: 0.04 USD are spent", timeout=PATIENCE)
        expect(page.get_by_role("button", name="Pause")).to_have_count(0, timeout=PATIENCE)
        request_state(records, RUN, "paused")
        page.reload()
        expect(page.locator("#control")).to_contain_text("the next souk run of it waits", timeout=PATIENCE)
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("#control button")).to_have_count(0, timeout=PATIENCE)


@pytest.mark.thorough
@pytest.mark.slow
def test_the_screen_says_what_the_rule_knows(page: Page, tmp_path: Path) -> None:
    run = drawn_run(tmp_path, "t.db", 60)
    with ThreadPoolExecutor(1) as aside:  # this thread has the browser's event loop
        aside.submit(asyncio.run, run.run(Console(quiet=True))).result()
    with viewing(run.records, sqlite(tmp_path)) as address:
        page.goto(f"{address}/runs/{run.design.run_id}")
        said = page.locator("#progress li").all_inner_texts()
    assert said == [sequence_line(each) for each in status_of(run).sequences]
    assert any("simulated:nudge-prone: stopped by its rule after" in line for line in said)
