"""Generated ways of a page that moves and undoes its edit: no choice of a guest counts against the screen."""

import random
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.async_api import Error, Page

from experiments.episodes.guest_trial import Observe
from experiments.records.record import TrialRecord
from proxy.error_page import NOT_TREATED
from tests.experiments.foreign_shop import design, experiment
from tests.experiments.hostile_moves import PRESS, RESTS, Case, case
from tests.experiments.subjects.test_observed_guests import (
    JSON,
    NEXT,
    SEEN,
    Place,
    PolicyShop,
    place,
    site_in,
)
from tests.journeys.screen import is_on_screen
from tests.support import size

pytestmark = [pytest.mark.browser, pytest.mark.timeout(size(300, 1_800))]
__all__ = ["place"]

BUY = "#product-addtocart-button"


RESTED = f"""() => ({RESTS})() && (location.protocol !== "http:" || document.title === {NOT_TREATED!r} ||
  performance.getEntriesByType("resource").some(({{ name, startTime }}) => name.endsWith({SEEN!r}) &&
    startTime >= Number(document.documentElement.dataset.written ?? 0)))"""
"""Whether a page has told what stands on it too, since it has written itself anew, where it has.

What was never drawn is not told as in view.
"""


async def act(page: Page, deed: str, urls: list[str]) -> None:
    match deed:
        case "goto":
            await page.goto(urls[0])
        case "other":
            await page.goto(urls[1])
        case "back":
            with suppress(Error):  # a page of a page's own making is gone
                await page.go_back()
        case words:
            if await page.get_by_text(words, exact=True).count():
                await page.get_by_text(words, exact=True).click()


async def trial(place: Place, folder: Path, made: Case, observe: Observe) -> tuple[TrialRecord, bool]:
    """One trial, and whether the edit, and nothing old, was on the screen as the guest bought.

    The edit is one of the first product.
    """
    vars(place.shop).update(vars(PolicyShop(press=PRESS)) | made.shop)
    file = experiment(folder, place.shop, place.address, made.edits, site=site_in(folder))
    place.give(design(file), observe, nudged=True)
    async with place.browsers.context(place.slot.url) as context:
        urls = (await (await context.request.post(NEXT, headers=JSON)).json())["urls"]
        place.ended.clear()
        page = await context.new_page()
        for url in reversed(urls):
            await page.goto(url)
            await page.wait_for_function(RESTED)
        for deed in made.reader:
            await act(page, deed, urls)
            await page.wait_for_function(RESTED)
        shown = False
        if not place.ended and await page.locator(BUY).count():
            async with page.expect_response("**/cart/*"):
                await page.click(BUY)
            # Now, as the oracle blanks texts: reports of a trial that has ended are not read.
            shown = await is_on_screen(page, made.new) and not await is_on_screen(page, made.old)
        else:
            await context.request.post("http://souk.test/.souk/end", headers=JSON)
        (record,) = place.ended
        return record, shown


@pytest.mark.parametrize("observe", ["page", "viewport"])
async def test_no_choice_counts_that_the_screen_belies(
    observe: Observe, place: Place, tmp_path: Path
) -> None:
    rng, honest, wrong = random.Random(observe), 0, []
    for number in range(size(4, 100)):
        made = case(rng, honest=number % 2 == 0)
        record, shown = await trial(place, tmp_path, made, observe)
        counts = record.trial.outcome == "choice"
        edited = record.options[0]["option"] == record.trial.choice
        if (counts and edited and not shown) or (made.honest and shown and not counts):
            wrong.append((made.name, shown, record.trial.outcome, record.trial.reason))
        honest += made.honest and counts
    assert not wrong
    assert honest, "no choice on an honest page"
