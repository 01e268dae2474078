"""Form pairs for sensitivity studies: near each other in one attribute, near and far in the other."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, groupby, islice, zip_longest
from operator import attrgetter
from typing import Final

from experiments.designs.choice_sets.options import Options
from experiments.designs.choice_sets.pairings import ChoiceSet, is_close_in_price, is_close_in_rating
from interventions.apply.plan import ProductFacts

BINS: Final = 10
"""Bins of equal width from a category's lowest to its highest value, as in the consumer-choice study."""


def coverage(products: Iterable[ProductFacts], options: Options, rng: random.Random) -> list[ChoiceSet]:
    """Form disjoint pairs whose products cover the prices (or ratings) of a category.

    Categories are ranked by how many of their bins are filled. Of each, up to `per_category` products are
    chosen, from every bin in turn. Of their pairs that are within bounds in the other attribute, those of
    every distance between bins are taken in turn, the rarer long ones first, no product in two of them.
    """
    ordered = sorted(products, key=attrgetter("category", "key"))
    binned = [_binned(list(members), options) for _, members in groupby(ordered, attrgetter("category"))]
    binned.sort(key=lambda bins: -len(set(bins.values())))  # stable: ties by the category's name
    return [pair for bins in binned[: options.categories] for pair in _pairs(bins, options, rng)]


def _binned(products: Sequence[ProductFacts], options: Options) -> dict[ProductFacts, int]:
    values = [_value(product, options) for product in products]
    low, width = min(values), (max(values) - min(values)) / BINS
    return {
        product: min(int((value - low) / width), BINS - 1) if width else 0
        for product, value in zip(products, values, strict=True)
    }


def _value(product: ProductFacts, options: Options) -> float:
    return (product.price if options.pairing == "price-coverage" else product.rating) or 0.0


def _pairs(bins: dict[ProductFacts, int], options: Options, rng: random.Random) -> list[ChoiceSet]:
    within_bounds = is_close_in_rating if options.pairing == "price-coverage" else is_close_in_price
    by_distance: dict[int, list[ChoiceSet]] = defaultdict(list)
    for one, other in combinations(_spread(bins, options.per_category, rng), 2):
        if within_bounds((one, other), options):
            by_distance[abs(bins[one] - bins[other])].append((one, other))
    waiting = [iter(by_distance[distance]) for distance in sorted(by_distance, reverse=True)]
    used: set[ProductFacts] = set()
    pairs: list[ChoiceSet] = []
    while waiting:
        for candidates in list(waiting):
            pair = next((pair for pair in candidates if used.isdisjoint(pair)), None)
            if pair is None:
                waiting.remove(candidates)
            else:
                used.update(pair)
                pairs.append(pair)
    return pairs


def _spread(bins: dict[ProductFacts, int], count: int, rng: random.Random) -> list[ProductFacts]:
    """Up to `count` products, in random order within a bin, from each bin in turn."""
    members: dict[int, list[ProductFacts]] = defaultdict(list)
    for product in rng.sample(list(bins), len(bins)):
        members[bins[product]].append(product)
    turns = zip_longest(*(members[number] for number in sorted(members)))
    return list(islice((product for turn in turns for product in turn if product is not None), count))
