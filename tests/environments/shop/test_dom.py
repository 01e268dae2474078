"""Every selector that programs written for OneStopMarket are known to use, on the pages where they use it.

Raw means the server's HTML, read with BeautifulSoup and lxml as the rewriting functions do; rendered means
the page in Chromium after its scripts ran.
"""

import re
from dataclasses import dataclass

import httpx
import pytest
from bs4 import BeautifulSoup
from playwright.async_api import Page, expect

from environments.shop.catalogue import Catalogue
from tests.environments.shop.examples import Examples

CATEGORY = "grocery-gourmet-food/breads-bakery/cookies.html"
SEARCH = "catalogsearch/result/?q=wireless+headphones"

# Not served, as the shop has guests only: order histories (.order-details-items.ordered, #my-orders-table,
# .item-options of an order), wish lists (.products-grid.wishlist), address books (.box.box-address-billing >
# .box-content), newsletter settings ([title="General Subscription"]); and the REST interface /rest/V1/...,
# which serves evaluators of other benchmarks, with administrator tokens.


@dataclass(frozen=True)
class Row:
    """On this page this selector finds an element whose text holds `text`; none where that is None."""

    page: str
    selector: str
    text: str | None = ""

    def __str__(self) -> str:
        return f"{self.page} {self.selector}"


RAW = [
    Row("product", 'meta[property="og:type"][content="product"]'),
    Row("product", 'div[class="page-title-wrapper product"]'),
    Row("product", "div.product-info-stock-sku"),
    Row("product", "span.price", "$"),
    Row("product", "span.price-wrapper[data-price-amount]", "$"),
    Row("product", "span[itemprop=reviewCount]"),
    Row("product", "span.counter"),
    Row("product", "div.rating-result[title]"),
    Row("product", "div.rating-summary"),
    Row("product", "div.product-reviews-summary"),
    Row("product", 'div[class="price-box price-final_price"]'),
    Row("category", "li.item.product.product-item"),
    Row("category", 'li.item.product.product-item strong[class="product name product-item-name"]'),
    Row("category", "li.product-item a.product-item-link[href]"),
    Row("category", "li.item.product.product-item div.rating-result[title]"),
    Row("home", "li.product-item"),
    Row("home", 'strong[class="product-item-name"]'),
    Row("home", "div.rating-result"),
    Row("product", "h1.page-title .base"),
    Row("category", "h1.page-title .base", "Cookies"),
    Row("category", "a.action.next[href]"),
    Row("home", "nav.navigation a[href]"),
    Row("optioned", "div.product-options-wrapper"),
    Row("product", ".product-reviews-summary .action.view"),
    Row("product", "head[prefix] meta[property='product:price:amount']"),
    Row("product", "body.catalog-product-view[itemscope]"),
    Row("unrated", "div.product-reviews-summary.empty .action.add", "Be the first to review this product"),
    Row("sold-out", "div.stock.unavailable", "Out of stock"),
    # The page nests as in the blank theme.
    Row("product", "main#maincontent > a + div.page-title-wrapper.product + div.page.messages + div.columns"),
    Row(
        "product",
        "div.product-info-price > div.product-info-stock-sku ~ div.product-reviews-summary ~ div.price-box",
    ),
    Row("product", "div.column.main > div.product-info-main ~ div.product.media ~ div.product.info.detailed"),
    Row("product", "div.column.main > input:first-child"),
    # Without reviews, options or stock.
    Row("unrated", ".rating-result, .rating-summary, .action.view", None),
    Row("unrated", "#tab-label-reviews-title .counter, .product-options-wrapper", None),
    Row("unrated", "#product_addtocart_form > .box-tocart"),
    Row("optioned", "#product_addtocart_form > .product-options-bottom > .box-tocart"),
    Row("optioned", ".product-options-wrapper input[checked]", None),
    Row("sold-out", "#product_addtocart_form, button.tocart", None),
    Row("single review", ".reviews-actions .view", "1"),
    # By these the types of pages are told apart.
    Row("optioned", 'meta[property="og:type"][content="product"]'),
    *(Row(page, "div.sidebar-main div.filter") for page in ("department", "category", "search")),
    *(
        Row(page, 'meta[property="og:type"][content="product"], div.sidebar-main div.filter', None)
        for page in ("home", "contact", "login", "cart", "no hit")
    ),
    Row("home", "title", "One Stop Market"),
    Row("home", "li.item.product, strong.product.name, .breadcrumbs, .sidebar", None),
]

