"""Pairs that differ in one attribute by little and by much, and hardly in the other."""

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.designs.catalogue.table import read_catalogue
from experiments.designs.choice_sets.coverage import coverage
from experiments.designs.choice_sets.options import Options
from experiments.designs.choice_sets.pairings import ChoiceSet
from interventions.apply.plan import ProductFacts

CATALOGUE = Path(__file__).parents[5] / "shared/data/abxlab/products.csv"

products = st.lists(
    st.builds(
        ProductFacts,
        key=st.uuids().map(str),
        category=st.sampled_from(["Wine", "Bread"]),
        price=st.integers(1, 9000).map(lambda cents: cents / 100),
        rating=st.integers(1, 100),
    ),
    max_size=30,
)


def gaps_of(pair: ChoiceSet) -> tuple[float, int]:
    """The price gap as a share of the lower price, and the rating gap in points."""
    one, other = pair
    assert one.price and other.price and one.rating and other.rating
    return abs(one.price - other.price) / min(one.price, other.price), abs(one.rating - other.rating)


@given(products, st.sampled_from(["price-coverage", "rating-coverage"]), st.integers(0, 3))
def test_the_other_attribute_is_held(products: list[ProductFacts], pairing: str, seed: int) -> None:
    options = Options.model_validate({"pairing": pairing, "per_category": 9})
    pairs = coverage(products, options, random.Random(seed))
    used = Counter(product for pair in pairs for product in pair)
    assert set(used.values()) <= {1}
    by_category = Counter(product.category for product in used)
    assert all(count <= options.per_category for count in by_category.values())
    for pair in pairs:
        price_gap, rating_gap = gaps_of(pair)
        assert pair[0].category == pair[1].category
        if pairing == "price-coverage":
            assert rating_gap <= 10
        else:
            assert price_gap <= 0.5 + 1e-9
    assert coverage(products[::-1], options, random.Random(seed)) == pairs


def test_products_are_taken_from_every_bin_in_turn() -> None:
    """Of a hundred at the lowest price and one in each bin above it, those above are all chosen."""
    crowd = [ProductFacts(f"low-{n}", "Wine", price=1.0, rating=80) for n in range(100)]
    spread = [ProductFacts(f"high-{n}", "Wine", price=1.5 + n, rating=80) for n in range(1, 10)]
    options = Options(pairing="price-coverage", per_category=12)
    pairs = coverage(crowd + spread, options, random.Random(0))
    chosen = {product.key for pair in pairs for product in pair}
    assert chosen >= {product.key for product in spread}
    assert len(chosen) == 12


def test_the_categories_that_fill_the_most_bins_come_first() -> None:
    narrow = [ProductFacts(f"n{n}", "Bread", price=5.0, rating=80) for n in range(10)]
    wide = [ProductFacts(f"w{n}", "Wine", price=5.0 + n, rating=80) for n in range(10)]
    options = Options(pairing="price-coverage", categories=1)
    pairs = coverage(narrow + wide, options, random.Random(0))
    assert {product.category for pair in pairs for product in pair} == {"Wine"}
    # All differ in rating alike, so that then the first by name is taken.
    by_rating = options.model_copy(update={"pairing": "rating-coverage"})
    pairs = coverage(narrow + wide, by_rating, random.Random(0))
    assert {product.category for pair in pairs for product in pair} == {"Bread"}


@pytest.mark.skipif(not CATALOGUE.exists(), reason=f"needs the public catalogue at {CATALOGUE}")
def test_the_public_catalogue_gives_small_and_large_differences() -> None:
    listed = read_catalogue(CATALOGUE).products
    by_price = Options(pairing="price-coverage", max_rating_gap=0)
    prices = sorted(gaps_of(pair)[0] for pair in coverage(listed, by_price, random.Random(1)))
    by_rating = Options(pairing="rating-coverage", max_price_gap=0.1)
    ratings = sorted(gaps_of(pair)[1] for pair in coverage(listed, by_rating, random.Random(1)))
    # A quarter near, a quarter far.
    assert len(prices) > 100 < len(ratings)
    assert prices[len(prices) // 4] < 0.5
    assert prices[3 * len(prices) // 4] > 2
    assert ratings[len(ratings) // 4] <= 12
    assert ratings[3 * len(ratings) // 4] >= 25
