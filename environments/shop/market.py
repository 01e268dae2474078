"""Draw prices, ratings and review counts from the distributions of each leaf category.

The figures describe 7,546 products of a large web shop, category by category. Draws are stratified: of n
products exactly one falls into each n-th part of a distribution, so that 60 keep its quantiles.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

Quantiles = tuple[float, ...]

_TABLE: Final = """
Cookies                       | 908 |  6.98  13.00  21.79   35.16   69.65 | .63 | 45 60 76  88 100 |  3 10 12 12  25 | .19
Chocolate                     | 793 |  6.97  13.00  21.73   34.92   61.99 | .59 | 40 60 76  87 100 |  3 12 12 12 122 | .27
Toothpaste                    | 562 |  3.85   9.98  14.99   25.41   62.09 | .78 | 55 73 83  94 100 |  3 10 12 12 112 | .17
Mirrors                       | 549 | 18.49  52.99 139.41  239.99  537.08 | .83 | 60 75 85  96 100 |  4 11 12 12  24 | .36
Video Projectors              | 484 | 16.64  59.00 147.50  452.67 2052.55 | .83 | 58 66 80  93 100 |  2  8 12 12  88 | .20
Speakers                      | 478 | 20.95  55.13 153.45  450.00 2902.50 | .78 | 58 70 82  93 100 |  4 12 12 12  72 | .18
Digital Cameras               | 445 | 12.32  42.95 165.95  942.11 2882.20 | .69 | 60 70 80  90  99 |  4 11 12 12  66 | .17
Earbud Headphones             | 420 |  6.66  14.99  25.99   43.03  106.40 | .59 | 48 60 72  80  91 |  5 12 12 12  81 | .43
Deodorants & Antiperspirants  | 382 |  6.36  11.46  17.87   29.58   50.63 | .62 | 56 67 80  90 100 |  5 12 12 12 105 | .17
Cheese                        | 351 |  7.34  21.80  34.98   50.73  114.98 | .63 | 57 72 82  92 100 |  3 11 12 12  17 | .09
Cereals                       | 284 |  5.19  12.99  22.99   42.55   62.72 | .63 | 59 73 82  88  97 |  9 12 12 12  35 | .27
Artificial Plants & Flowers   | 270 |  8.99  15.99  25.23   68.47  262.17 | .66 | 57 71 83  90  95 |  8 12 12 12  22 | .44
Virtual Reality (VR) Headsets | 269 | 10.24  24.99  53.99  109.20  274.21 | .86 | 52 63 75  86 100 |  2 10 12 12  12 | .25
Mouthwash                     | 196 |  6.99  12.21  19.99   36.02   67.48 | .69 | 59 73 87 100 100 |  3 10 12 12  12 | .11
Televisions                   | 175 | 19.00 144.99 714.39 1515.99 4997.94 | .78 | 38 57 67  82 100 |  2 11 12 12  42 | .33
Over-Ear Headphones           | 148 | 11.23  19.99  39.43   99.99  415.89 | .50 | 58 67 81  90 100 |  4 12 12 12 112 | .53
Breads                        | 148 |  8.29  17.85  31.60   47.44   62.68 | .63 | 59 68 77  88  97 |  6 12 12 12  87 | .17
Lenses                        | 141 | 19.95 119.00 371.00  849.00 1891.95 | .45 | 73 80 88  96 100 |  5 11 12 12 112 | .18
Wine                          | 116 |  3.73  14.99  25.40   42.56   91.10 | .78 | 62 67 76  94 100 |  2  4 11 12 113 | .11
Yogurt                        |  89 |  3.01  13.32  33.83   52.90   65.53 | .54 | 60 67 84  87  93 | 11 12 12 12  55 | .08
Pasta & Noodles               |  78 |  6.71  13.08  21.56   29.74   60.13 | .51 | 59 70 78  89 100 | 11 12 12 12 113 | .24
Cell Phones                   |  68 | 25.75  67.98 159.00  295.50  570.75 | .37 | 39 56 65  73  80 | 11 12 12 12 115 | .40
Smartwatches                  |  56 | 26.74  37.48  49.93   78.54  226.50 | .59 | 60 62 77  81  99 |  6 12 12 12  16 | .66
Flashes                       |  50 | 17.09  69.99 108.41  229.00  399.97 | .58 | 50 67 80  87 100 |  3  4 12 12  12 | .08
On-Ear Headphones             |  44 | 11.43  15.74  22.56   49.99  118.49 | .41 | 62 68 73  78  88 |  8 12 12 12  12 | .45
Radios                        |  42 |  9.47  20.49  37.95   59.48  380.87 | .76 | 64 66 80  86  89 | 10 12 12 12  12 | .33
"""  # noqa: E501 - a table is read by its columns


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


MARKETS: Final[dict[str, Market]] = dict(map(_market, _TABLE.strip().splitlines()))
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
