"""Exact tests against full enumeration, scipy and statsmodels; score intervals against Tango's formula."""

from collections import Counter
from itertools import permutations, product
from math import factorial, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.stats import binomtest, chi2
from statsmodels.stats.contingency_tables import mcnemar

from analysis.estimators.randomisation import (
    LEAST_P,
    Null,
    effect_of,
    exact_p,
    flipped,
    one_of,
    permuted,
    score_interval,
)
from tests.support import size

MARKS = "abcde"
Stratum = tuple[tuple[str, ...], tuple[str, ...]]
OUTCOMES = st.lists(st.sampled_from([-1.0, -0.5, 1.0]), min_size=2, max_size=4)


def effect(marks: tuple[str, ...], choices: tuple[str, ...]) -> float:
    """How often an option is chosen where it is marked, less where it is not; the mean over options."""
    found = []
    for option in marks:
        own = [choice == option for mark, choice in zip(marks, choices, strict=True) if mark == option]
        rest = [choice == option for mark, choice in zip(marks, choices, strict=True) if mark != option]
        found.append(np.mean(own) - np.mean(rest))
    return float(np.mean(found))


@st.composite
def strata(draw: st.DrawFn, most: int = 4) -> Stratum:
    """Trials that mark an option each, and what was chosen in them; x is an option that is never marked."""
    marks = tuple(MARKS[: draw(st.integers(2, most))])
    return marks, tuple(draw(st.sampled_from((*marks, "x"))) for _ in marks)


def null_of(marks: tuple[str, ...], choices: tuple[str, ...]) -> tuple[float, Null]:
    chosen = tuple(sorted(count for option, count in Counter(choices).items() if option in marks))
    won = sum(mark == choice for mark, choice in zip(marks, choices, strict=True))
    return effect_of(won, len(marks), sum(chosen)), permuted(len(marks), chosen)


@settings(max_examples=size(60, 1_000))
@given(stratum=strata(5))
def test_a_permuted_stratum_is_all_orders_of_its_marks(
    stratum: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    marks, choices = stratum
    value, null = null_of(marks, choices)
    assert value == pytest.approx(effect(marks, choices))
    chances: Counter[float] = Counter()
    for order in permutations(marks):
        chances[round(effect(order, choices), 9)] += 1 / factorial(len(marks))
    assert {round(value, 9): chance for value, chance in zip(null.values, null.chances, strict=True)} == (
        pytest.approx(dict(chances))
    )
    assert np.dot(null.values, null.chances) == pytest.approx(0, abs=1e-12)


@settings(max_examples=size(40, 500))
@given(some=st.lists(strata(3), min_size=1, max_size=4))
def test_the_test_is_the_full_enumeration(some: list[Stratum]) -> None:
    values, nulls = zip(*(null_of(*each) for each in some), strict=True)
    sums = [
        sum(effect(order, choices) for order, (_, choices) in zip(orders, some, strict=True))
        for orders in product(*(permutations(marks) for marks, _ in some))
    ]
    as_far = np.mean([abs(each) >= abs(sum(values)) - 1e-9 for each in sums])
    assert exact_p(values, nulls) == pytest.approx(as_far, abs=1e-12)


@settings(max_examples=size(40, 500))
@given(some=st.lists(OUTCOMES, min_size=1, max_size=5))
def test_one_of_several_is_each_in_turn(some: list[list[float]]) -> None:
    def less(values: list[float], at: int) -> float:
        return float(np.mean(values[:at] + values[at + 1 :])) - values[at]

    observed = [less(values, len(values) - 1) for values in some]
    sums = [
        sum(less(values, at) for values, at in zip(some, places, strict=True))
        for places in product(*(range(len(values)) for values in some))
    ]
    as_far = np.mean([abs(each) >= abs(sum(observed)) - 1e-9 for each in sums])
    assert exact_p(observed, [one_of(tuple(values)) for values in some]) == pytest.approx(as_far, abs=1e-12)


@pytest.mark.parametrize(
    ("up", "down", "none"), [(3, 0, 5), (10, 4, 20), (0, 0, 4), (40, 10, 5), (500, 420, 3_000), (1, 1, 0)]
)
def test_in_pairs_it_is_the_test_of_mcnemar(up: int, down: int, none: int) -> None:
    values = [1.0] * up + [-1.0] * down + [0.0] * none
    found = exact_p(values, [flipped(value) for value in values])
    table = [[none, up], [down, 0]]
    assert found == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-6)
    assert found == pytest.approx(binomtest(up, up + down).pvalue if up + down else 1, rel=1e-6)


