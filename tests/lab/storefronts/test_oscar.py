"""django-oscar, a shop that Souk's authors did not write, treated through the real proxy with YAML only."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect

from interventions.apply.consistency import disagreements
from interventions.apply.plan import Plan, ProductFacts, compile_treatment
from interventions.files.schema import Intervention, load_interventions
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.server import Slot
from proxy.session import Session
from tests.lab.storefronts.install import CannotInstall, install
from tests.lab.storefronts.shops import storefront

SITE = load_site_map(Path(__file__).parent / "oscar.yaml")
LAMP = "catalogue/harbour-desk-lamp_1"
INTERVENTIONS = """
interventions:
  - id: sale
    kind: nudge
    family: price
    direction: +1
    edits:
      - insert_text: {after: product.title, text: Chosen by lighthouse keepers, style: badge}
      - set_price: 31.50
  - id: fame
    kind: reviews
    pages: [product]
    edits:
      - set_reviews: 1204
  - id: poor
    kind: rating
    edits:
      - set_rating: 41
  - id: rename
    kind: title
    edits:
      - set_title: Pier Lamp
  - id: stock
    kind: stock
    pages: [product, listing]
    edits:
      - set_stock: Only 3 left
"""


@pytest.fixture(scope="module")
async def shop() -> AsyncIterator[str]:
    try:
        install("oscar")
    except CannotInstall as error:
        pytest.skip(str(error))
    async with storefront("oscar") as url:
        yield url


@pytest.fixture
async def page(context: BrowserContext) -> Page:
    return await context.new_page()


@pytest.fixture(scope="module")
def interventions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Intervention, ...]:
    file = tmp_path_factory.mktemp("oscar") / "oscar-interventions.yaml"
    file.write_text(INTERVENTIONS)
    return load_interventions(file, SITE).interventions


@pytest.fixture
def session(slot: Slot, shop: str, interventions: tuple[Intervention, ...]) -> Session:
    """The lamp carries all the interventions of the file, the dear lamp the first."""
    lamp, arc = ProductFacts(key=LAMP), ProductFacts(key="catalogue/studio-arc-lamp_5")
    treatments = [compile_treatment(one, lamp) for one in interventions]
    plan = Plan((*treatments, compile_treatment(interventions[0], arc)))
    slot.session = Session(plan, SITE, AllowList.of(shop))
    return slot.session


def edits(session: Session) -> set[tuple[str, str, str]]:
    return {(receipt.edit, receipt.role, receipt.page_type) for receipt in session.receipts}


@pytest.mark.thorough
async def test_the_product_page(page: Page, session: Session, shop: str) -> None:
    await page.goto(f"{shop}{LAMP}/")
    main = page.locator(".product_main")
    await expect(main.locator("h1")).to_have_text("Pier Lamp")
    await expect(main.locator("h1 + .product-title-details")).to_have_text("Chosen by lighthouse keepers")
    await expect(main.locator(".price_color")).to_have_text("£31.50")
    await expect(main.locator(".availability")).to_have_text("Only 3 left")
    await expect(main.locator(".star-rating")).to_have_class("star-rating Two")
    await expect(main.get_by_text("1,204 customer reviews")).to_be_visible()
    await expect(page).to_have_title(re.compile("Pier Lamp"))
    # The table further down says it again.
    cells = dict(
        zip(*[await page.locator(f"tr > {cell}").all_inner_texts() for cell in ("th", "td")], strict=True)
    )
    assert cells["Price (excl. tax)"] == cells["Price (incl. tax)"] == "£31.50"
    assert (cells["Tax"], cells["Number of reviews"]) == ("£0.00", "1,204")
    assert "39.90" not in await page.content()
    assert session.failures == []
    assert edits(session) == {
        ("insert_text", "product.title", "product"),
        ("set_price", "product.price", "product"),
        ("set_reviews", "product.reviews", "product"),
        ("set_rating", "product.rating", "product"),
        ("set_title", "product.name", "product"),
        ("set_stock", "product.stock", "product"),
    }
    price = next(receipt for receipt in session.receipts if receipt.edit == "set_price")
    assert (price.before, price.after, price.matches, price.product) == ("£39.90", "£31.50", 3, LAMP)


@pytest.mark.parametrize("path", ["catalogue/", "catalogue/category/lamps_1/", "search/?q=lamp"])
async def test_listings_and_search(page: Page, session: Session, shop: str, path: str) -> None:
    await page.goto(shop + path)
    card = page.locator("article.product_pod").filter(has=page.locator(f'a[href="/{LAMP}/"]'))
    await expect(card.locator("h3")).to_have_text("Pier Lamp")
    await expect(card).to_contain_text("Chosen by lighthouse keepers")
    await expect(card.locator(".price_color")).to_have_text("£31.50")
    await expect(card.locator(".star-rating")).to_have_class("star-rating Two")
    others = page.locator("article.product_pod").filter(has_text="Copper Clip Lamp")
    await expect(others.locator(".price_color")).to_have_text("£18.25")
    assert "39.90" not in await page.content()
    assert session.failures == []
    assert {receipt.page_type for receipt in session.receipts} == {"listing"}
    # A price with thousands keeps its form.
    prices = {receipt.before: receipt.after for receipt in session.receipts if receipt.edit == "set_price"}
    assert prices == {"£39.90": "£31.50", "£1,249.00": "£31.50"}


@pytest.mark.thorough
async def test_the_basket(page: Page, session: Session, shop: str) -> None:
    for path in (LAMP, LAMP, "catalogue/copper-clip-lamp_3"):
        await page.goto(f"{shop}{path}/")
        await page.locator(".product_main").get_by_role("button", name="Add to cart").click()
    # The small basket in the header, on whatever page follows; unlike the basket it is closed.
    small = page.locator(".basket-mini-item > li").filter(has_text="Pier Lamp")
    await expect(small.locator(".price_color")).to_have_text("£31.50")
    await page.goto(f"{shop}basket/")
    row = page.locator(".basket-items").filter(has=page.locator(f'a[href="/{LAMP}/"]'))
    await expect(row.locator("h3 > a")).to_have_text("Pier Lamp")
    await expect(row.locator(".price_color")).to_contain_text(["£31.50", "£63.00"])
    # 2 x 31.50 + 18.25
    await expect(page.locator("#basket_totals .total.text-right").first).to_have_text("£81.25")
    await expect(page.locator("#basket_totals h3.price_color")).to_have_text("£81.25")
    assert session.failures == []
    assert {"cart", "product"} <= {receipt.page_type for receipt in session.receipts}
    # The page before, with the same things in the basket, kept the old sum in its header; none is wrong else.
    told = disagreements(figure for shown in session.pages for figure in shown.sightings(SITE))
    sums = [line for line in told if line.startswith("the cart: ")]
    assert len(sums) == 1
    assert "total is 81.25 as the lines of row on" in sums[0]
    assert f"98.05 as cart.total on {shop}catalogue/copper-clip-lamp_3/" in sums[0]
