"""Generated ways of a page that moves and undoes its edit: no choice of a guest counts against the screen.

Then the attacks on every kind of edit, in the shop of those on pages that Souk's own agents see.
"""

import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import yaml
from playwright.async_api import BrowserContext, Error, Page

from experiments.episodes.guest_trial import Observe
from experiments.records.record import TrialRecord
from proxy.error_page import NOT_TREATED
from tests.experiments.foreign_shop import KEYS, NAMES
from tests.experiments.hostile_moves import PRESS, RESTS, Case, case
from tests.experiments.subjects.guest_place import BUY, END, JSON, SEEN, Place, give_foreign
from tests.journeys.screen import is_on_screen, is_read
from tests.journeys.test_hostile_pages import ATTACKS, KINDS, PAGE, Kind, attack, happen
from tests.journeys.test_hostile_pages import SITE as BOUTIQUE
from tests.support import size

pytestmark = [pytest.mark.browser, pytest.mark.timeout(size(300, 1_800))]

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


@asynccontextmanager
async def begun(place: Place) -> AsyncIterator[tuple[BrowserContext, Page, list[str]]]:
    """A trial whose guest has opened both products' pages in one tab, the first one last."""
    async with place.browsers.context(place.slot.url) as context:
        urls, page = await place.begin(context), await context.new_page()
        for url in reversed(urls):
            await page.goto(url)
            await page.wait_for_function(RESTED)
        yield context, page, urls


async def trial(place: Place, folder: Path, made: Case, observe: Observe) -> tuple[TrialRecord, bool]:
    """One trial, and whether the edit, and nothing old, was on the screen as the guest bought.

    The edit is one of the first product.
    """
    give_foreign(place, folder, observe, edits=made.edits, **{"press": PRESS, **made.shop})
    async with begun(place) as (context, page, urls):
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
            await context.request.post(END, headers=JSON)
        return place.record, shown


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


# What an observer does not read, as docs/any-agent.md says; a whole page may be read under what covers it.
UNREAD = re.compile("sandbox|closed|frame|drawing|tree|cover by style|cover from within")
ONLY_PAINTED = re.compile(
    "color: (?:transparent|white)|clip|mask|filter|blend|text-(?:fill|indent|stroke)|<div inert"
)
"""Ways to hide a text that pixels tell alone, of which a guest's browser sends none."""
COVERS = re.compile("cover")
MAP = BOUTIQUE.model_dump(mode="json", exclude_defaults=True, exclude={"query"})
MAP |= {"choice": {"request": {"path": "/cart/(.+)"}}}
BUTTON = f"<button id={BUY[1:]} onclick=\"fetch('/cart/KEY', {{{{method: 'POST'}}}})\">Buy</button>"
SHOP = PAGE.replace(NAMES[KEYS[0]], "NAME").replace("<aside", f"{BUTTON}<aside")


def is_visible(kind: Kind) -> bool:
    """Whether the screen shows an edit of this kind, not only the HTML."""
    return any(view.screenshot for view in kind.views)


async def shows(page: Page, kind: Kind, text: str, observe: Observe) -> bool:
    """Whether a guest could be shown a text: on the screen, or in the HTML where no screen shows it."""
    if is_visible(kind):
        return await is_on_screen(page, text, whole=observe == "page")
    return is_read(await page.locator("#fiche").evaluate("(each) => each.outerHTML"), text)


async def attacked(
    place: Place, folder: Path, kind: Kind, script: str, when: str, observe: Observe
) -> tuple[TrialRecord, bool]:
    """One trial in which the page of the first product attacks its edit.

    Returns its record, and whether the edit was shown before that or after it, and nothing old was.
    """
    markup = SHOP.format(script=f"if ('KEY' === '{KEYS[0]}') {{ {script} }}")
    give_foreign(place, folder, observe, edits=[kind.edit], site=yaml.safe_dump(MAP), markup=markup)
    async with begun(place) as (_, page, _):
        new, old = [], []
        for last in (False, True):
            if last:
                await happen(page, when)
            for text, found in ((kind.new, new), (kind.old, old)):
                found.append(bool(text) and await shows(page, kind, text, observe))
        async with page.expect_response("**/cart/*"):
            await page.evaluate(f"document.querySelector('{BUY}').click()")
        return place.record, (any(new) or not kind.new) and not any(old)


@pytest.mark.thorough
@pytest.mark.parametrize("observe", ["page", "viewport"])
async def test_no_choice_counts_whatever_is_done_to_edits_of_any_kind(
    observe: Observe, place: Place, tmp_path: Path
) -> None:
    rng, wrong = random.Random(observe), []
    kinds = [kind for kind in KINDS.values() if observe == "page" or is_visible(kind)]
    attacks = {
        name: code
        for name, code in ATTACKS.items()
        if not UNREAD.search(name) and not (observe == "page" and COVERS.search(name))
    }
    for number in range(size(4, 100)):
        honest, kind = number % 4 == 0, rng.choice(kinds)
        name, script, when = attack(kind, rng, rng.choice(["harmless", "nothing"]) if honest else "", attacks)
        if not honest and ONLY_PAINTED.search(script):
            continue
        record, shown = await attacked(place, tmp_path, kind, script, when, observe)
        counts = record.trial.outcome == "choice"
        if (counts and not shown) or (honest and not counts):
            wrong.append((str(kind.edit), name, shown, record.trial.outcome, record.trial.reason))
    assert not wrong
