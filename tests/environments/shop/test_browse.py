import re

import httpx
import pytest
from bs4 import BeautifulSoup
from playwright.async_api import Page, expect

from environments.shop.catalogue import Catalogue

COOKIES = "grocery-gourmet-food/breads-bakery/cookies.html"


async def prices(client: httpx.AsyncClient, path: str) -> list[float]:
    html = BeautifulSoup((await client.get(path)).text, "lxml")
    return [float(str(wrapper["data-price-amount"])) for wrapper in html.select(".price-wrapper")]


async def test_category_page_says_where_it_is(client: httpx.AsyncClient, base: str) -> None:
    html = BeautifulSoup((await client.get(COOKIES)).text, "lxml")
    assert html.title is not None
    assert html.title.get_text() == "Cookies - Breads & Bakery - Grocery & Gourmet Food"
    assert [item.get_text(strip=True) for item in html.select(".breadcrumbs li")] == [
        "Home",
        "Grocery & Gourmet Food",
        "Breads & Bakery",
        "Cookies",
    ]
    assert html.select(".breadcrumbs li.category14 > a")[0]["href"] == f"{base}grocery-gourmet-food.html"
    assert html.body is not None
    assert "categorypath-grocery-gourmet-food-breads-bakery-cookies" in html.body["class"]


async def test_order_direction_limit_and_price_filter(client: httpx.AsyncClient) -> None:
    ascending = await prices(client, f"{COOKIES}?product_list_order=price&product_list_limit=36")
    assert len(ascending) == 36
    assert ascending == sorted(ascending)
    descending = await prices(client, f"{COOKIES}?product_list_order=price&product_list_dir=desc")
    assert descending == sorted(descending, reverse=True)
    assert descending[0] > ascending[-1]
    assert all(price < 30 for price in await prices(client, f"{COOKIES}?price=0-30"))
    assert all(price >= 30 for price in await prices(client, f"{COOKIES}?price=30-"))


STRANGE = ("p=999999", "p=0", "p=-1", "p=x", "product_list_limit=7", "price=--", "cat=x", "price=9-1")


@pytest.mark.parametrize("query", [*STRANGE, "product_list_order=stars"])
async def test_strange_parameters_give_a_page(client: httpx.AsyncClient, query: str) -> None:
    assert (await client.get(f"{COOKIES}?{query}")).status_code == 200


async def test_filters_keep_each_other_and_can_be_taken_back(client: httpx.AsyncClient) -> None:
    path = "catalogsearch/result/?q=headphones"
    html = BeautifulSoup((await client.get(path)).text, "lxml")
    entry = html.select("#narrow-by-list a")[0]
    expected = int(re.sub(r"\D", "", entry.select(".count")[0].get_text()))
    narrowed = BeautifulSoup((await client.get(str(entry["href"]))).text, "lxml")
    amount = narrowed.select("#toolbar-amount .toolbar-number")[-1].get_text()
    assert int(amount) == expected
    clear = str(narrowed.select("a.filter-clear")[0]["href"])
    assert clear.endswith("/catalogsearch/result/index/?q=headphones")


async def test_search_says_what_it_looked_for_and_escapes_it(client: httpx.AsyncClient) -> None:
    hostile = "<script>alert(1)</script>\"'> cookies"
    response = await client.get("catalogsearch/result/", params={"q": hostile})
    assert "<script>alert" not in response.text
    html = BeautifulSoup(response.text, "lxml")
    assert html.select("h1 .base")[0].get_text() == f"Search results for: '{hostile}'"
    assert html.select("#search")[0]["value"] == hostile
    assert html.select("li.product-item")
    none = BeautifulSoup((await client.get("catalogsearch/result/?q=qwxzv")).text, "lxml")
    assert none.select("div.message.notice > div")[0].get_text() == "Your search returned no results."


@pytest.mark.slow
async def test_pages_lead_through_the_whole_category(client: httpx.AsyncClient, catalogue: Catalogue) -> None:
    path, names = "electronics/portable-audio-video/radios.html", list[str]()
    while path:
        html = BeautifulSoup((await client.get(path)).text, "lxml")
        names += [link.get_text(strip=True) for link in html.select("a.product-item-link")]
        following = html.select("a.action.next")
        path = str(following[0]["href"]) if following else ""
    assert names == [product.name for product in catalogue.products if product.category == "Radios"]


@pytest.mark.browser
async def test_a_visitor_searches_sorts_and_filters(page: Page, base: str) -> None:
    await page.goto(base)
    await expect(page.locator("button.action.search")).to_be_disabled()
    await page.fill("#search", "radio")
    await page.click("button.action.search")
    await expect(page.locator("h1")).to_have_text("Search results for: 'radio'")
    await page.select_option("#sorter", "price")
    await page.wait_for_url("**/catalogsearch/result/index/?q=radio&product_list_order=price")
    await page.click("[data-role=direction-switcher]")
    await page.wait_for_url("**product_list_dir=desc")
    await page.select_option("#limiter", "24")
    await expect(page.locator("li.product-item")).to_have_count(24)
    await page.click("#mode-list")
    await expect(page.locator(".products-list li.product-item")).to_have_count(24)
    await page.click("#narrow-by-list a >> nth=0")
    await page.click("a.filter-clear")
    await expect(page.locator(".filter-current")).to_have_count(0)
