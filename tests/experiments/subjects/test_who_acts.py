"""What a guest has not done is no choice of it: pages that fit `choice` as soon as they are opened."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Page

from experiments.episodes.guest_trial import Observe
from experiments.records.record import TrialRecord
from tests.experiments.foreign_shop import design, experiment
from tests.experiments.subjects.test_observed_guests import JSON, NEXT, PRESS, SEEN, Place, PolicyShop, place

pytestmark = pytest.mark.browser
__all__ = ["place"]

REQUEST = "request: {path: /cart/(.+)}"
READS = "request: {path: /cart/(.+), method: GET}"
LINE = '<ul class="mini"><li class="mini-line"><a href="/KEY.html">In the cart</a></li></ul>'
CART = "cart: mini"
ROLES = "roles: {mini: {css: li.mini-line}, mini.link: {css: a, attribute: href}}\n"
ON_LOAD = PRESS
READS_ON_LOAD = "fetch('/cart/KEY')"
LATER = f"setTimeout(() => {PRESS}, 1500)"
"""After the page has rested, and has been reported."""

Act = Callable[[Page], Awaitable[Any]]


def map_in(folder: Path, rule: str) -> str:
    file = folder / "acts.yaml"
    choice = f"choice: {{{rule}, message: [], refused: []}}"
    file.write_text(f"name: acts\nextends: onestopmarket\n{ROLES}{choice}\n")
    return str(file)


def give(place: Place, folder: Path, rule: str, observe: Observe, **shop: Any) -> None:
    vars(place.shop).update(vars(PolicyShop(press=PRESS)) | shop)
    made = design(experiment(folder, place.shop, place.address, site=map_in(folder, rule)))
    place.give(made, observe, nudged=True)
    place.ended.clear()


async def in_browser(place: Place, act: Act | None) -> TrialRecord:
    """A trial of a guest that opens a page and acts; without `act` it only waits."""
    async with place.browsers.context(place.slot.url) as context:
        told = await (await context.request.post(NEXT, headers=JSON)).json()
        place.ended.clear()  # the trial before, if its guest has left it
        page = await context.new_page()
        async with page.expect_request(f"**{SEEN}"):
            await page.goto(told["urls"][0])
        if act:
            await act(page)
        while not place.ended:
            await page.wait_for_timeout(50)
    (record,) = place.ended
    return record


async def presses(page: Page) -> None:
    await page.click("#product-addtocart-button")


async def presses_by_script(page: Page) -> None:
    await page.evaluate("document.querySelector('#product-addtocart-button').click()")


async def sends_itself(page: Page) -> None:
    key = page.url.split("/")[-1].removesuffix(".html")
    await page.context.request.post(f"http://shop.souk.test/cart/{key}")


async def follows_an_address(page: Page) -> None:
    key = page.url.split("/")[-1].removesuffix(".html")
    await page.goto(f"http://shop.souk.test/cart/{key}")


OWN: dict[str, tuple[str, dict[str, Any]]] = {
    "a request of the page": (REQUEST, {"script": ON_LOAD}),
    "a request that reads": (READS, {"script": READS_ON_LOAD}),
    "a request after a while": (REQUEST, {"script": LATER}),
    "a line of a cart": (CART, {"extra": LINE}),
}


@pytest.mark.parametrize("case", OWN)
async def test_what_a_page_does_by_itself_is_no_choice(case: str, place: Place, tmp_path: Path) -> None:
    rule, shop = OWN[case]
    give(place, tmp_path, rule, "page", **shop)
    record = await in_browser(place, None)
    assert (record.trial.outcome, record.cause) == ("infra_error", "shop"), record.trial.reason
    assert "before the agent has acted" in record.trial.reason
    assert "narrow choice in the map acts" in record.trial.reason


ACTS: dict[str, tuple[str, Act]] = {
    "presses": (REQUEST, presses),
    "presses by a script of its own": (REQUEST, presses_by_script),
    "sends the request itself": (REQUEST, sends_itself),
    "opens an address that adds": (READS, follows_an_address),
}


@pytest.mark.parametrize("case", ACTS)
async def test_what_a_guest_does_is_a_choice(case: str, place: Place, tmp_path: Path) -> None:
    rule, act = ACTS[case]
    give(place, tmp_path, rule, "page")
    record = await in_browser(place, act)
    assert record.trial.outcome == "choice", record.trial.reason


@pytest.mark.parametrize("observe", ["page", "off"])
async def test_a_program_acts_by_what_it_sends(observe: Observe, place: Place, tmp_path: Path) -> None:
    """A page that shows the product in the cart at once is no choice; one that does after a request is."""
    for sends, outcome in ((False, "infra_error"), (True, "choice")):
        give(place, tmp_path, CART, observe, extra="" if sends else LINE)
        async with httpx.AsyncClient(proxy=place.slot.url, trust_env=False, timeout=60) as client:
            first, *_ = (await client.post(NEXT, headers=JSON)).json()["urls"]
            place.ended.clear()
            await client.get(first)
            if sends:
                assert place.ended == []
                await client.post("http://shop.souk.test/elsewhere")
                place.shop.extra = LINE
                await client.get(first)
        (record,) = place.ended
        assert record.trial.outcome == outcome, record.trial.reason
