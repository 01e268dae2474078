"""The screen of interventions: a page with each and the same one without it, counts, links to trials."""

import html
from pathlib import Path

import pytest
from playwright.sync_api import Page

from experiments.records.record import TrialRecord
from experiments.viewer.recorded_page import frame
from tests.experiments.viewer.made_run import PAGE, RUN, record, sqlite, stored, trial, viewing
from tests.experiments.viewer.test_readable import FAINT, NAMELESS, WIDE

WITHOUT = PAGE.replace("<h2>Best of all lamps</h2>", "")
HOSTILE = "<script>top.ran=1</script><img src=x onerror=top.ran=1>"


def made() -> list[TrialRecord]:
    """Eight trials: four controls without receipts, and their twins, of which two chose lamp 1."""
    found = [record(trial(number), WITHOUT) for number in range(0, 8, 2)]
    for each in found:
        each.receipts.clear()
    chosen = {1: "lamp-1", 5: "lamp-1"}
    found += [record(trial(number, choice=chosen.get(number, "lamp-2"))) for number in range(1, 8, 2)]
    price = found[-1].receipts[0] | {"number": 1, "intervention": HOSTILE, "before": "20", "after": HOSTILE}
    found[-1].receipts.append(price)
    return found


@pytest.mark.browser
def test_an_intervention_is_shown_beside_the_page_without_it(page: Page, tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    with viewing(stored(url, made()), url) as address:
        page.goto(f"{address}/runs/{RUN}")
        page.get_by_text("Interventions", exact=True).click()
        part = page.get_by_role("region", name="best", exact=True)
        assert "4 trials, nudged: in 2 of 4 choices the treated option was chosen." in part.inner_text()
        assert "in 2 of 4 pairs it flipped the choice toward" in part.inner_text()
        part.locator("iframe").first.scroll_into_view_if_needed()
        before, after = (part.frame_locator("iframe").nth(place) for place in (0, 1))
        after.locator(".souk-edited", has_text="Best of all lamps").wait_for()
        before.get_by_text("A lamp").wait_for()
        assert before.get_by_text("Best of all lamps").count() == 0
        assert part.get_by_role("region").get_by_role("row").nth(1).locator("td").all_inner_texts() == [
            "insert_text", "product.title", "product", "4", "4", "4",
        ]  # fmt: skip
        other = page.get_by_role("region", name=HOSTILE, exact=True)
        assert "No stored page of this trial shows its text." in other.inner_text()
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            assert not page.evaluate(WIDE) and page.evaluate(NAMELESS) == [] and page.evaluate(FAINT) == []
        assert page.evaluate("typeof ran") == "undefined"
        part.get_by_text("4 trials").click()
        page.wait_for_url("**/trials?condition=nudged&nudge=best")
        assert page.locator("h1").inner_text() == "4 trials"


@pytest.mark.browser
def test_a_run_without_receipts_says_so(page: Page, tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    with viewing(stored(url, made()[:4]), url) as address:
        page.goto(f"{address}/runs/{RUN}/interventions")
        assert "there are no receipts" in page.locator("main").inner_text()


@pytest.mark.browser
@pytest.mark.parametrize("acted", ["", "b"])
def test_a_frame_begins_where_something_is_marked(page: Page, acted: str) -> None:
    """Without scripts; of two marks, at the first."""
    lines = "<p>a line</p>" * 100
    shown = f'{lines}<button bid="b">Buy</button>{lines}<p>Best of all</p>{lines}<p>Best of all</p>'
    document = html.escape(frame(shown, ["Best of all"], acted))
    page.set_content(f'<iframe sandbox srcdoc="{document}" style="height: 300px"></iframe>')
    first = page.frame_locator("iframe").locator(".souk-acted" if acted else ".souk-edited").first
    first.wait_for()
    assert 0 < first.evaluate("element => element.getBoundingClientRect().top") < 200
