"""What a page says of its products is read through the site map."""

import pytest

from interventions.apply.mapped_page import MappedPage
from interventions.apply.plan import ProductFacts
from interventions.authoring.page_facts import page_facts, shown_on
from interventions.errors import CannotEdit
from interventions.html.marking import Marks
from interventions.html.page import Page
from interventions.yaml.sitemap import SiteMap, load_site_map
from tests.interventions.shop_pages import (
    HOST,
    HTML,
    KEY,
    card,
    cart_page,
    category_page,
    product_page,
    shop_page,
)

SITE = load_site_map("onestopmarket")


def facts_of(body: bytes, site: SiteMap = SITE) -> tuple[str, list[ProductFacts]]:
    found = page_facts(body, content_type=HTML, url=f"{HOST}{KEY}.html?x", site=site)
    assert [*found.products] == [product.key for product in found.products.values()]
    return found.page_type, [*found.products.values()]


def test_a_products_own_page_tells_of_this_product_only() -> None:
    page = product_page(extra=f"<ol>{card('related', 8)}</ol>")
    assert facts_of(page) == ("product", [ProductFacts(KEY, "", "Quiet Harbor Oat Cookies", 19.99, 75, 12)])


def test_of_a_page_that_names_another_product_the_figures_are_those_of_its_address() -> None:
    site = SITE.model_copy(update={"roles": {**SITE.roles, "product.link": SITE.role("css:a.of")}})
    body = product_page(extra='<a class=of href="/another.html">the same in red</a>')
    page = Page(body, HTML, Marks(frozenset()), f"{HOST}{KEY}.html")
    ((key, _, shown), *_) = shown_on(MappedPage(page, site, known={KEY: "mine"}))
    assert (key, shown.price, shown.reviews) == ("mine", 19.99, 12)


def test_what_a_page_does_not_say_is_not_known() -> None:
    _, (product,) = facts_of(product_page(reviews=0))
    assert (product.price, product.rating, product.reviews) == (19.99, None, None)


def test_cards_and_rows() -> None:
    page_type, products = facts_of(category_page(card("one", 1, "$5.00", "5"), card("two", 2, rating=None)))
    assert page_type == "listing"
    assert [(p.key, p.price, p.rating) for p in products] == [("one", 5.0, 75), ("two", 19.99, None)]
    page_type, products = facts_of(cart_page(("one", "$5.00", 2, "$10.00")))
    assert (page_type, [(p.key, p.price) for p in products]) == ("cart", [("one", 5.0)])


def test_a_category_that_the_site_map_finds() -> None:
    site = SiteMap.model_validate(
        {**SITE.model_dump(), "roles": {**SITE.roles, "product.category": [{"css": "div.shelf"}]}}
    )
    _, (product,) = facts_of(product_page(extra="<div class=shelf> Cookies </div>"), site)
    assert product.category == "Cookies"


def test_a_page_without_products() -> None:
    assert facts_of(shop_page("cms", "<p>About us</p>", "<title>About</title>")) == ("other", [])


def test_a_page_that_cannot_be_read() -> None:
    with pytest.raises(CannotEdit):
        page_facts(b"\xff\xfe\x00", content_type="text/html; charset=utf-16", url=HOST, site=SITE)
