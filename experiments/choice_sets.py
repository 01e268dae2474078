"""Which products stand against each other: disjoint choice sets of comparable products."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

from experiments.schema import Options
from interventions.plan import ProductFacts

ChoiceSet = tuple[ProductFacts, ...]


def price_adjacent(products: Iterable[ProductFacts], options: Options, seed: int) -> list[ChoiceSet]:
    """Neighbours by price within a category, as the consumer-choice study pairs them.

    Within each category the rated products are sorted by price; runs of `set_size` neighbours whose price
    and rating gaps are all within bounds become sets, no product in two of them. Of these, `sets` are sampled
    without replacement, and the alternatives of each are put in random order.

    Returns:
        At most `options.sets` sets; fewer when the catalogue does not hold more.
    """
    by_category: dict[str, list[ProductFacts]] = defaultdict(list)
    for product in products:
        if product.price and product.rating:
            by_category[product.category].append(product)
    found: list[ChoiceSet] = []
    for category in sorted(by_category):
        ranked = sorted(by_category[category], key=lambda product: (product.price or 0.0, product.key))
        start = 0
        while start + options.set_size <= len(ranked):
            candidate = ranked[start : start + options.set_size]
            if is_comparable(candidate, options):
                found.append(tuple(candidate))
                start += options.set_size
            else:
                start += 1
    rng = random.Random(seed)  # noqa: S311 - a design, not a secret
    sampled = rng.sample(found, min(options.sets, len(found)))
    return [tuple(rng.sample(choice_set, len(choice_set))) for choice_set in sampled]


def is_comparable(products: Sequence[ProductFacts], options: Options) -> bool:
    """Whether every two products are close in price and in rating."""
    prices = [product.price or 0.0 for product in products]
    ratings = [product.rating or 0 for product in products]
    return (
        max(prices) - min(prices) <= options.max_price_gap * min(prices)
        and max(ratings) - min(ratings) <= options.max_rating_gap * 100
    )
