"""The steps of a guest are shown, exported and done again: a real trial, in the viewer and by commands."""

import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.concurrency import run_in_threadpool

from environments.browser.pool import run_browsers
from experiments.records.record import RunFacts, TrialRecord
from experiments.records.store import Records
from tests.experiments.command_line import forked_souk
from tests.experiments.subjects.test_guest_acts import SEEN, Hand, Place, done, made, place
from tests.experiments.viewer.made_run import sqlite, viewing
from tests.experiments.viewer.test_readable import FAINT, NAMELESS, WIDE

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_driver")]
__all__ = ["made", "place"]

PICTURES = os.environ.get("SOUK_PICTURES")
"""A folder for pictures of the screens, to be looked at; usually none are taken."""


@dataclass
class Kept:
    """A database with a guest's trials: one that bought, one that gave up."""

    folder: Path
    run: str
    bought: TrialRecord
    facts: RunFacts

    @property
    def db(self) -> str:
        return sqlite(self.folder)

    async def souk(self, *arguments: str) -> Any:
        return await run_in_threadpool(forked_souk, *arguments, "--db", self.db, cwd=self.folder)


async def buys(hand: Hand, urls: list[str]) -> None:
    await hand.open(urls[0])
    await hand.scroll(250)
    await hand.click(".product-info-main .price")
    await hand.open(urls[1])
    await hand.page.keyboard.press("Tab")
    await hand.scroll(200)
    hand.focus(0)
    await hand.go_to(urls[1])
    async with hand.context.expect_page() as opened:
        await hand.click("a.logo", "middle")
    async with (await opened.value).expect_request(f"**{SEEN}"):
        pass
    hand.note("tab_focus", 2)
    hand.did.append(("tab_focus", "/", 0))
    await hand.buy()


async def gives_up(hand: Hand, urls: list[str]) -> None:
    await hand.open(urls[1])
    await hand.scroll(250)


@pytest.fixture(scope="module")
async def kept(place: Place, made: Any, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Kept]:
    folder = tmp_path_factory.mktemp("kept")
    first = await place.trial(made, buys)
    second = await place.trial(made, gives_up, nudged=False)
    records = Records(sqlite(folder))
    facts = replace(made.facts(["tester"]), analysis=None, observe="page")
    records.begin_run(made.run_id, made.name, facts)
    records.save(first, second)
    records.close()
    yield Kept(folder, made.run_id, first, facts)


@pytest.mark.thorough
@pytest.mark.parametrize("width", [1280, 400])
async def test_the_viewer_shows_what_a_guest_did(width: int, kept: Kept) -> None:
    record = kept.bought
    assert record.trial.outcome == "choice", record.trial.reason
    records = Records(kept.db)
    async with run_browsers() as browsers, browsers.context(None) as context:
        page = await context.new_page()
        await page.set_viewport_size({"width": width, "height": 900})
        with viewing(records, kept.db) as address:
            await page.goto(f"{address}/runs/{kept.run}/trials/{record.trial.trial}")
            assert "At the point" in await page.inner_text("main")
            assert "Add to Cart" in await page.inner_text(".film")
            shown = await page.locator(".film li").all_inner_texts()
            assert len(shown) == len(record.steps)
            for row, text in zip(record.steps, shown, strict=True):
                assert (row["action"].partition("(")[0] or "end") in text
            for number in (None, 0, 1, 2):
                if number is not None:
                    await page.goto(f"{address}/runs/{kept.run}/trials/{record.trial.trial}/{number}")
                for script in (FAINT, NAMELESS, WIDE):
                    assert not await page.evaluate(script), (number, script)
                assert "what was done on it is not known" not in await page.inner_text("main")
                frame = page.frame_locator("iframe.page").first
                assert await frame.locator("h1").count() or await frame.locator("body").inner_text()
                if PICTURES:
                    await page.screenshot(path=f"{PICTURES}/guest-{width}-{number}.png", full_page=True)
            await page.goto(f"{address}/runs/{kept.run}/trials")
            row = page.locator("tr").filter(has=page.locator(f"a[href*='{record.trial.trial}']"))
            assert str(record.trial.steps) in (await row.inner_text()).split()
    records.close()


@pytest.mark.thorough
async def test_a_guests_trial_is_done_again(kept: Kept) -> None:
    ended = await kept.souk("replay", kept.run)
    assert (ended.status, ended.out) == (0, "2 of 2 episodes are the same\n"), (ended.out, ended.err)


@pytest.mark.thorough
async def test_a_click_that_hits_something_else_is_told(kept: Kept, tmp_path: Path) -> None:
    records = Records(sqlite(tmp_path))
    other = [{**hit, "text": "Buy now"} if hit["text"] == "Add to Cart" else hit for hit in kept.bought.hits]
    records.begin_run(kept.run, "acts", kept.facts)
    records.save(replace(kept.bought, hits=other))
    records.close()
    ended = await replace(kept, folder=tmp_path).souk("replay", kept.run, "--json")
    (difference,) = json.loads(ended.out)["differences"]
    step = kept.bought.hits[-1]["step"]
    assert (ended.status, difference["step"]) == (1, step), difference
    assert "Add to Cart" in difference["what"]
    assert "Buy now" in difference["what"]


async def test_exports_have_the_steps(kept: Kept) -> None:
    trial = kept.bought.trial.trial
    acts = [row["action"] for row in kept.bought.steps if row["action"]]
    for form, name in (("otlp", "t.jsonl"), ("playwright", "t.zip"), ("har", "t.har")):
        ended = await kept.souk("export", kept.run, "--trace", form, "--trial", trial, "--out", name)
        assert ended.status == 0, ended.err
    spans = json.loads((kept.folder / "t.jsonl").read_text().splitlines()[0])
    told = [
        attribute["value"]["stringValue"]
        for span in spans["resourceSpans"][0]["scopeSpans"][0]["spans"]
        for attribute in span["attributes"]
        if attribute["key"] == "souk.action"
    ]
    assert told == acts
    assert len(done(kept.bought)) <= len(acts)
    pages = json.loads((kept.folder / "t.har").read_text())["log"]["pages"]
    assert len(pages) >= 3
