"""The shop in other languages: no text of its own stays English, and what is filled in stays as it is."""

import json
import re
from dataclasses import replace

import httpx
import pytest
from bs4 import BeautifulSoup
from starlette.applications import Starlette

from environments.shop.app import create_app
from environments.shop.catalogue import Catalogue
from environments.shop.storefront import Storefront
from environments.shop.wording import WORDS, words_of
from tests.environments.shop.examples import Examples

THEIRS = (
    "script, style, nav, .product-item-name, .product-item-link, #description, .breadcrumbs, .review-title,"
    " .review-content, .review-author strong, .filter-options-content, .sku .value, .review-fieldset strong"
)
SAME = {"One Stop Market", "one_stop_market_logo", "html"}
READ = ("title", "placeholder", "alt", "aria-label", "data-th")
"""The attributes that people or agents read."""


def texts(html: str) -> set[str]:
    """All that a page says, but for what products, categories and reviews say."""
    page = BeautifulSoup(html, "lxml")
    for theirs in page.select(THEIRS):
        theirs.decompose()
    said = {re.sub(r"\s+", " ", str(text)).strip() for text in page.find_all(string=True)}
    return (said | {str(tag[name]) for name in READ for tag in page.select(f"[{name}]")}) - {""}


async def walked(app: Starlette, examples: Examples) -> tuple[dict[str, str], str]:
    """The pages on the way to an order, and what the script is told; by what the page is."""
    pages: dict[str, str] = {}
    product, category = examples.rated, examples.rated.path
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://shop.test", follow_redirects=True
    ) as client:
        for name, address in {
            "home": "/",
            "product": f"/{product.key}.html",
            "search": f"/catalogsearch/result/?q={category[-1].split()[0]}&price=0-100",
            "list": f"/catalogsearch/result/?q={category[-1].split()[0]}&product_list_mode=list",
            "nothing": "/catalogsearch/result/?q=qqqq",
            "reviews": f"/review/product/listAjax/id/{product.id}/",
            "empty cart": "/checkout/cart/",
            "absent": "/nothing-here",
        }.items():
            pages[name] = (await client.get(address)).text
        form = {"form_key": client.cookies["form_key"], "qty": "2"}
        xhr = {"X-Requested-With": "XMLHttpRequest"}
        await client.post(f"/checkout/cart/add/uenc/x/product/{product.id}/", data=form, headers=xhr)
        section = await client.get("/customer/section/load/?sections=cart,messages")
        pages["cart"] = (await client.get("/checkout/cart/")).text
        pages["checkout"] = (await client.get("/checkout/")).text
        names = re.findall(r'id="co-(\w+)"', pages["checkout"])
        address = dict.fromkeys(names, "x") | {"form_key": form["form_key"]}
        pages["success"] = (await client.post("/checkout/onepage/saveOrder/", data=address)).text
    (message,) = json.loads(section.text)["messages"]["messages"]
    return pages, message["text"]


@pytest.mark.parametrize("language", sorted(WORDS))
async def test_no_text_of_its_own_is_left_in_english(
    language: str, catalogue: Catalogue, examples: Examples
) -> None:
    other = replace(catalogue, language=f"{language}-CH" if language == "de" else language)
    english, told = await walked(create_app(catalogue), examples)
    found, message = await walked(create_app(other), examples)
    words, theirs = words_of(language), {product.name for product in catalogue.everything}
    for name, html in found.items():
        alike = (
            (texts(html) & texts(english[name])) - theirs - {text for text in words if words[text] == text}
        )
        assert {text for text in alike if re.search(r"[A-Za-z]{3}", text)} <= SAME, name
    assert told != message and "shopping cart" not in message
    script = Storefront(other, None).static["js/shop.js"].decode()  # type: ignore[arg-type]
    for text in ("Adding...", "Add to Cart", "Cart Subtotal", "View and Edit Cart", "Close"):
        assert text not in script and words[text] in script


def test_all_languages_have_the_same_texts_and_english_stays_as_it_is(catalogue: Catalogue) -> None:
    for words in WORDS.values():
        assert set(words) == set(WORDS["de"])
        assert not any(mark in said for said in words.values() for mark in "<>")
    assert not words_of("en") and not words_of("ja")
