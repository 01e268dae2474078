"""Choice sets: comparable products of one category, no product twice, the same for the same seed."""

import csv
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.choice_sets import ChoiceSet, price_adjacent
from experiments.schema import Options
from interventions.plan import ProductFacts
from interventions.sitemap import product_key

CATALOGUE = Path(__file__).parents[3] / "shared/data/abxlab/products.csv"

options = st.builds(
    Options,
    set_size=st.integers(2, 4),
    sets=st.integers(1, 12),
    max_price_gap=st.sampled_from([0.0, 0.1, 0.5, 2.0]),
    max_rating_gap=st.sampled_from([0.0, 0.1, 0.3]),
)
products = st.lists(
    st.builds(
        ProductFacts,
        key=st.text("abc", min_size=1, max_size=8),
        category=st.sampled_from(["Wine", "Bread"]),
        price=st.none() | st.integers(0, 4000).map(lambda cents: cents / 100),
        rating=st.none() | st.integers(0, 100),
        reviews=st.integers(0, 500),
    ),
    max_size=40,
    unique_by=lambda product: product.key,
)


def assert_valid(sets: list[ChoiceSet], options: Options) -> None:
    assert len(sets) <= options.sets
    keys = [product.key for alternatives in sets for product in alternatives]
    assert len(keys) == len(set(keys)), "a product stands in two sets"
    for alternatives in sets:
        assert len(alternatives) == options.set_size
        for one, other in combinations(alternatives, 2):
            assert one.category == other.category
            assert one.price and other.price and one.rating and other.rating
            # In cents, and with room for the last bit of a float.
            gap = abs(one.price - other.price)
            assert gap <= options.max_price_gap * min(one.price, other.price) + 1e-9
            assert abs(one.rating - other.rating) <= options.max_rating_gap * 100 + 1e-9


@given(products, options, st.integers(0, 3))
def test_sets_are_disjoint_and_within_bounds(
    products: list[ProductFacts], options: Options, seed: int
) -> None:
    sets = price_adjacent(products, options, seed)
    assert_valid(sets, options)
    # The order in which the catalogue lists its products is of no consequence.
    assert price_adjacent(products[::-1], options, seed) == sets


@given(products, options)
def test_nothing_comparable_is_left_out_next_to_each_other(
    products: list[ProductFacts], options: Options
) -> None:
    """Of the neighbours by price that are in no set, no two that stand side by side are comparable."""
    every = options.model_copy(update={"set_size": 2, "sets": 1000})
    used = {product.key for pair in price_adjacent(products, every, 0) for product in pair}
    for category in ("Wine", "Bread"):
        ranked = sorted(
            (p for p in products if p.category == category and p.price and p.rating),
            key=lambda p: (p.price or 0, p.key),
        )
        for one, other in pairwise(ranked):
            if not used & {one.key, other.key}:
                with pytest.raises(AssertionError):
                    assert_valid([(one, other)], every)


def test_the_seed_decides_which_sets_and_in_which_order() -> None:
    many = [ProductFacts(f"p{n}", "Wine", price=10 + n / 100, rating=80) for n in range(60)]
    drawn = {seed: price_adjacent(many, Options(sets=10), seed) for seed in range(4)}
    assert price_adjacent(many, Options(sets=10), 2) == drawn[2]
    assert len({tuple(map(tuple, sets)) for sets in drawn.values()}) == 4
    cheaper_first = [pair[0].key < pair[1].key for sets in drawn.values() for pair in sets]
    assert 0 < sum(cheaper_first) < len(cheaper_first)


@pytest.mark.skipif(not CATALOGUE.exists(), reason=f"needs the public catalogue at {CATALOGUE}")
@pytest.mark.parametrize("set_size", [2, 3])
def test_the_public_catalogue_gives_valid_sets(set_size: int) -> None:
    with CATALOGUE.open(encoding="utf-8", newline="") as file:
        listed = [
            ProductFacts(
                key=product_key(row["product_url"].replace("${env.abxlab_url}", "http://shop/")),
                category=row["category"],
                name=row["product_name"],
                price=float(row["price"].lstrip("$").replace(",", "")),
                rating=int(row["rating"].rstrip("%")) if row["rating"] else None,
                reviews=int(row["reviews"] or 0),
            )
            for row in csv.DictReader(file)
        ]
    assert len(listed) > 1000
    options = Options(set_size=set_size, sets=100_000)
    sets = price_adjacent(listed, options, 42)
    assert_valid(sets, options)
    assert len(sets) > 100
    fewer = price_adjacent(listed, options.model_copy(update={"sets": 50}), 42)
    assert len(fewer) == 50
    assert {frozenset(p.key for p in pair) for pair in fewer} <= {frozenset(p.key for p in s) for s in sets}
