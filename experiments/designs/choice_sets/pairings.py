"""Form disjoint choice sets of neighbours by price: in a category, or among its products of one rating."""

import random
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter

from experiments.designs.choice_sets.options import Options
from interventions.apply.plan import ProductFacts

ChoiceSet = tuple[ProductFacts, ...]


def price_adjacent(products: Iterable[ProductFacts], options: Options) -> list[ChoiceSet]:
    """Form sets of neighbours by price within a category, as the consumer-choice study pairs them.

    Within each category the products are sorted by price; runs of `set_size` neighbours whose price and
    rating gaps are all within bounds become sets, no product in two of them.
    """
    return _neighbours(products, options, group=lambda product: product.category)


def matched_ratings(products: Iterable[ProductFacts], options: Options) -> list[ChoiceSet]:
    """Form as many disjoint sets as possible of products of one category and one rating.

    This is an exact maximum matching. In order of price, whatever lies between two products that are close
    enough is close enough to both (a proper interval graph), so that any disjoint sets can be rearranged into
    as many runs of neighbours, and taking each run as soon as there is one finds the most. For the same
    reason it is the maximum within the k nearest neighbours by price, whatever k.
    """
    return _neighbours(products, options, group=lambda product: (product.category, product.rating))


def random_sets(products: Iterable[ProductFacts], options: Options, rng: random.Random) -> list[ChoiceSet]:
    """Form as many disjoint sets as there can be of random products of a category, however far apart."""
    of, size = attrgetter("category"), options.set_size
    shuffled = sorted(products, key=attrgetter("key"))
    rng.shuffle(shuffled)
    groups = [tuple(members) for _, members in groupby(sorted(shuffled, key=of), of)]
    return [own[at : at + size] for own in groups for at in range(0, len(own) - size + 1, size)]


def _neighbours(
    products: Iterable[ProductFacts], options: Options, group: Callable[[ProductFacts], object]
) -> list[ChoiceSet]:
    found: list[ChoiceSet] = []
    for _, members in groupby(sorted(products, key=attrgetter("category", "rating", "key")), group):
        ranked = sorted(members, key=lambda product: (product.price, product.key))
        start = 0
        while start + options.set_size <= len(ranked):
            candidate = ranked[start : start + options.set_size]
            if is_close_in_price(candidate, options) and is_close_in_rating(candidate, options):
                found.append(tuple(candidate))
                start += options.set_size
            else:
                start += 1
    return found


def is_close_in_price(products: Sequence[ProductFacts], options: Options) -> bool:
    """Return whether |price difference| / lower price is within bounds for every two products."""
    prices = [product.price or 0.0 for product in products]
    return max(prices) - min(prices) <= options.max_price_gap * min(prices)


def is_close_in_rating(products: Sequence[ProductFacts], options: Options) -> bool:
    """Return whether the rating difference is within bounds for every two products."""
    ratings = [product.rating or 0 for product in products]
    return max(ratings) - min(ratings) <= options.max_rating_gap * 100
