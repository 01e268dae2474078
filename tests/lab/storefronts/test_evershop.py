"""EverShop, a shop in React not written for Souk: its pages come as HTML, and scripts draw them again.

Its installation takes minutes and needs Node.js; `make storefronts` installs it and runs these tests.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect

from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.server import Slot
from proxy.session import Session
from tests.lab.storefronts.install import is_installed
from tests.lab.storefronts.shops import storefront
from tests.support import THOROUGH

SITE = load_site_map(Path(__file__).parent / "evershop.yaml")
LAMP = "lamps/harbour-desk-lamp"

pytestmark = pytest.mark.skipif(
    not (THOROUGH and is_installed("evershop")), reason="EverShop: run `make storefronts`"
)


@pytest.fixture(scope="module")
async def shop() -> AsyncIterator[str]:
    async with storefront("evershop") as url:
        yield url


@pytest.fixture
async def page(context: BrowserContext) -> Page:
    return await context.new_page()


def bind(slot: Slot, shop: str, *edits: dict[str, object]) -> Session:
    treatment = Treatment("test", LAMP, tuple(edit_from_dict(edit) for edit in edits))
    slot.session = Session(Plan((treatment,)), SITE, AllowList.of(shop))
    return slot.session


async def visit(page: Page, url: str) -> None:
    """Open a page and wait until its scripts have drawn it again: only then its buttons answer."""
    await page.goto(url, wait_until="networkidle")


async def test_values_hold_after_react_has_drawn_the_page(page: Page, slot: Slot, shop: str) -> None:
    session = bind(slot, shop, {"set_price": 31.5}, {"set_title": "Pier Lamp"})
    await visit(page, f"{shop}{LAMP}")
    await expect(page.locator("h1")).to_have_text("Pier Lamp")
    await expect(page.locator(".product__single__price")).to_have_text("$31.50")
    await expect(page).to_have_title("Pier Lamp")
    content = await page.content()
    assert "39.9" not in content
    assert "Harbour Desk Lamp" not in content
    assert session.failures == []
    assert {receipt.role for receipt in session.receipts} == {
        *("product.price", "product.name", "data.price", "data.name"),
    }


@pytest.mark.parametrize("path", ["lamps", "search?keyword=lamp"])
async def test_listings_and_search(page: Page, slot: Slot, shop: str, path: str) -> None:
    session = bind(slot, shop, {"set_price": 31.5}, {"set_title": "Pier Lamp"})
    await visit(page, shop + path)
    card = page.locator(".product__list__item").filter(has=page.locator(f'a[href="/{LAMP}"]'))
    await expect(card.locator("h3")).to_have_text("Pier Lamp")
    await expect(card.locator(".product__list__price")).to_have_text("$31.50")
    other = page.locator(".product__list__item").filter(has_text="Copper Clip Lamp")
    await expect(other.locator(".product__list__price")).to_have_text("$18.25")
    assert session.failures == []
    assert {(receipt.page_type, receipt.role) for receipt in session.receipts} == {
        *(("data", "data.price"), ("data", "data.name")),
        *(("listing", "item.price"), ("listing", "item.name")),
    }


async def test_the_cart(page: Page, slot: Slot, shop: str) -> None:
    session = bind(slot, shop, {"set_price": 31.5}, {"set_title": "Pier Lamp"})
    for path in (LAMP, "lamps/copper-clip-lamp"):
        await visit(page, shop + path)
        async with page.expect_response("**/api/graphql"):
            await page.locator("form#productForm").get_by_role("button", name="Add to cart").click()
    # What the script fetched for the small cart.
    await expect(page.get_by_text("$31.50").first).to_be_visible()
    await visit(page, f"{shop}cart")
    row = page.locator(".cart__item").filter(has=page.locator(f'a[href="/{LAMP}"]'))
    await expect(row).to_contain_text("Pier Lamp")
    await expect(row.locator(".tabular-nums").first).to_have_text("$31.50")
    await expect(page.locator(".grand-total")).to_contain_text("$49.75")
    assert "39.90" not in await page.content()
    assert session.failures == []
    assert {("data", "data.price"), ("cart", "row.price")} <= {
        (receipt.page_type, receipt.role) for receipt in session.receipts
    }


async def test_other_links_above_a_product_keep_their_names(page: Page, slot: Slot, shop: str) -> None:
    bind(slot, shop, {"set_title": "Pier Lamp"})
    await visit(page, f"{shop}{LAMP}")
    await expect(page.get_by_label("breadcrumb").get_by_role("listitem")).to_have_text(
        ["Home", "Lamps", "Pier Lamp"]
    )


async def test_a_text_outside_of_what_react_draws(page: Page, slot: Slot, shop: str) -> None:
    bind(slot, shop, {"banner": {"text": "Chosen by lighthouse keepers"}})
    await visit(page, f"{shop}{LAMP}")
    await expect(page.get_by_text("Chosen by lighthouse keepers")).to_be_visible()


async def test_a_text_between_what_react_draws(page: Page, slot: Slot, shop: str) -> None:
    text = {"after": "product.title", "text": "Chosen by lighthouse keepers"}
    session = bind(slot, shop, {"insert_text": text})
    await visit(page, f"{shop}{LAMP}")
    await expect(page.locator("h1 + *")).to_have_text("Chosen by lighthouse keepers")
    assert [receipt.role for receipt in session.receipts] == ["product.title"]
