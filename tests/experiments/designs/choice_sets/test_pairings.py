"""Choice sets of comparable products, no product twice; of matched ratings, as many as there can be."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.designs.catalogue.table import read_catalogue
from experiments.designs.choice_sets.options import Options
from experiments.designs.choice_sets.pairings import (
    ChoiceSet,
    is_close_in_price,
    is_close_in_rating,
    matched_ratings,
    price_adjacent,
)
from interventions.apply.plan import ProductFacts

CATALOGUE = Path(__file__).parents[5] / "shared/data/abxlab/products.csv"
NEIGHBOURS = 10
"""How many neighbours by price the consumer-choice study looks at."""

gaps = st.sampled_from([0.0, 0.1, 0.5, 2.0])
options = st.builds(
    Options, set_size=st.integers(2, 4), max_price_gap=gaps, max_rating_gap=st.sampled_from([0.0, 0.1, 0.3])
)
products = st.lists(
    st.builds(
        ProductFacts,
        key=st.text("abc", min_size=1, max_size=8),
        category=st.sampled_from(["Wine", "Bread"]),
        price=st.integers(1, 4000).map(lambda cents: cents / 100),
        rating=st.integers(1, 100),
    ),
    max_size=40,
    unique_by=lambda product: product.key,
)
alike = st.lists(
    st.builds(
        ProductFacts,
        key=st.uuids().map(str),
        category=st.sampled_from(["Wine", "Bread"]),
        price=st.integers(100, 400).map(lambda cents: cents / 100),
        rating=st.sampled_from([60, 80]),
    ),
    max_size=26,
)
"""Few ratings and near prices, so that there is much to match."""


def assert_valid(sets: Sequence[ChoiceSet], options: Options) -> None:
    keys = [product.key for alternatives in sets for product in alternatives]
    assert len(keys) == len(set(keys)), "a product stands in two sets"
    for alternatives in sets:
        assert len(alternatives) == options.set_size
        for one, other in combinations(alternatives, 2):
            assert one.category == other.category
            assert one.price and other.price and one.rating and other.rating
            gap = abs(one.price - other.price)
            # With room for the last bit of a float.
            assert gap <= options.max_price_gap * min(one.price, other.price) + 1e-9
            assert abs(one.rating - other.rating) <= options.max_rating_gap * 100 + 1e-9


def candidates(products: Iterable[ProductFacts], options: Options) -> list[ChoiceSet]:
    """The study's candidates: within the nearest neighbours by price of one rating and category."""
    groups = defaultdict(list)
    for product in products:
        groups[product.category, product.rating].append(product)
    found = []
    for members in groups.values():
        ranked = sorted(members, key=lambda product: (product.price, product.key))
        for index, one in enumerate(ranked):
            near = ranked[index + 1 : index + 1 + NEIGHBOURS]
            found += [(one, other) for other in near if is_close_in_price((one, other), options)]
    return found


def largest_matching(products: Iterable[ProductFacts], options: Options) -> int:
    graph = networkx.Graph()
    graph.add_edges_from((one.key, other.key) for one, other in candidates(products, options))
    return len(networkx.max_weight_matching(graph, maxcardinality=True))


def most_sets(products: Sequence[ProductFacts], options: Options) -> int:
    """By trying everything."""
    best = 0
    for chosen in combinations(products, options.set_size):
        if is_close_in_price(chosen, options) and len({(p.category, p.rating) for p in chosen}) == 1:
            # The first product of the list that is in any set is in `chosen`; those before it are in none.
            after = products[products.index(chosen[0]) + 1 :]
            rest = [product for product in after if product not in chosen]
            best = max(best, 1 + most_sets(rest, options))
    return best


@given(products, options)
def test_sets_are_disjoint_and_within_bounds(products: list[ProductFacts], options: Options) -> None:
    sets = price_adjacent(products, options)
    assert_valid(sets, options)
    # The order in which the catalogue lists its products is of no consequence.
    assert price_adjacent(products[::-1], options) == sets


@given(products, options)
def test_nothing_comparable_is_left_out_next_to_each_other(
    products: list[ProductFacts], options: Options
) -> None:
    """Of the neighbours by price that are in no set, no two that stand side by side are comparable."""
    pairs = options.model_copy(update={"set_size": 2})
    used = {product.key for pair in price_adjacent(products, pairs) for product in pair}
    for category in ("Wine", "Bread"):
        ranked = sorted(
            (product for product in products if product.category == category),
            key=lambda product: (product.price or 0, product.key),
        )
        for neighbours in pairwise(ranked):
            if not used & {product.key for product in neighbours}:
                assert not (is_close_in_price(neighbours, pairs) and is_close_in_rating(neighbours, pairs))


@given(alike, gaps)
def test_matched_pairs_are_a_maximum_matching(products: list[ProductFacts], gap: float) -> None:
    options = Options(pairing="matched-ratings", max_price_gap=gap, max_rating_gap=0)
    pairs = matched_ratings(products, options)
    assert_valid(pairs, options)
    assert len(pairs) == largest_matching(products, options)
    assert matched_ratings(products[::-1], options) == pairs


@given(alike.map(lambda products: products[:8]), gaps)
def test_larger_matched_sets_are_as_many_as_there_can_be(products: list[ProductFacts], gap: float) -> None:
    options = Options(pairing="matched-ratings", set_size=3, max_price_gap=gap, max_rating_gap=0)
    trios = matched_ratings(products, options)
    assert_valid(trios, options)
    assert len(trios) == most_sets(products, options)


@pytest.mark.skipif(not CATALOGUE.exists(), reason=f"needs the public catalogue at {CATALOGUE}")
def test_the_public_catalogue_gives_the_most_matched_pairs_in_each_category() -> None:
    listed = read_catalogue(CATALOGUE).products
    options = Options(pairing="matched-ratings", max_rating_gap=0)
    pairs = matched_ratings(listed, options)
    assert_valid(pairs, options)
    for category in {product.category for product in listed}:
        own = [product for product in listed if product.category == category]
        found = sum(pair[0].category == category for pair in pairs)
        assert found == largest_matching(own, options), category