RENDERED = [
    Row("product", "#maincontent > div.page-title-wrapper.product > h1 > span"),
    Row(
        "product",
        "#maincontent > div.columns > div > div.product-info-main > div.product-info-price"
        " > div.price-box.price-final_price > span > span",
        "$",
    ),
    Row("product", "#tab-label-reviews-title", "Reviews"),
    Row("product", "#productDetails_detailBullets_sections1 > tbody > tr > th + td"),
    Row("product", ".fotorama__stage__frame > img.fotorama__img"),
    Row("product", ".fotorama__nav__frame > .fotorama__thumb > img.fotorama__img"),
    Row("product", "header.page-header"),
    Row("product", ".stock.available", "In stock"),
    Row("product", "button.tocart", "Add to Cart"),
    Row("product", "input#qty"),
    Row("product", ".product.media img"),
    Row("product", "#shortDescription"),
    Row("product", ".reviews-actions", "Review"),
    Row("product", "input[name=product]"),
    Row("product", ".product.attribute.sku .value", "B0"),
    Row("product", "#product-addtocart-button"),
    Row("product", ".breadcrumbs li.item.home + li.item.product > strong"),
    Row("optioned", "#product-options-wrapper .field.required .options-list input[type=radio]"),
    Row("category", "ol.products.list li.product-item"),
    Row("category", "#toolbar-amount", "Items 1-12 of"),
    Row("category", ".product-image-photo"),
    Row("category", "#sorter[data-role=sorter]"),
    Row("category", "#narrow-by-list .filter-options-title", "Price"),
    Row("search", "div.search.results ol.products.list li.product-item"),
    Row("search", "#narrow-by-list .filter-options-title", "Category"),
    Row("login", "#login-form button", "Sign In"),
    Row("contact", '[title="What’s on your mind?"]'),
]


def address(page: str, examples: Examples) -> str:
    products = {
        "product": examples.rated,
        "optioned": examples.optioned,
        "unrated": examples.unrated,
        "sold-out": examples.sold_out,
        "single review": examples.single_review,
    }
    if page in products:
        return f"{products[page].key}.html"
    return {
        "home": "",
        "category": CATEGORY,
        "search": SEARCH,
        "login": "customer/account/login/",
        "contact": "contact",
        "cart": "checkout/cart/",
        "department": "electronics.html",
        "no hit": "catalogsearch/result/?q=zzzz",
    }[page]


async def soup(client: httpx.AsyncClient, path: str) -> BeautifulSoup:
    response = await client.get(path)
    assert response.status_code == 200
    return BeautifulSoup(response.text, "lxml")


@pytest.mark.parametrize("page_name", sorted({row.page for row in RAW}))
async def test_raw(client: httpx.AsyncClient, examples: Examples, page_name: str) -> None:
    html = await soup(client, address(page_name, examples))
    for row in RAW:
        if row.page == page_name:
            found = html.select(row.selector)
            assert bool(found) == (row.text is not None), row.selector
            assert (row.text or "") in (found[0].get_text() if found else ""), row.selector


@pytest.mark.browser
async def test_rendered(page: Page, base: str, examples: Examples) -> None:
    for page_name in sorted({row.page for row in RENDERED}):
        await page.goto(base + address(page_name, examples))
        for row in RENDERED:
            if row.page == page_name:
                await expect(page.locator(row.selector).first, str(row)).to_contain_text(row.text)


async def test_scripts_fill_what_the_raw_page_leaves_empty(client, examples: Examples) -> None:
    """A rewriting function that takes the first price or the first card must not meet the cart's."""
    await client.get("")
    data = {"form_key": client.cookies["form_key"]}
    await client.post(f"checkout/cart/add/uenc/x/product/{examples.rated.id}/", data=data)
    html = await soup(client, f"{examples.rated.key}.html")
    assert html.select("span.price")[0].find_parent("div", class_="product-info-price")
    assert not html.select("header li.product-item, header .price, header .price-wrapper")
    messages = """div.page.messages > div[data-bind="scope: 'messages'"]"""
    counter = "li.compare span.counter"
    for shell in (
        ".breadcrumbs",
        "#minicart-content-wrapper",
        "#product-review-container",
        messages,
        counter,
    ):
        assert not html.select(shell)[0].get_text(strip=True), shell
    assert html.select("span.counter")[0] is html.select(counter)[0]


