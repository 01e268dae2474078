"""A run that goes on is paused and resumed from its screen, which says what was spent and decided."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from rich.console import Console

from environments.browser import find_browser
from experiments.records.control import Runner, request_state
from experiments.records.store import Records
from experiments.runs import admission
from experiments.runs.experiment_run import ExperimentRun
from experiments.runs.stopping import sequence_line
from tests.experiments.runs.test_stopping import drawn_run, status_of
from tests.experiments.viewer.made_run import RUN, record, sqlite, stored, trial, viewing

pytestmark = pytest.mark.browser

HOTELS = """\
name: hotel-choices
task: card
mode: text
cards: hotels
design:
  conjoint:
    pool: hotels
    blocks: [{set_size: 2, sets: 2000, repeats: 2}]
"""


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(playwright))
        yield browser.new_page()
        browser.close()


def in_thread(experiment: ExperimentRun) -> threading.Thread:
    """A thread that will run it: this one has the browser's event loop."""
    return threading.Thread(target=lambda: asyncio.run(experiment.run(Console(quiet=True))))


@pytest.mark.slow
def test_a_person_pauses_a_run_and_lets_it_go_on(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "LOOK", 0.02)
    monkeypatch.setattr(admission, "BEAT", 1)
    (tmp_path / "x.yaml").write_text(HOTELS)
    url = sqlite(tmp_path)
    experiment = ExperimentRun(str(tmp_path / "x.yaml"), agents=None, limit=None, db=url, out=tmp_path)
    run = experiment.design.run_id
    running = in_thread(experiment)
    with viewing(Records(url), url) as address:
        running.start()
        while not experiment.records.finished(run) and running.is_alive():
            running.join(0.02)
        page.goto(f"{address}/runs/{run}")
        page.get_by_role("button", name="Pause").click()
        page.wait_for_url(f"{address}/runs/{run}")
        assert "paused" in page.locator("#progress").inner_text()
        expect(page.locator("#progress")).to_contain_text("0 running", timeout=20_000)  # by itself
        ended = len(experiment.records.finished(run))
        page.reload()
        assert len(experiment.records.finished(run)) == ended < 8_000, "nothing more starts"
        assert running.is_alive()
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        running.join()
        expect(page.locator("#control button")).to_have_count(0, timeout=20_000)
        assert page.locator("#progress").inner_text().startswith("finished")


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
        expect(said).to_contain_text("--budget 0.1: 0.04 USD are spent", timeout=20_000)
        expect(page.get_by_role("button", name="Pause")).to_have_count(0, timeout=20_000)
        request_state(records, RUN, "paused")
        page.reload()
        expect(page.locator("#control")).to_contain_text("the next souk run of it waits")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("#control button")).to_have_count(0)


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
