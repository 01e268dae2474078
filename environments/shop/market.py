"""Draw prices, ratings and review counts from the distributions of each leaf category.

The figures describe 7,546 products of a large web shop, category by category. Draws are stratified: of n
products exactly one falls into each n-th part of a distribution, so that 60 keep its quantiles.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from interventions.data_file import read_source

Quantiles = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Market:
    """Distributions of one category.

    `size`: products observed. `price`: US dollars at the 5, 25, 50, 75 and 95 % quantiles. `rating`: percent
    at the 10, 25, 50, 75 and 90 % quantiles of rated products. `reviews`: counts at the 25, 50, 75 and 90 %
    quantiles and the maximum. `unrated`, `optioned`: shares of products without reviews and with options.
    """

    size: int
    price: Quantiles
    unrated: float
    rating: Quantiles
    reviews: Quantiles
    optioned: float


def _market(row: str) -> tuple[str, Market]:
    name, size, price, unrated, rating, reviews, optioned = (cell.strip() for cell in row.split("|"))
    price_q, rating_q, reviews_q = (tuple(map(float, cell.split())) for cell in (price, rating, reviews))
    return name, Market(int(size), price_q, float(unrated), rating_q, reviews_q, float(optioned))


MARKETS: Final[dict[str, Market]] = dict(map(_market, read_source(__file__, "markets.txt").splitlines()))
"""The distributions by leaf category; the order is that of the catalogue."""

_ENDINGS: Final = ((0.29, 99), (0.39, 0), (0.45, 95), (0.48, 98), (0.50, 90), (0.52, 49))
"""Cumulative shares of price endings, in cents; other prices keep the cents they were drawn with."""


def strata(n: int, rng: random.Random) -> list[float]:
    """Draw n numbers from (0, 1), one in each n-th part, in random order."""
    draws = [(k + rng.random()) / n for k in range(n)]
    rng.shuffle(draws)
    return draws


def quantile(u: float, knots: Sequence[tuple[float, float]]) -> float:
    """Return the value at u of the quantile function that is linear between the knots (u, value)."""
    for (u0, x0), (u1, x1) in pairwise(knots):
        if u <= u1:
            return x0 + (x1 - x0) * (u - u0) / (u1 - u0)
    return knots[-1][1]


def price_cents(market: Market, u: float, ending: float) -> int:
    """Return the price at quantile u, in cents.

    It is moved to a usual ending where `ending` (uniform in 0-1) says so.
    """
    p5, p25, p50, p75, p95 = market.price
    knots = ((0, 0.7 * p5), (0.05, p5), (0.25, p25), (0.5, p50), (0.75, p75), (0.95, p95), (1, 1.6 * p95))
    cents = round(100 * quantile(u, knots))
    for share, last in _ENDINGS:
        if ending < share:
            return max(100, round((cents - last) / 100) * 100) + last
    return cents


def ratings(market: Market, n: int, rng: random.Random) -> list[tuple[int, int]]:
    """Draw n pairs (star sum, review count) of rated products.

    A mean of few reviews varies more than a mean of many, so the most extreme ratings go to the smallest
    counts, more often the high ones: people who write the only review are mostly delighted.
    """
    r25, r50, r75, r90, most = market.reviews
    count_knots = ((0, 0.5), (0.25, r25), (0.5, r50), (0.75, r75), (0.9, r90), (0.985, r90), (1, most))
    p10, p25, p50, p75, p90 = market.rating
    lowest, highest = max(20, p10 - 25), 100 if p90 > 90 else p90 + 10
    knots = ((0, lowest), (0.1, p10), (0.25, p25), (0.5, p50), (0.75, p75), (0.9, p90), (1, highest))
    counts = sorted(int(quantile(u, count_knots) + 0.5) for u in strata(n, rng))
    draws = sorted(strata(n, rng), key=lambda u: abs(u - 0.42) + 0.45 * rng.random(), reverse=True)
    pairs = []
    for u, count in zip(draws, counts, strict=True):
        stars = int(quantile(u, knots) * count / 20 + 0.5)
        pairs.append((min(5 * count, max(count, stars)), count))
    rng.shuffle(pairs)
    return pairs


def percent(stars: int, count: int) -> int:
    """Return the mean of `count` star values as a percentage of five stars.

    `stars` is the sum of the star values. The result is an integer, halves rounded up.
    """
    return (40 * stars + count) // (2 * count)