async def test_facts_of_a_product_page(client: httpx.AsyncClient, base: str, examples: Examples) -> None:
    product = examples.rated
    html = await soup(client, f"{product.key}.html")
    for selector, attribute, wanted in (
        ("title", "", product.name),
        ('meta[property="og:url"]', "content", f"{base}{product.key}.html"),
        ("span.price-wrapper", "data-price-amount", f"{product.price:g}"),
        ('meta[property="product:price:amount"]', "content", f"{product.price:g}"),
        ("div.rating-result", "title", f"{product.rating}%"),
        ("div.rating-result > span", "style", f"width:{product.rating}%"),
        ("span.price", "", f"${product.price:,.2f}"),
        ("span[itemprop=reviewCount]", "", str(product.reviews)),
        ("#tab-label-reviews-title .counter", "", str(product.reviews)),
        (".product.sku .value", "", product.sku),
    ):
        found = html.select(selector)[0]
        assert (found[attribute] if attribute else found.get_text()) == wanted, selector
    action = str(html.select("#product_addtocart_form")[0]["action"])
    assert re.fullmatch(rf"{base}checkout/cart/add/uenc/[\w~-]+/product/{product.id}/", action)


async def test_cards_link_to_the_address_that_the_browser_requests(client, base, catalogue) -> None:
    for path in ("", CATEGORY, SEARCH):
        html = await soup(client, path)
        cards = html.select("li.product-item")
        assert len(cards) == 12
        for card in cards:
            link = card.select_one("a.product-item-link")
            assert link is not None
            url = str(link["href"])
            product = catalogue.by_key[url.removeprefix(base).removesuffix(".html")]
            assert link.get_text().strip() == product.name
            form = card.select_one("form[data-role=tocart-form]")
            if product.options:
                assert form is not None
                assert form["action"] == f"{url}?options=cart"
            assert bool(card.select(".product-reviews-summary")) == (product.rating is not None)


@pytest.mark.slow
async def test_the_menu_has_three_levels_and_every_entry_leads_to_products(client, catalogue) -> None:
    html = await soup(client, "")
    assert len(html.select("nav.navigation > ul > li.level0.level-top.parent > a.level-top")) == 12
    assert html.select("li.level0 > ul.level0.submenu > li.level1.parent > ul.level1.submenu > li.level2 > a")
    links = [str(link["href"]) for link in html.select("nav.navigation a")]
    assert len(links) == len(catalogue.categories)
    for link in links[::7]:
        assert (await soup(client, link)).select("li.product-item")


@pytest.mark.browser
async def test_what_matters_is_above_the_fold(page: Page, base: str, catalogue: Catalogue) -> None:
    """Title, rating, price and button of a product, also of one with a long name and many options."""
    rated = [product for product in catalogue.products if product.rating is not None]
    longest = max((p for p in rated if not p.options), key=lambda p: len(p.name))
    fullest = max(rated, key=lambda p: (len(p.options), sum(len(o.values) for o in p.options), len(p.name)))
    for product in (longest, fullest):
        await page.goto(f"{base}{product.key}.html")
        for selector in ("h1.page-title", ".rating-result", ".product-info-price .price", "button.tocart"):
            box = await page.locator(selector).bounding_box()
            assert box is not None
            assert 0 <= box["y"] <= box["y"] + box["height"] <= 720, (product.key, selector)


@pytest.mark.browser
async def test_reviews_come_when_the_tab_is_opened(page: Page, base: str, examples: Examples) -> None:
    await page.goto(f"{base}{examples.rated.key}.html")
    await expect(page.locator("#reviews")).to_be_hidden()
    await page.click("#tab-label-reviews-title")
    text = (
        "#customer-reviews > div.block-content > ol > li > div.review-content-container > div.review-content"
    )
    await expect(page.locator(text)).to_have_count(10)
    words = await page.evaluate("document.querySelector('#tab-label-reviews-title').outerText")
    assert words.split()[1] == str(examples.rated.reviews)
    await page.click("#customer-reviews a.action.next")
    await expect(page.locator(text)).to_have_count(examples.rated.reviews - 10)
    await page.select_option("#customer-reviews #limiter", "20")
    await expect(page.locator(text)).to_have_count(examples.rated.reviews)
