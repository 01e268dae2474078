"""Sums that scripts draw: of an honest shop nothing is told, of one that adds up old prices both sums."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from playwright.async_api import Browser, Page

from environments.browser.pool import run_browsers
from interventions.apply.consistency import disagreements
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.server import Proxy
from proxy.session import Session
from tests.lab.storefronts import hard_cases
from tests.lab.storefronts.cases import cases
from tests.lab.storefronts.look import LAMP, shown
from tests.support import serve

pytestmark = [pytest.mark.browser]

SHOPS: Final = ("drawn-by-scripts", "hydrated", "persisted-queries")
OLD: Final = {slug: round(float(each["price"]) * 100) for slug, each in hard_cases.PRODUCTS.items()}
OF_OLD_PRICES: Final = (
    f"money((OLD => cart.lines.reduce((sum, one) => sum + OLD[one.slug], 0))({json.dumps(OLD)}) + EXTRA)"
)
"""A total that a script adds up from prices of its own."""
HEADER: Final = (
    "document.querySelector('header').insertAdjacentHTML('beforeend', `<b class=total>TOTAL</b>`);"
)


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with run_browsers() as pool:
        yield await pool.browser()


async def told(
    name: str, drawing: dict[str, str], proxy: Proxy, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """What a trial is told of a shop whose scripts draw in another way, after a lamp was bought by clicks."""
    source = hard_cases.DRAWING
    for honest, other in drawing.items():
        assert honest in source
        source = source.replace(honest, other)
    monkeypatch.setattr(hard_cases, "DRAWING", source)
    case = cases()[name]
    site = load_site_map(case.site)
    edits = tuple(edit_from_dict(each) for each in ({"set_price": 31.5},))
    plan = Plan((Treatment("cheap", f"p/{LAMP['slug']}", edits),))
    async with serve(hard_cases.SHOPS[name]().app()) as base:
        slot = await proxy.open_slot()
        session = slot.session = Session(plan, site, AllowList.of(base))
        context = await browser.new_context(proxy={"server": slot.url, "bypass": "<-loopback>"})
        try:
            await buy(await context.new_page(), base)
        finally:
            await context.close()
        assert session.failures == []
        assert {each.product for each in session.receipts} == {f"p/{LAMP['slug']}"}
        return disagreements(session.sightings())


async def buy(page: Page, base: str) -> None:
    await page.goto(f"{base}lamps", wait_until="networkidle")
    await page.get_by_role("link", name=LAMP["name"]).first.click()
    await shown(page.locator("h1").filter(has_text=LAMP["name"]))
    await page.locator("button.buy").click()
    await shown(page.locator("main.cart tr.line"))
    await page.wait_for_load_state("networkidle")


def total(extra: int = 0) -> dict[str, Any]:
    return {"money(cart.total)": OF_OLD_PRICES.replace("EXTRA", str(extra))}


@pytest.mark.thorough
@pytest.mark.parametrize("name", SHOPS)
async def test_an_honest_shop_is_told_nothing(
    name: str, proxy: Proxy, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_shipping = {"money(cart.total)": "money(cart.total + 490)"}
    for drawing in ({}, with_shipping):
        assert await told(name, drawing, proxy, browser, monkeypatch) == []
        monkeypatch.undo()


@pytest.mark.parametrize("name", SHOPS)
async def test_a_total_of_old_prices_is_told_with_both_sums(
    name: str, proxy: Proxy, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    (line,) = await told(name, total(), proxy, browser, monkeypatch)
    assert "the cart: total is 31.5" in line
    assert "but 39.90 as cart.total on " in line
    assert line.endswith("/cart, which is the sum at the old prices")
