"""Guests in shops that scripts draw: a choice counts only where a reader in the browser saw the edits."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, async_playwright
from starlette.concurrency import run_in_threadpool

from environments.browser.pool import BrowserPool, find_browser, run_browsers
from experiments.designs.shop.design import ShopDesign
from experiments.episodes.guest_trial import GuestTrial, Observe, Scripts
from experiments.records.record import TrialRecord
from experiments.subjects.guests import TrialDispenser
from interventions.yaml.yaml_source import parse_yaml
from proxy.error_page import NOT_TREATED
from proxy.guests import Guests
from proxy.reverse import Origin
from proxy.server import Slot, run_proxy
from tests.experiments.drawn_shop import (
    EDITS,
    KINDS,
    NUDGE,
    READ,
    SITE,
    STORY,
    UNDONE,
    DrawnShop,
    Glance,
    experiment,
)
from tests.experiments.subjects.test_guests import JSON, beside, served
from tests.support import serve, size, usual

pytestmark = pytest.mark.browser

NEXT, END, SEEN = "http://souk.test/.souk/next", "http://souk.test/.souk/end", "/.souk/seen/here"
AT_EACH_FRAME = f"""self.atEachFrame = [];
  const look = () => {{
    if (document.body) atEachFrame.push(({READ})()[1]);
    requestAnimationFrame(look);
  }};
  look();"""
SETTLED = """([failed, waits]) => document.title === failed || !waits ||
  (document.querySelector("a-lamp")?.shadowRoot ?? document).querySelector("p.story")"""


class Place:
    """A shop that scripts draw, a proxy and a browser; one trial at a time."""

    def __init__(self, shop: DrawnShop, address: str, slot: Slot, browsers: BrowserPool) -> None:
        self.shop, self.address, self.slot, self.browsers = shop, address, slot, browsers
        self.dispenser: list[TrialDispenser] = []
        self.ended: list[TrialRecord] = []

    def welcome(self) -> GuestTrial | None:
        return self.dispenser[0].welcome()

    async def trial(
        self,
        folder: Path,
        kind: str,
        *,
        carrier: str | None = "harbour-lamp",
        observe: Observe = "page",
        site: dict[str, Any] = SITE,
    ) -> tuple[TrialRecord, list[Glance]]:
        """One trial of a guest that opens both products and buys the first; what the reader saw."""
        self.shop.kind = kind
        self.ended.clear()
        file = experiment(folder, self.address, site, EDITS)
        made = ShopDesign(parse_yaml(file.read_text(), str(file)))
        trial = next(each for each in made.trials(["tester"]) if each.carrier == carrier)
        self.dispenser[:] = [
            TrialDispenser(
                made, [trial], str(made.base_url), self.ended.append, lambda _: True,
                reverse=False, observe=observe, scripts=Scripts(reports_to=SEEN),
            )
        ]  # fmt: skip
        async with self.browsers.context(self.slot.url) as context:
            glances = await shop_around(context, kind != "never drawn")
        (record,) = self.ended
        return record, glances


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


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    shop, made = DrawnShop(), list[Place]()
    guests = Guests(lambda: next(iter(made)).welcome(), by_cookie=False, reports_to=SEEN)
    async with (
        serve(shop.app()) as address,
        run_proxy(tmp_path_factory.mktemp("ca"), guests=guests) as proxy,
        run_browsers(proxy.spki) as browsers,
    ):
        slot = await proxy.open_slot(named=Origin.of(address.rstrip("/")))
        made.append(Place(shop, address, slot, browsers))
        yield made[0]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", dict.fromkeys([*usual(KINDS, 8), "a page within"]))
async def test_a_choice_counts_only_where_the_edits_were_seen(
    kind: str, place: Place, tmp_path: Path
) -> None:
    record, glances = await place.trial(tmp_path, kind)
    failed = record.trial.outcome == "treatment_failed"
    assert failed == (kind in UNDONE), record.trial.reason
    if not failed:
        assert record.trial.choice == "harbour-lamp"
        assert [glance.is_treated("1,299") for glance in glances] == [False, True], glances
        assert "In stock" in glances[0].text
        assert NUDGE not in glances[0].text
        assert glances[1].frames
        for shown in glances[1].frames:
            assert not any(old in shown for old in ("$1,299.00", "In stock", STORY)), shown
        made = {(each["edit"], each["product"]) for each in record.receipts if each["intervention"]}
        assert made == {(name, "harbour-lamp") for edit in EDITS for name in edit}


async def test_a_place_may_be_known_by_a_text_that_it_holds(place: Place, tmp_path: Path) -> None:
    roles = SITE["roles"] | {"product.title": 'h1:lexbor-contains("Lamp")'}
    record, glances = await place.trial(tmp_path, next(iter(KINDS)), site=SITE | {"roles": roles})
    assert record.trial.outcome == "choice", record.trial.reason
    assert [NUDGE in glance.text for glance in glances] == [False, True]


async def test_the_command_gives_trials_in_a_shop_that_scripts_draw(tmp_path: Path) -> None:
    async with serve(DrawnShop("in parts").app()) as address:
        file = experiment(tmp_path, address, SITE, EDITS)
        async with (
            beside(served(tmp_path, experiment=str(file))) as running,
            async_playwright() as playwright,
        ):
            browser = await playwright.chromium.launch(
                executable_path=find_browser(playwright),
                args=["--no-sandbox"],
                proxy={"server": running.url},
            )
            for _ in range(size(2, 3)):
                glances = await shop_around(await browser.new_context(), drawn=True)
                ended = await run_in_threadpool(running.ended)
                assert ended["outcome"] == "choice", ended["reason"]
                ((condition,),) = running.rows(
                    f"SELECT condition FROM trials WHERE trial = '{ended['trial']}'"
                )
                made = running.rows(
                    f"SELECT DISTINCT product, edit FROM receipts WHERE trial = '{ended['trial']}' "
                    "AND intervention != ''"
                )
                treated = {glance.product for glance in glances if NUDGE in glance.text}
                assert len(treated) == (condition == "nudged")
                assert set(made) == {(key, name) for key in treated for edit in EDITS for name in edit}
            await browser.close()
