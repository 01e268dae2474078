from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.shop.catalogue import Catalogue, generate
from environments.shop.store import Paging, ProductQuery, Store

STORE = Store(generate(0))


def test_a_category_lists_its_products(catalogue: Catalogue) -> None:
    listing = STORE.find(ProductQuery(leaves=("Cookies",)))
    cookies = [product for product in catalogue.products if product.category == "Cookies"]
    assert listing.paging.total == len(cookies)
    assert [product.id for product in listing.products] == [product.id for product in cookies[:12]]
    assert listing.leaf_counts == {"Cookies": len(cookies)}
    assert sum(part.count for part in listing.price_ranges) == len(cookies)
    for part in listing.price_ranges:
        found = STORE.find(ProductQuery(leaves=("Cookies",), price=(part.low, part.high)))
        assert found.paging.total == part.count


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_by_price_runs_through_all_pages(descending: bool) -> None:
    prices = []
    for page in range(1, 6):
        listing = STORE.find(
            ProductQuery(leaves=("Radios",), order="price", descending=descending, page=page)
        )
        prices += [product.cents for product in listing.products]
    assert len(prices) == 60
    assert all((a >= b) if descending else (a <= b) for a, b in pairwise(prices))


def test_price_filter_excludes_its_upper_end() -> None:
    listing = STORE.find(ProductQuery(price=(10, 20), limit=36))
    assert listing.paging.total > 36
    assert all(1000 <= product.cents < 2000 for product in listing.products)
    above = STORE.find(ProductQuery(price=(20, None))).paging.total
    below = STORE.find(ProductQuery(price=(None, 10))).paging.total
    assert above + below + listing.paging.total == STORE.find(ProductQuery()).paging.total


def test_search_finds_any_of_the_words_and_ranks_all_of_them_first() -> None:
    both = STORE.find(ProductQuery(text="wireless radio", order="relevance", descending=True))
    either = [STORE.find(ProductQuery(text=word)).paging.total for word in ("wireless", "radio")]
    assert max(either) < both.paging.total <= sum(either)
    exact = STORE.find(ProductQuery(text=both.products[0].name, order="relevance", descending=True))
    assert exact.products[0] == both.products[0]


def test_search_knows_word_forms_and_accents() -> None:
    def found(text: str) -> int:
        return STORE.find(ProductQuery(text=text)).paging.total

    assert found("cookie") == found("COOKIES") > found(" ?! ") == 0
    assert found("rose wine") == found("rosé wine")


@given(
    st.text(max_size=60) | st.sampled_from(['"', "AND", "NEAR(", "name:x", "*", "'; DROP TABLE product; --"])
)
def test_no_search_text_is_read_as_syntax(text: str) -> None:
    assert STORE.find(ProductQuery(text=text)).paging.total >= 0
    assert STORE.find(ProductQuery(leaves=(f"{text}?",))).paging.total == 0


@given(st.integers(0, 500), st.integers(1, 50), st.integers(-5, 1000))
def test_paging_stays_inside(total: int, limit: int, wanted: int) -> None:
    paging = Paging(total, limit, wanted)
    assert 1 <= paging.page <= paging.pages
    assert paging.last <= total
    assert paging.last - paging.first < limit
