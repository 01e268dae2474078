"""Guests in shops that scripts draw: a choice counts only where a reader in the browser saw the edits."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext

from experiments.records.record import TrialRecord
from proxy.error_page import NOT_TREATED
from tests.experiments.drawn_shop import (
    EDITS,
    KINDS,
    NUDGE,
    READ,
    SITE,
    STORY,
    UNDONE,
    Glance,
    experiment,
)
from tests.experiments.foreign_shop import design
from tests.experiments.subjects.guest_place import END, JSON, NEXT, Place
from tests.support import usual

pytestmark = pytest.mark.browser

Rows = Iterable[Mapping[str, Any]]
AT_EACH_FRAME = f"""self.atEachFrame = [];
  const look = () => {{
    if (document.body) atEachFrame.push(({READ})()[1]);
    requestAnimationFrame(look);
  }};
  look();"""
SETTLED = """([failed, waits]) => document.title === failed || !waits ||
  (document.querySelector("a-lamp")?.shadowRoot ?? document).querySelector("p.story")"""


async def carry_out(
    place: Place, folder: Path, kind: str, site: dict[str, Any] = SITE
) -> tuple[TrialRecord, list[Glance]]:
    """One trial of a guest that opens both products and buys the first; what the reader saw."""
    place.shop.kind = kind
    made = design(experiment(folder, place.address, site, EDITS))
    trials = made.trials(["tester"])
    place.give(made, next(trial for trial in trials if trial.carrier == "harbour-lamp"))
    place.ended.clear()
    async with place.browsers.context(place.slot.url) as context:
        glances = await shop_around(context, kind != "never drawn")
    return place.record, glances


async def shop_around(context: BrowserContext, drawn: bool) -> list[Glance]:
    """Open the products one after the other, and buy the last; what the reader saw of each.

    `drawn`: whether every page is drawn in the end, else only one that cannot be shown is waited for.
    """
    told = await (await context.request.post(NEXT, headers=JSON)).json()
    page, glances = await context.new_page(), list[Glance]()
    await page.add_init_script(AT_EACH_FRAME)
    for url in reversed(told["urls"]):
        await page.goto(url)
        await page.wait_for_function(SETTLED, arg=[NOT_TREATED, drawn or url == told["urls"][0]])
        path, text = await page.evaluate(READ)
        glances.append(Glance(path.rpartition("/")[2], text, await page.evaluate("self.atEachFrame ?? []")))
    if await page.title() != NOT_TREATED and await page.locator("button.buy").count():
        async with page.expect_response("**/api/cart"):
            await page.locator("button.buy").click()
    await context.request.post(END, headers=JSON)
    return glances


def is_as_seen(kind: str, row: Mapping[str, Any], receipts: Rows, glances: list[Glance]) -> bool:
    """Whether a trial that carries the nudge for the last product counts as what its reader saw says."""
    if kind in UNDONE:
        return bool(row["outcome"] == "treatment_failed")
    made = {(each["edit"], each["product"]) for each in receipts if each["intervention"]}
    other, bought = glances
    return (
        (row["outcome"], row["choice"]) == ("choice", "harbour-lamp")
        and made == {(name, "harbour-lamp") for edit in EDITS for name in edit}
        and bought.is_treated("1,299")
        and "In stock" in other.text
        and NUDGE not in other.text
    )


@pytest.mark.thorough
@pytest.mark.parametrize("kind", dict.fromkeys([*usual(KINDS, 8), "a page within"]))
async def test_a_choice_counts_only_where_the_edits_were_seen(
    kind: str, drawn_place: Place, tmp_path: Path
) -> None:
    record, glances = await carry_out(drawn_place, tmp_path, kind)
    assert is_as_seen(kind, asdict(record.trial), record.receipts, glances), (record.trial, glances)
    if kind not in UNDONE:
        assert glances[1].frames
        for shown in glances[1].frames:
            assert not any(old in shown for old in ("$1,299.00", "In stock", STORY)), shown


async def test_a_place_may_be_known_by_a_text_that_it_holds(drawn_place: Place, tmp_path: Path) -> None:
    roles = SITE["roles"] | {"product.title": 'h1:lexbor-contains("Lamp")'}
    record, glances = await carry_out(drawn_place, tmp_path, next(iter(KINDS)), site=SITE | {"roles": roles})
    assert record.trial.outcome == "choice", record.trial.reason
    assert [NUDGE in glance.text for glance in glances] == [False, True]
