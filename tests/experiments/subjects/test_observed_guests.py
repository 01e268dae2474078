"""What a guest was shown: the observer in its pages, in real Chromium through the real proxy."""

import asyncio
import gc
import time
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from playwright.async_api import Page

from experiments.episodes import guest_trial
from experiments.episodes.guest_trial import GuestTrial, Observe
from experiments.records.record import TrialRecord
from experiments.subjects.guests import TrialDispenser
from proxy.shown_page import ShownPage
from tests.experiments.foreign_shop import NUDGE, ForeignShop, design, experiment
from tests.experiments.subjects.guest_place import BUY, SEEN, Place, at_leisure, both, give_foreign
from tests.experiments.treatment.test_layers import LAYER
from tests.support import usual

pytestmark = pytest.mark.browser

REPORTED = """([end, since]) => performance.getEntriesByType('resource')
  .some(({ name, startTime }) => name.endsWith(end) && startTime > since)"""
DEEP = "document.querySelector('#description').style.marginTop = '3000px'"
BELOW: list[Any] = [{"insert_text": {"after": "product.description", "text": NUDGE}}]
CHEAPER: list[Any] = [{"set_price": 9.5}]

Visit = Callable[[Page, list[str]], Awaitable[None]]


async def home_first(page: Page, urls: list[str]) -> None:
    async with page.expect_request(f"**{SEEN}"):
        await page.goto(urljoin(urls[0], "/"))
    await both(page, urls)


async def to_the_bottom(page: Page, urls: list[str]) -> None:
    await both(page, urls)
    await page.wait_for_function(REPORTED, arg=[SEEN, 0])  # what stood at the top was seen there
    scroll = "(each) => { each.nextElementSibling.scrollIntoView(); return performance.now(); }"
    since = await page.locator("#description").evaluate(scroll)
    await page.wait_for_function(REPORTED, arg=[SEEN, since])


async def carry_out(
    place: Place, folder: Path, observe: Observe = "page", visit: Visit = both, **how: Any
) -> TrialRecord:
    """One trial by a visitor; the last page on which they are has a button that buys."""
    give_foreign(place, folder, observe, **how)
    async with place.browsers.context(place.slot.url) as context:
        urls, page = await place.begin(context), await context.new_page()
        await visit(page, urls)
        async with page.expect_response("**/cart/*"):
            await page.click(BUY)
    return place.record


