"""The shop on the screen of a telephone: nothing is cut off, and menu and filters open by a tap."""

import pytest
from playwright.async_api import Browser, Page

from tests.environments.shop.examples import Examples
from tests.environments.shop.test_dom import CATEGORY, SEARCH

WIDTH = 400
OUTSIDE = """() => [...document.body.querySelectorAll("*")].filter((element) => {
  const { left, right, width } = element.getBoundingClientRect();
  if (!width || !element.checkVisibility({ visibilityProperty: true })) return false;
  for (let at = element; at; at = at.parentElement) {
    if (getComputedStyle(at).overflowX !== "visible") return false;
  }
  return left < 0 || right > innerWidth;
}).map((element) => element.className || element.tagName)"""
LETTERS_A_LINE = """() => [...document.querySelectorAll(".product-item-name, .page-title")].map((name) => {
  const lines = name.getBoundingClientRect().height / parseFloat(getComputedStyle(name).lineHeight);
  return name.textContent.trim().length / Math.max(1, Math.round(lines));
})"""

pytestmark = pytest.mark.browser


async def go(page: Page, base: str, examples: Examples, kind: str) -> None:
    await page.set_viewport_size({"width": WIDTH, "height": 800})
    product = f"{base}{examples.rated.key}.html"
    if kind in ("cart", "checkout"):
        await page.goto(product, wait_until="networkidle")
        await page.locator("#product-addtocart-button").click()
        await page.locator(".message-success").wait_for()
    addresses = {"listing": CATEGORY, "search": SEARCH, "cart": "checkout/cart/", "checkout": "checkout/"}
    others = {"home": "", "advanced": "catalogsearch/advanced/", "login": "customer/account/login/"}
    address = product if kind == "product" else base + (addresses | others)[kind]
    await page.goto(address, wait_until="networkidle")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kind", ["home", "listing", "search", "product", "cart", "checkout", "advanced", "login"]
)
async def test_nothing_is_cut_off(kind: str, page: Page, base: str, examples: Examples) -> None:
    await go(page, base, examples, kind)
    assert await page.evaluate("document.documentElement.scrollWidth") == WIDTH
    assert await page.evaluate(OUTSIDE) == []
    for letters in await page.evaluate(LETTERS_A_LINE):
        assert letters > 5


async def test_menu_and_filters_open_by_a_tap(browser: Browser, base: str, examples: Examples) -> None:
    context = await browser.new_context(has_touch=True, is_mobile=True)
    page = await context.new_page()
    await go(page, base, examples, "listing")
    menu, filters = page.locator(".navigation .level-top").first, page.locator(".filter-options a").first
    assert not await menu.is_visible()
    assert not await filters.is_visible()
    await page.locator(".nav-toggle").tap()
    await page.locator(".filter-title").tap()
    assert await menu.is_visible()
    await filters.tap()
    await page.locator(".toolbar-amount").first.wait_for()
    assert "price=" in page.url or "cat=" in page.url
    await page.locator(".nav-toggle").tap()
    await page.locator(".navigation .level-top").first.tap()
    await page.locator(".product-items").first.wait_for()
    assert CATEGORY not in page.url
    await context.close()
