"""Products that have a page but stand in no listing."""

import re

import httpx
from markupsafe import escape

from environments.shop.catalogue import Catalogue
from environments.shop.store import ProductQuery, Store


def test_they_are_products_of_their_own(catalogue: Catalogue) -> None:
    assert len(catalogue.unlisted) == 6
    for field in ("id", "key", "sku", "name"):
        values = [getattr(product, field) for product in catalogue.everything]
        assert len(set(values)) == len(values), field
    for product in catalogue.unlisted:
        assert catalogue.by_key[product.key] is product
        assert len(product.path) == 2
        assert product.path[-1] == product.category
        assert product.in_stock and not product.options and product.rating is None


def test_no_listing_and_no_search_finds_them(catalogue: Catalogue) -> None:
    store = Store(catalogue)
    assert store.find(ProductQuery()).paging.total == len(catalogue.products)
    for product in catalogue.unlisted:
        found = store.find(
            ProductQuery(text=product.name, order="relevance", descending=True, limit=36)
        ).products
        assert product.name not in {other.name for other in found}
        assert store.product(product.id) is product


async def test_each_can_be_bought_and_its_page_tells_its_price_once_in_figures(base, catalogue) -> None:
    """What a question about the price takes away is all there is of it."""
    async with httpx.AsyncClient(base_url=base, follow_redirects=True) as client:
        for product in catalogue.unlisted:
            page = (await client.get(f"/{product.key}.html")).text
            assert re.sub(r"<[^>]+>", " ", page).count(f"{product.price:.2f}") == 1
            picture_url = re.search(r'gallery-placeholder__image" src="([^"]+)"', page)
            action = re.search(r'action="([^"]*checkout/cart/add[^"]*)"', page)
            key = re.search(r'name="form_key" type="hidden" value="([^"]*)"', page)
            assert picture_url and action and key
            assert (await client.get(picture_url[1])).headers["content-type"].startswith("image/svg")
            await client.post(action[1], data={"form_key": key[1], "product": str(product.id), "qty": "1"})
        cart = (await client.get("/checkout/cart/")).text
        assert all(escape(product.name) in cart for product in catalogue.unlisted)