POLICY = "default-src 'self'; script-src 'self' 'unsafe-inline'; connect-src 'none'"
HIDING = "<style>[class$=-details] { opacity: 0 }</style>"
REMOVES = "document.querySelector('[class$=-details]')?.remove()"
MORE = "document.querySelector('#more')"
COVER = (
    "document.body.insertAdjacentHTML('beforeend', "
    "'<div style=\"position:fixed;inset:0;background:white;pointer-events:none\"></div>')"
)
CARD = '<li class="product-item"><a class="product-item-link" href="/{0}.html">{0}</a></li>'
LIST = f"<ol>{CARD.format('cedar-reading-lamp')}{CARD.format('harbour-desk-lamp')}</ol>"
PRICED = LIST.replace("</a>", '</a><span class="price-wrapper" data-price-type="finalPrice">$19.99</span>')
PRICED = PRICED.replace("$19.99", '<span class="price">$19.99</span>')
DEAR = "each.textContent = '$19.99';"
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "honest": ({}, ""),
    "under a strict policy": ({"policy": POLICY, "observe": "viewport"}, ""),
    "hidden": ({"head": HIDING}, "the agent was not shown what insert_text made of product.title"),
    "hidden, not observed": ({"head": HIDING, "observe": "off"}, ""),
    "taken away": ({"script": REMOVES}, "insert_text is gone"),
    "below the fold, of the page": ({"script": DEEP, "edits": BELOW}, ""),
    "below the fold": (
        {"script": DEEP, "edits": BELOW, "observe": "viewport"},
        "the agent was not shown what insert_text made of product.description",
    ),
    "below the fold, scrolled to": (
        {"script": DEEP, "edits": BELOW, "observe": "viewport", "visit": to_the_bottom},
        "",
    ),
    "the old price beside": (
        {"edits": CHEAPER, "script": "document.querySelector('#more').textContent = 'Was $19.99'"},
        "the agent was shown the old price too",
    ),
    "the old price by style": (
        {"edits": CHEAPER, "head": "<style>#more::after { content: 'Was $19.99' }</style>"},
        "the agent was shown the old price too",
    ),
    "the old price in a field": (
        {"edits": CHEAPER, "script": f"{MORE}.innerHTML = '<input value=\"$19.99\">'"},
        "the agent was shown the old price too",
    ),
    "covered, takes no pointer": (
        {"script": COVER, "observe": "viewport"},
        "the agent was not shown what insert_text made of product.title",
    ),
    "covered, of the page": ({"script": COVER}, ""),
    "a list put back": (
        {
            "edits": [{"reorder": {"rank": 1}}],
            "extra": LIST,
            "script": "document.querySelector('ol').style = 'display: flex; flex-direction: column-reverse'",
        },
        "reorder is gone",
    ),
    "cards": ({"edits": CHEAPER, "extra": PRICED}, ""),
    "the old price in a card": (
        {
            "edits": CHEAPER,
            "extra": PRICED,
            "script": f"document.querySelectorAll('li .price').forEach((each) => {{ {DEAR} }})",
        },
        'shows "$19.99" in the item of',
    ),
    "the old price in a card of the home page": (
        {
            "edits": CHEAPER,
            "visit": home_first,
            "home": f"<title>Home</title>{PRICED}<script>document.querySelectorAll('li .price').forEach("
            f"(each) => {{ {DEAR} }})</script>",
        },
        'shows "$19.99" in the item of',
    ),
    "the home page": ({"edits": CHEAPER, "visit": home_first, "home": f"<title>Home</title>{PRICED}"}, ""),
    "a list": ({"edits": [{"reorder": {"rank": 1}}], "extra": LIST}, ""),
    "the old price hidden": (
        {
            "edits": CHEAPER,
            "script": "const more = document.querySelector('#more'); more.textContent = '$19.99'; "
            "more.hidden = true",
        },
        "",
    ),
}


@pytest.mark.thorough
async def test_a_layer_that_the_map_names_is_taken_away(place: Place, tmp_path: Path) -> None:
    layer = LAYER.replace("160px", "100%")
    record = await carry_out(place, tmp_path, "viewport", script=layer)
    assert record.trial.outcome == "choice", record.trial.reason


@pytest.mark.parametrize("case", usual(CASES, 10))
async def test_a_guest_has_to_be_shown_what_is_planned(case: str, place: Place, tmp_path: Path) -> None:
    how, reason = CASES[case]
    record = await carry_out(place, tmp_path, **how)
    assert reason in record.trial.reason
    assert record.trial.outcome == ("treatment_failed" if reason else "choice"), record.trial.reason
    if how.get("observe") == "off":
        assert record.on_screen == []
        assert not [each for each in record.receipts if each["edit"] == "observer"]
        return
    why = {each["why"] for each in record.on_screen if each["intervention"] == "praised"}
    if "gone" in reason or case == "a list":
        assert why == set()
    else:
        assert ("" in why) == ("not shown" not in reason)


async def test_the_control_has_the_same_bytes(place: Place, tmp_path: Path) -> None:
    records = [await carry_out(place, tmp_path, nudged=nudged) for nudged in (True, False)]
    assert [each.trial.outcome for each in records] == ["choice", "choice"]
    scripts = [{r["after"] for r in each.receipts if r["edit"] == "observer"} for each in records]
    assert scripts[0] == scripts[1]
    assert len(scripts[0]) == 1


@pytest.mark.thorough
async def test_what_was_opened_is_counted(place: Place, tmp_path: Path) -> None:
    async def again(page: Page, urls: list[str]) -> None:
        await both(page, urls)
        await page.reload()

    async def only_the_first(page: Page, urls: list[str]) -> None:
        await page.goto(urls[0])

    for visit, opened in ((only_the_first, [1, 0]), (both, [1, 1]), (again, [2, 1])):
        record = await carry_out(place, tmp_path, visit=visit)
        assert [row["opened"] for row in record.options] == opened


