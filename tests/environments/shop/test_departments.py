from hypothesis import given
from hypothesis import strategies as st

from environments.shop.catalogue import Catalogue
from environments.shop.departments import slug
from environments.shop.market import MARKETS


def test_every_address_is_used_once_and_every_category_lists_products(catalogue: Catalogue) -> None:
    urls = [category.url for category in catalogue.categories]
    ids = [category.id for category in catalogue.categories]
    assert len(set(urls)) == len(urls)
    assert sorted(ids) == list(range(3, 3 + len(ids)))
    for category in catalogue.categories:
        assert category.leaves
        assert set(category.leaves) <= set(MARKETS)
        assert 1 <= len(category.path) <= 3


def test_products_are_listed_under_their_own_path(catalogue: Catalogue) -> None:
    by_path = {category.path: category for category in catalogue.categories}
    for product in catalogue.products:
        for depth in range(1, len(product.path) + 1):
            assert product.category in by_path[product.path[:depth]].leaves


def test_categories_and_products_do_not_share_an_address(catalogue: Catalogue) -> None:
    assert {category.url for category in catalogue.categories}.isdisjoint(
        f"{product.key}.html" for product in catalogue.products
    )


def test_slugs_as_the_shop_makes_them() -> None:
    assert slug("Home Décor Products") == "home-decor-products"
    assert slug("Virtual Reality (VR) Headsets") == "virtual-reality-vr-headsets"
    assert slug('6" f/2.8 — Größe!') == "6-f-2-8-gro-e"


@given(st.text())
def test_a_slug_stays_as_it_is(text: str) -> None:
    once = slug(text)
    assert slug(once) == once
    assert "--" not in once
