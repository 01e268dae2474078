from hypothesis import given
from hypothesis import strategies as st

from environments.shop.catalogue import Catalogue
from environments.shop.departments import slug
from environments.shop.market import MARKETS


def test_every_category_has_its_address_and_lists_its_products(catalogue: Catalogue) -> None:
    urls = [category.url for category in catalogue.categories]
    urls += [f"{product.key}.html" for product in catalogue.products]
    ids = [category.id for category in catalogue.categories]
    assert len(set(urls)) == len(urls)
    assert sorted(ids) == list(range(3, 3 + len(ids)))
    by_path = {category.path: category for category in catalogue.categories}
    for category in catalogue.categories:
        assert category.leaves and set(category.leaves) <= set(MARKETS)
    for product in catalogue.products:
        for depth in range(1, len(product.path) + 1):
            assert product.category in by_path[product.path[:depth]].leaves


def test_slugs_as_the_shop_makes_them() -> None:
    assert slug("Home Décor Products") == "home-decor-products"
    assert slug("Virtual Reality (VR) Headsets") == "virtual-reality-vr-headsets"
    assert slug('6" f/2.8 — Größe!') == "6-f-2-8-gro-e"


@given(st.text())
def test_a_slug_stays_as_it_is(text: str) -> None:
    once = slug(text)
    assert slug(once) == once
    assert "--" not in once