@pytest.mark.parametrize(("observe", "outcome"), [("page", "choice"), ("viewport", "treatment_failed")])
async def test_a_program_that_runs_no_scripts_sees_the_page_and_no_viewport(
    observe: Observe, outcome: str, place: Place, tmp_path: Path
) -> None:
    for nudged in (True, False):
        give_foreign(place, tmp_path, observe, nudged=nudged)
        async with place.program() as (client, urls):
            assert (await client.get(urls[0])).status_code == 200
            key = urls[0].split("/")[-1].removesuffix(".html")
            await client.post(f"http://shop.souk.test/cart/{key}")
        assert place.record.trial.outcome == outcome
        assert [row["opened"] for row in place.record.options] == [1, 0]
        if outcome != "choice":
            assert place.record.trial.reason == f"no page has reported what was in view of {key}"


LIES = [
    "",
    "{}",
    '{"acts":[],"visit":0,"now":0}',
    '{"at": "/", "age": 0, "own": "", "found": [7]}',
    "[" * 100_000,
]


@pytest.mark.parametrize("number", range(len(LIES)))
async def test_a_report_that_no_observer_makes_fails_the_trial(
    number: int, place: Place, tmp_path: Path
) -> None:
    give_foreign(place, tmp_path)
    async with place.program() as (client, urls):
        await client.get(urls[0])
        sent = await client.post(f"http://shop.souk.test{SEEN}", content=LIES[number])
        assert sent.status_code == 204
        await client.get(urls[0])
    assert [each.trial.outcome for each in place.ended] == ["treatment_failed"]


def welcomed(folder: Path, seconds: int) -> GuestTrial:
    """A guest of a trial with this limit, without a browser."""
    made = design(experiment(folder, ForeignShop(), "http://shop.test/", limits={"seconds": seconds}))
    trials = made.trials(["tester"])
    dispenser = TrialDispenser(
        made, trials, "http://shop.test/", lambda _: None, lambda _: True, reverse=True
    )
    guest = dispenser.welcome()
    assert guest is not None
    return guest


async def test_nothing_holds_a_trial_that_has_ended(tmp_path: Path) -> None:
    """Neither a timer nor the pages that came: guests may be many, and stay for days."""
    trial = welcomed(tmp_path, 86_400)
    trial.session.note_page(ShownPage("http://shop.test/", "text/html", b"<p>A lamp", None))
    trial.gave_up()
    assert (trial.outcome, trial.session.pages) == ("no_choice", [])
    left = weakref.ref(trial)
    del trial
    for _ in range(3):
        await asyncio.sleep(0)  # turns of the loop, in which what was cancelled ends
    gc.collect()
    assert left() is None


async def test_time_runs_out_but_not_while_the_shop_stands_still(tmp_path: Path) -> None:
    trial = welcomed(tmp_path, 1)
    trial.session.asked["a page"] = time.monotonic() - 3
    running: Any = trial.timers[-1]
    await asyncio.wait([running], timeout=2)
    assert trial.outcome == ""
    trial.session.asked.clear()
    await asyncio.wait([running])
    assert trial.outcome == "agent_limit"


async def test_reports_that_are_too_large_together_fail_the_trial(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest_trial, "MAX_REPORT_BYTES", 10)
    record = await carry_out(place, tmp_path, visit=at_leisure)
    assert record.trial.outcome == "treatment_failed"
    assert "the page does not come to rest" in record.trial.reason


async def test_a_tab_of_an_earlier_trial_says_nothing(place: Place, tmp_path: Path) -> None:
    """Its page carries no nudge, or another one."""
    give_foreign(place, tmp_path, nudged=False)
    async with place.browsers.context(place.slot.url) as context:
        urls, left = await place.begin(context), await context.new_page()
        await left.goto(urls[0])
        give_foreign(place, tmp_path)
        urls, page = await place.begin(context), await context.new_page()
        await both(page, urls)
        async with left.expect_request(f"**{SEEN}"):
            await left.evaluate("document.querySelector('.base').textContent = 'Another'")
        async with page.expect_response("**/cart/*"):
            await page.click(BUY)
    assert place.record.trial.outcome == "choice", place.record.trial.reason
