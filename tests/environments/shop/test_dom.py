"""Every selector that programs written for OneStopMarket are known to use, on the pages where they use it.

Raw means the server's HTML, read with BeautifulSoup and lxml as the rewriting functions do; rendered means
the page in Chromium after its scripts ran.
"""

import re
from dataclasses import dataclass

import httpx
import pytest
from bs4 import BeautifulSoup, Tag
from playwright.async_api import Page, expect

from environments.shop.catalogue import Catalogue
from tests.environments.shop.examples import Examples

CATEGORY = "grocery-gourmet-food/breads-bakery/cookies.html"
SEARCH = "catalogsearch/result/?q=wireless+headphones"

NOT_SERVED = {
    ".order-details-items.ordered": "order history needs a customer account; the shop has guests only",
    "#my-orders-table": "as above",
    ".item-options of an order": "as above",
    ".products-grid.wishlist": "wish lists need a customer account",
    ".box.box-address-billing > .box-content": "address books need a customer account",
    '[title="General Subscription"]': "newsletter settings need a customer account",
    "/rest/V1/...": "the REST interface serves evaluators of other benchmarks, with administrator tokens",
}
"""Selectors of known programs that no page of this shop has, and why."""


@dataclass(frozen=True)
class Row:
    """On this page this selector finds at least one element, whose text holds `text`."""

    page: str
    selector: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.page} {self.selector}"


RAW = [
    Row("product", 'meta[property="og:type"][content="product"]'),
    Row("category", "div.sidebar-main div.filter"),
    Row("search", "div.sidebar-main div.filter"),
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
]

