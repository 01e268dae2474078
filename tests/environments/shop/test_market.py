import csv
import random
import statistics
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.shop.market import MARKETS, percent, price_cents, quantile, ratings, strata

DATA = Path(__file__).parents[4] / "shared" / "data" / "abxlab" / "products.csv"


@given(st.integers(1, 300), st.integers(0, 1000))
def test_strata_hold_one_draw_in_each_part(n: int, seed: int) -> None:
    draws = strata(n, random.Random(seed))
    assert sorted(int(draw * n) for draw in draws) == list(range(n))


@given(st.floats(0, 1))
def test_quantile_is_straight_between_knots(u: float) -> None:
    assert quantile(u, ((0, 10), (1, 20))) == 10 + 10 * u
    assert quantile(u, ((0, 5), (0.5, 5), (1, 5))) == 5


@given(st.sampled_from(sorted(MARKETS)), st.floats(0, 1), st.floats(0, 1, exclude_max=True))
def test_prices_are_whole_cents_above_zero(category: str, u: float, ending: float) -> None:
    cents = price_cents(MARKETS[category], u, ending)
    assert isinstance(cents, int)
    assert cents >= 100
    if ending < 0.29:
        assert cents % 100 == 99


@given(st.sampled_from(sorted(MARKETS)), st.integers(1, 200), st.integers(0, 1000))
def test_star_sums_are_possible(category: str, n: int, seed: int) -> None:
    pairs = ratings(MARKETS[category], n, random.Random(seed))
    assert len(pairs) == n
    for stars, count in pairs:
        assert 1 <= count <= MARKETS[category].reviews[4]
        assert count <= stars <= 5 * count


def test_percent_rounds_halves_up() -> None:
    assert percent(5, 1) == 100
    assert percent(4, 1) == 80
    assert percent(19, 8) == 48  # 47.5
    assert percent(38, 12) == 63  # 63.33


@pytest.mark.skipif(not DATA.exists(), reason="the study's product table is not beside the project")
@pytest.mark.parametrize("category", MARKETS)
def test_the_table_describes_the_study(category: str) -> None:
    """Quantiles by linear interpolation, as printed: prices to the cent, ratings and counts to the unit."""
    with DATA.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["category"] == category]
    market = MARKETS[category]
    assert len(rows) == market.size
    prices = percentiles(float(row["price"].strip("$").replace(",", "")) for row in rows)
    assert [prices[q] for q in (5, 25, 50, 75, 95)] == pytest.approx(market.price, abs=0.01)
    shown = percentiles(float(row["rating"].strip("%")) for row in rows if row["rating"])
    assert [shown[q] for q in (10, 25, 50, 75, 90)] == pytest.approx(market.rating, abs=1)
    counts = [int(row["reviews"]) for row in rows if int(row["reviews"])]
    found = percentiles(counts)
    assert [found[q] for q in (25, 50, 75, 90)] == pytest.approx(market.reviews[:4], abs=1)
    assert max(counts) == market.reviews[4]
    assert sum(not row["rating"] for row in rows) / len(rows) == pytest.approx(market.unrated, abs=0.0051)
    assert sum(row["has_options"] == "True" for row in rows) / len(rows) == pytest.approx(
        market.optioned, abs=0.0051
    )


def percentiles(values: Iterable[float]) -> list[float]:
    return [0.0, *statistics.quantiles(values, n=100, method="inclusive")]