def test_the_smallest_p_value_is_given_as_such() -> None:
    assert exact_p([1.0] * 500, [flipped(1.0)] * 500) == LEAST_P
    values = [1.0] * 30 + [-0.7] * 3  # not a multiple of a small fraction
    assert exact_p(values, [flipped(value) for value in values]) < 1e-5
    assert exact_p([0.1 / 3] * 100_000, [flipped(0.1 / 3)] * 100_000) == LEAST_P


def tango(up: int, down: int, n: int) -> tuple[float, float]:
    """Tango (1998), with the closed form of the restricted estimate."""
    z = sqrt(chi2.ppf(0.95, 1))

    def statistic(difference: float) -> float:
        b = -up - down + (2 * n - up + down) * difference
        c = -down * difference * (1 - difference)
        other = (sqrt(max(b * b - 8 * n * c, 0)) - b) / (4 * n)
        variance = n * (2 * other + difference * (1 - difference))
        return float((up - down - n * difference) / sqrt(max(variance, 1e-300)))

    edge, observed = 1 - 1e-12, (up - down) / n
    low = -1.0 if up - down == -n else brentq(lambda at: statistic(at) - z, -edge, observed)
    high = 1.0 if up - down == n else brentq(lambda at: statistic(at) + z, observed, edge)
    return low, high


@settings(max_examples=size(60, 2_000))
@given(up=st.integers(0, 60), down=st.integers(0, 60), none=st.integers(0, 60))
def test_in_pairs_the_interval_is_that_of_tango(up: int, down: int, none: int) -> None:
    n = up + down + none
    if not n:
        return
    values = np.array([1.0] * up + [-1.0] * down + [0.0] * none)
    assert score_interval(values, -1, 1) == pytest.approx(tango(up, down, n), abs=1e-6)


def test_no_difference_at_all_gives_an_interval() -> None:
    square = float(chi2.ppf(0.95, 1))
    found = score_interval(np.zeros(40), -1, 1)
    assert found == pytest.approx((-square / (40 + square), square / (40 + square)))


THIRDS = st.lists(st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0]), min_size=2, max_size=25)


@settings(max_examples=size(10, 200), deadline=None)
@given(values=THIRDS)
def test_the_ends_are_a_quantile_away_under_the_most_likely_distribution(values: list[float]) -> None:
    """The distribution is found by a general optimizer."""
    own = np.array(values)
    low, high = score_interval(own, -0.5, 1)
    assert -0.5 <= low <= own.mean() <= high <= 1
    turned = score_interval(-own, -1, 0.5)
    assert (-turned[1], -turned[0]) == pytest.approx((low, high), abs=1e-7)
    points = np.unique([*values, -0.5, 1])
    counts = np.array([(own == point).sum() for point in points])
    for end in (low, high):
        if not -0.49 < end < 0.99:
            continue
        best = minimize(
            lambda p: -np.sum(counts * np.log(np.maximum(p, 1e-12))),
            np.full(len(points), 1 / len(points)),
            bounds=[(0, 1)] * len(points),
            constraints=[
                {"type": "eq", "fun": lambda p: p.sum() - 1},
                {"type": "eq", "fun": lambda p, end=end: p @ points - end},
            ],
            options={"ftol": 1e-12, "maxiter": 500},
        )
        variance = best.x @ (points - end) ** 2
        assert len(own) * (own.mean() - end) ** 2 == pytest.approx(chi2.ppf(0.95, 1) * variance, rel=2e-2)
