"""A run that goes on is paused and resumed from its screen, which says what was spent and decided."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from rich.console import Console

from environments.browser.pool import find_browser
from experiments.records.control import Runner, request_state, requested_state, runners_of
from experiments.records.store import Records
from experiments.runs import admission
from experiments.runs.experiment_run import ExperimentRun
from experiments.runs.stopping import sequence_line
from tests.experiments.running import HOTELS
from tests.experiments.runs.test_stopping import drawn_run, status_of
from tests.experiments.viewer.made_run import RUN, record, sqlite, stored, trial, viewing

pytestmark = pytest.mark.browser

PATIENCE = 60_000
"""Milliseconds within which a screen is renewed, also on a busy machine."""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(playwright))
        yield browser.new_page()
        browser.close()


def in_thread(experiment: ExperimentRun) -> threading.Thread:
    """A thread that will run it: this one has the browser's event loop."""
    return threading.Thread(target=lambda: asyncio.run(experiment.run(Console(quiet=True))))


@pytest.mark.thorough
@pytest.mark.slow
def test_a_person_lets_a_paused_run_go_on(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "LOOK", 0.02)
    (tmp_path / "x.yaml").write_text(HOTELS)
    url = sqlite(tmp_path)
    experiment = ExperimentRun(str(tmp_path / "x.yaml"), agents=None, limit=None, db=url, out=tmp_path)
    run, running = experiment.design.run_id, in_thread(experiment)
    experiment.begin()
    request_state(experiment.records, run, "paused")
    running.start()
    while not runners_of(experiment.records, run) and running.is_alive():
        running.join(0.02)
    with viewing(Records(url), url) as address:
        page.goto(f"{address}/runs/{run}")
        expect(page.locator("#progress")).to_contain_text("0 of 16 trials", timeout=PATIENCE)
        page.get_by_role("button", name="Resume").click()
        running.join()
        expect(page.locator("#progress")).to_contain_text("finished", timeout=PATIENCE)  # by itself
        expect(page.locator("#control button")).to_have_count(0, timeout=PATIENCE)
    assert len(experiment.records.finished(run)) == 16


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
    running = in_thread(run)
    running.start()
    running.join()
    with viewing(run.records, sqlite(tmp_path)) as address:
        page.goto(f"{address}/runs/{run.design.run_id}")
        said = page.locator("#progress li").all_inner_texts()
    assert said == [sequence_line(each) for each in status_of(run).sequences]
    assert any("simulated:nudge-prone: stopped by its rule after" in line for line in said)
