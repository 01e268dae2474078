"""What a guest has not done is no choice of it: pages that fit `choice` as soon as they are opened."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from experiments.episodes.guest_trial import Observe
from tests.experiments.subjects.guest_place import BUY, PRESS, SEEN, Place, give_foreign

pytestmark = pytest.mark.browser

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


def site(rule: str) -> str:
    choice = f"choice: {{{rule}, message: [], refused: []}}"
    return f"name: acts\nextends: onestopmarket\n{ROLES}{choice}\n"


async def in_browser(place: Place, act: Act | None) -> None:
    """A trial of a guest that opens a page and acts; without `act` it only waits."""
    async with place.browsers.context(place.slot.url) as context:
        urls, page = await place.begin(context), await context.new_page()
        async with page.expect_request(f"**{SEEN}"):
            await page.goto(urls[0])
        if act:
            await act(page)
        while not place.ended:
            await page.wait_for_timeout(50)


async def presses(page: Page) -> None:
    await page.click(BUY)


async def presses_by_script(page: Page) -> None:
    await page.evaluate(f"document.querySelector('{BUY}').click()")


def cart(page: Page) -> str:
    return f"http://shop.souk.test/cart/{page.url.split('/')[-1].removesuffix('.html')}"


async def sends_itself(page: Page) -> None:
    await page.context.request.post(cart(page))


async def follows_an_address(page: Page) -> None:
    await page.goto(cart(page))


OWN: dict[str, tuple[str, dict[str, Any]]] = {
    "a request of the page": (REQUEST, {"script": ON_LOAD}),
    "a request that reads": (READS, {"script": READS_ON_LOAD}),
    "a request after a while": (REQUEST, {"script": LATER}),
    "a line of a cart": (CART, {"extra": LINE}),
}


@pytest.mark.parametrize("case", OWN)
async def test_what_a_page_does_by_itself_is_no_choice(case: str, place: Place, tmp_path: Path) -> None:
    rule, shop = OWN[case]
    give_foreign(place, tmp_path, site=site(rule), **shop)
    await in_browser(place, None)
    record = place.record
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
    give_foreign(place, tmp_path, site=site(rule))
    await in_browser(place, act)
    assert place.record.trial.outcome == "choice", place.record.trial.reason


@pytest.mark.parametrize("observe", ["page", "off"])
async def test_a_program_acts_by_what_it_sends(observe: Observe, place: Place, tmp_path: Path) -> None:
    """A page that shows the product in the cart at once is no choice; one that does after a request is."""
    for sends, outcome in ((False, "infra_error"), (True, "choice")):
        give_foreign(place, tmp_path, observe, site=site(CART), extra="" if sends else LINE)
        async with place.program() as (client, urls):
            await client.get(urls[0])
            if sends:
                assert place.ended == []
                await client.post("http://shop.souk.test/elsewhere")
                place.shop.extra = LINE
                await client.get(urls[0])
        assert place.record.trial.outcome == outcome, place.record.trial.reason
