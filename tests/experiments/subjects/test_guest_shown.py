"""The steps of a guest by links, tabs and the way back, and that they can be done again."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.concurrency import run_in_threadpool

from experiments.designs.shop.design import ShopDesign
from experiments.records.record import RunFacts, TrialRecord
from experiments.records.store import Records
from tests.experiments.command_line import forked_souk
from tests.experiments.subjects.guest_place import SEEN, Place
from tests.experiments.subjects.test_guest_acts import Hand, carry_out, done, joined
from tests.experiments.viewer.made_run import sqlite

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("one_driver")]


@dataclass
class Kept:
    """A database with a guest's trials: one that bought, one that gave up."""

    folder: Path
    run: str
    bought: TrialRecord
    hand: Hand
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
    await hand.click("a.logo")
    await hand.page.wait_for_url("**shop.souk.test/")
    await hand.page.go_back()
    hand.did.append(("go_back", "/"))
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
async def kept(
    embedded_place: Place, acts: ShopDesign, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Kept]:
    folder = tmp_path_factory.mktemp("kept")
    first, hand = await carry_out(embedded_place, acts, buys)
    second, _ = await carry_out(embedded_place, acts, gives_up, nudged=False)
    records = Records(sqlite(folder))
    facts = replace(acts.facts(["tester"]), analysis=None, observe="page")
    records.begin_run(acts.run_id, acts.name, facts)
    records.save(first, second)
    records.close()
    yield Kept(folder, acts.run_id, first, hand, facts)


@pytest.mark.thorough
async def test_links_tabs_and_the_way_back_are_steps(kept: Kept) -> None:
    assert kept.bought.trial.outcome == "choice", kept.bought.trial.reason
    assert done(kept.bought) == joined(kept.hand.did)


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