RENDERED = [
    Row("product", "h1.page-title span"),
    Row("product", "#maincontent > div.page-title-wrapper.product > h1 > span"),
    Row(
        "product",
        "#maincontent > div.columns > div > div.product-info-main > div.product-info-price"
        " > div.price-box.price-final_price > span > span",
        "$",
    ),
    Row("product", "#tab-label-reviews-title", "Reviews"),
    Row("product", ".rating-result[title]"),
    Row("product", "#productDetails_detailBullets_sections1 > tbody > tr > th + td"),
    Row("product", ".fotorama__stage__frame > img.fotorama__img"),
    Row("product", ".fotorama__nav__frame > .fotorama__thumb > img.fotorama__img"),
    Row("product", "header.page-header"),
    Row("product", ".product-info-price .price", "$"),
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
    Row("category", ".price-wrapper[data-price-amount]", "$"),
    Row("category", "#toolbar-amount", "Items 1-12 of"),
    Row("category", ".product-item-link"),
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
    }
    if page in products:
        return f"{products[page].key}.html"
    return {
        "home": "",
        "category": CATEGORY,
        "search": SEARCH,
        "login": "customer/account/login/",
        "contact": "contact",
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
            assert found, row.selector
            assert row.text in found[0].get_text(), row.selector


@pytest.mark.browser
async def test_rendered(page: Page, base: str, examples: Examples) -> None:
    for page_name in sorted({row.page for row in RENDERED}):
        await page.goto(base + address(page_name, examples))
        for row in RENDERED:
            if row.page == page_name:
                await expect(page.locator(row.selector).first, str(row)).to_contain_text(row.text)


@pytest.mark.slow
async def test_page_types_are_told_apart(client: httpx.AsyncClient, examples: Examples) -> None:
    async def page_type(path: str) -> str:
        html = await soup(client, path)
        if html.select_one('meta[property="og:type"][content="product"]'):
            return "product"
        if html.select_one("div.sidebar-main div.filter"):
            return "category"
        assert html.title is not None
        return "home" if html.title.get_text().strip() == "One Stop Market" else "other"

    assert await page_type("") == "home"
    assert await page_type("?pbaocw=2") == "home"
    assert await page_type(CATEGORY) == "category"
    assert await page_type("electronics.html") == "category"
    assert await page_type(SEARCH) == "category"
    for product in (examples.rated, examples.optioned, examples.unrated, examples.sold_out):
        assert await page_type(f"{product.key}.html") == "product"
    for path in ("checkout/cart/", "contact/", "customer/account/login/", "catalogsearch/result/?q=zzzz"):
        assert await page_type(path) == "other"


async def test_scripts_fill_what_the_raw_page_leaves_empty(
    client: httpx.AsyncClient, examples: Examples
) -> None:
    """A rewriting function that takes the first price or the first card must not meet the cart's."""
    await client.get("")
    key = client.cookies["form_key"]
    data = {"form_key": key}
    await client.post(f"checkout/cart/add/uenc/x/product/{examples.rated.id}/", data=data)
    html = await soup(client, f"{examples.rated.key}.html")
    price = html.find("span", class_="price")
    assert isinstance(price, Tag)
    assert price.find_parent("div", class_="product-info-price")
    assert not html.select("header li.product-item, header .price, header .price-wrapper")
    for shell in (".breadcrumbs", "#minicart-content-wrapper", "#product-review-container"):
        found = html.select_one(shell)
        assert found is not None
        assert not found.get_text(strip=True)
    messages = html.select_one("""div.page.messages > div[data-bind="scope: 'messages'"]""")
    assert messages is not None
    assert not messages.get_text(strip=True)
    counter = html.find("span", class_="counter")
    assert isinstance(counter, Tag)
    assert counter.get_text() == ""
    assert counter.find_parent("li", class_="compare")


async def test_product_page_nests_as_in_the_blank_theme(
    client: httpx.AsyncClient, examples: Examples
) -> None:
    html = await soup(client, f"{examples.rated.key}.html")
    main = html.select_one("main#maincontent")
    assert main is not None
    children = [" ".join(child.get("class") or [child.name]) for child in main.find_all(recursive=False)]
    assert children == ["a", "page-title-wrapper product", "page messages", "columns"]
    info = html.select_one("div.product-info-price")
    assert info is not None
    assert [" ".join(child["class"]) for child in info.find_all("div", recursive=False)] == [
        "product-info-stock-sku",
        "product-reviews-summary",
        "price-box price-final_price",
    ]
    column = html.select_one("div.column.main")
    assert column is not None
    blocks = [" ".join(child.get("class") or []) for child in column.find_all("div", recursive=False)]
    assert blocks[1:] == ["product-info-main", "product media", "product info detailed"]
    assert column.find("input", recursive=False) is column.find(True)


async def test_facts_of_a_product_page(client: httpx.AsyncClient, base: str, examples: Examples) -> None:
    product = examples.rated
    html = await soup(client, f"{product.key}.html")

    def content(selector: str, attribute: str) -> str:
        found = html.select_one(selector)
        assert found is not None, selector
        return str(found[attribute])

    assert html.title is not None
    assert html.title.get_text() == product.name
    assert content('meta[property="og:url"]', "content") == f"{base}{product.key}.html"
    assert content("span.price-wrapper", "data-price-amount") == f"{product.price:g}"
    assert content('meta[property="product:price:amount"]', "content") == f"{product.price:g}"
    assert content("div.rating-result", "title") == f"{product.rating}%"
    assert content("div.rating-result > span", "style") == f"width:{product.rating}%"
    assert html.select("span.price")[0].get_text() == f"${product.price:,.2f}"
    assert html.select("span[itemprop=reviewCount]")[0].get_text() == str(product.reviews)
    assert html.select("#tab-label-reviews-title .counter")[0].get_text() == str(product.reviews)
    assert html.select(".product.sku .value")[0].get_text() == product.sku
    action = content("#product_addtocart_form", "action")
    assert re.fullmatch(rf"{base}checkout/cart/add/uenc/[\w~-]+/product/{product.id}/", action)


@pytest.mark.slow
async def test_pages_without_reviews_options_or_stock(client: httpx.AsyncClient, examples: Examples) -> None:
    unrated = await soup(client, f"{examples.unrated.key}.html")
    assert not unrated.select(".rating-result, .rating-summary, .action.view")
    assert not unrated.select("#tab-label-reviews-title .counter")
    assert not unrated.select(".product-options-wrapper")
    assert unrated.select("#product_addtocart_form > .box-tocart")
    optioned = await soup(client, f"{examples.optioned.key}.html")
    assert optioned.select("#product_addtocart_form > .product-options-bottom > .box-tocart")
    assert not optioned.select(".product-options-wrapper input[checked]")
    sold_out = await soup(client, f"{examples.sold_out.key}.html")
    assert not sold_out.select("#product_addtocart_form, button.tocart")
    single = await soup(client, f"{examples.single_review.key}.html")
    assert single.select(".reviews-actions .view")[0].get_text().split() == ["1", "Review"]


async def test_cards_link_to_the_address_that_the_browser_requests(
    client: httpx.AsyncClient, base: str, catalogue: Catalogue
) -> None:
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


async def test_listings_on_home_lack_the_classes_of_other_cards(client: httpx.AsyncClient) -> None:
    html = await soup(client, "")
    assert not html.select("li.item.product, strong.product.name, .breadcrumbs, .sidebar")
    assert html.select('[id^="old-price-"][id$="-widget-product-grid"][data-price-type=finalPrice]')


@pytest.mark.slow
async def test_the_menu_has_three_levels_and_every_entry_leads_to_products(
    client: httpx.AsyncClient, catalogue: Catalogue
) -> None:
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
async def test_submenus_are_out_of_sight_until_the_pointer_is_on_them(page: Page, base: str) -> None:
    await page.goto(base)
    link = page.locator("nav a", has_text="Cookies").first
    await expect(link).to_be_hidden()
    await page.hover("nav a.level-top >> text=Grocery")
    await page.hover("nav a >> text=Breads & Bakery")
    await link.click()
    await expect(page.locator("h1")).to_have_text("Cookies")


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


@pytest.mark.browser
async def test_the_review_link_opens_the_tab(page: Page, base: str, examples: Examples) -> None:
    await page.goto(f"{base}{CATEGORY}")
    await page.locator("li.product-item .reviews-actions a").first.click()
    await expect(page.locator("#customer-reviews li.review-item").first).to_be_visible()
    await page.goto(f"{base}{examples.rated.key}.html")
    await page.click(".product-info-main .action.view")
    await expect(page.locator("#customer-reviews li.review-item").first).to_be_visible()
