import random
import statistics

import pytest

from agents.simulated.valuation import Valuation, shipped_valuations, willingness_to_pay


def test_the_median_and_spread_are_those_of_the_draws() -> None:
    source = random.Random(1)
    worth = [Valuation(median=50, spread=0.3).draw(source) for _ in range(4_000)]
    assert statistics.median(worth) == pytest.approx(50, rel=0.02)
    assert statistics.quantiles(worth, n=1000)[840] / 50 == pytest.approx(2.718281828**0.3, rel=0.05)


@pytest.mark.parametrize(
    ("anchor", "weight", "answer"), [(None, 0.4, 50), (95, 0, 50), (95, 0.4, 68), (15, 0.4, 36), (95, 1, 95)]
)
def test_an_anchor_pulls_by_its_weight(anchor: float | None, weight: float, answer: float) -> None:
    assert willingness_to_pay(50, anchor, weight) == pytest.approx(answer)


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("USB-C Docking Station, 9 in 1", "docking station"),
        ("Dark Roast Coffee Pods, 96 count", "coffee pods"),
        ("Adjustable Weighted Vest 20 lb", "weighted vest"),
        ("A History of Lighthouses (Paperback)", "paperback"),
        ("Paper Towels, 12 Rolls", "paper towels"),
        ("Women's Linen Shorts", "shorts"),
        ("Oak Paper Towels, softer than any coffee pods", "paper towels"),
    ],
)
def test_the_six_products_are_known(title: str, words: str) -> None:
    table = shipped_valuations()
    assert table.of(f"{title}. What would you pay?") is table.products[words]
    assert table.of("desk lamp") is table.other
