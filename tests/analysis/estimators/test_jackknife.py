"""The jackknife against brute force: refitted without each cluster, each outcome's weight by itself."""

import numpy as np
import pytest
from hypothesis import given, strategies
from scipy import stats

from analysis.estimators.lpm import Contrast, Model
from analysis.tables.frame import Floats, Ints
from tests.support import size

SIZES = strategies.lists(strategies.integers(2, 6), min_size=12, max_size=16)
"""Pairs in each cluster."""


def clusters(sizes: list[int], seed: int) -> tuple[Floats, Ints, Ints]:
    """Two regressors in pairs, in clusters of so many pairs; columns, trial and cluster by row."""
    rng = np.random.default_rng(seed)
    pairs = np.repeat(np.arange(len(sizes)), sizes)
    trial = np.repeat(np.arange(len(pairs)), 2)
    x = np.column_stack([rng.normal(size=len(trial)), rng.integers(0, 2, len(trial)).astype(float)])
    return x, trial, np.repeat(pairs, 2)


def refitted(x: Floats, trial: Ints, weights: Floats) -> Floats:
    """The weight of each outcome in a combination, by least squares on dummies (N)."""
    dummies = (trial[:, None] == np.unique(trial)).astype(float)
    full = np.column_stack([x, dummies])
    found: Floats = weights @ np.linalg.pinv(full, rcond=1e-10)[: x.shape[1]]
    return found


def by_hand(x: Floats, trial: Ints, code: Ints, weights: Floats, count: int) -> Floats:
    """The moves as functions of the outcomes (count x N); 0 of clusters that there are not."""
    whole = refitted(x, trial, weights)
    moves = []
    for cluster in range(count):
        rest = code != cluster
        without = np.zeros(len(trial))
        without[rest] = refitted(x[rest], trial[rest], weights)
        moves.append(without - whole)
    return np.array(moves)


def satterthwaite(functions: Floats) -> float:
    values = np.linalg.eigvalsh(functions @ functions.T)
    return float(values.sum() ** 2 / (values**2).sum())


def contrast(x: Floats, trial: Ints, code: Ints, y: Floats, weights: Floats) -> Contrast:
    return Model(x, trial).fit(y, {"category": code}).contrast(weights)


@given(sizes=SIZES, seed=strategies.integers(0, 10_000))
def test_moves_and_their_products_are_those_of_refitting(sizes: list[int], seed: int) -> None:
    x, trial, code = clusters(sizes, seed)
    rng = np.random.default_rng(seed)
    y, weights = rng.normal(size=len(trial)), rng.normal(size=2)
    found = contrast(x, trial, code, y, weights)
    if np.isnan(found.std_error):  # one cluster alone tells a regressor, or none does
        assert found.note.startswith(("no interval", "not identified")) or "fits every choice" in found.note
        return
    functions = by_hand(x, trial, code, weights, len(sizes))
    assert found.jackknife
    own = found.jackknife.codes
    assert found.jackknife.moves == pytest.approx(functions[own] @ y, abs=1e-8)
    assert found.jackknife.products == pytest.approx(functions[own] @ functions[own].T, abs=1e-8)
    assert found.df == pytest.approx(satterthwaite(functions[own]))
    assert 1 - 1e-9 <= found.df <= len(own) - 1 + 1e-9


@pytest.mark.slow
@given(sizes=SIZES, seed=strategies.integers(0, 10_000))
def test_the_error_of_a_difference_is_that_of_both_fits_at_once(sizes: list[int], seed: int) -> None:
    """Two fits to other trials, of clusters most of which both have: their outcomes are independent."""
    fits = []
    for lost in (0, 1):
        x, trial, code = clusters([*sizes, 3, 3], seed + lost)
        kept = code != lost
        fits.append((x[kept], trial[kept], code[kept]))
    rng = np.random.default_rng(seed)
    weights, outcomes = rng.normal(size=2), [rng.normal(size=len(x)) for x, _, _ in fits]
    one, other = (contrast(*fit, y, weights) for fit, y in zip(fits, outcomes, strict=True))
    if np.isnan(one.std_error) or np.isnan(other.std_error):
        assert np.isnan(one.less(other).std_error)
        return
    count = len(sizes) + 2
    both = np.hstack([sign * by_hand(*fit, weights, count) for sign, fit in zip((1, -1), fits, strict=True)])
    moves, apart = both @ np.concatenate(outcomes), one.less(other)
    assert apart.std_error == pytest.approx(np.sqrt((count - 1) / count * moves @ moves))
    assert apart.df == pytest.approx(satterthwaite(both))


def test_equal_clusters_have_one_degree_of_freedom_less() -> None:
    """A mean of clusters that are alike: t of their own means."""
    rng = np.random.default_rng(1)
    trial, code = np.repeat(np.arange(60), 2), np.repeat(np.arange(15), 8)
    x, y = np.tile([1.0, 0.0], 60)[:, None], rng.normal(size=120)
    found = contrast(x, trial, code, y, np.ones(1))
    means = (y[::2] - y[1::2]).reshape(15, 4).mean(axis=1)
    expected = stats.ttest_1samp(means, 0)
    assert (found.df, found.statistic) == pytest.approx((14, expected.statistic))
    assert found.p_value == pytest.approx(expected.pvalue)
    half_width = (expected.confidence_interval().high - expected.confidence_interval().low) / 2
    assert found.half_width == pytest.approx(half_width)


def test_a_few_clusters_that_decide_leave_few_degrees_of_freedom() -> None:
    """Prices differ three times as much in three of 13 sets, and an agent answers each set alike.

    With the degrees of freedom of the clusters that decide, no more than 5 % of true zeros are rejected; with
    one less than there are clusters more are.
    """
    sizes, studies = np.array([1.0] * 10 + [3.0] * 3), size(4_000, 20_000)
    trial, code = np.repeat(np.arange(26), 2), np.repeat(np.arange(13), 4)
    x = np.where(np.arange(52) % 2 == 0, sizes[code], 0)[:, None]
    answers = np.random.default_rng(4).normal(size=(13, studies))[code]
    model = Model(x, trial)
    outcomes = np.where(np.arange(52)[:, None] % 2 == 0, answers, -answers) / 2
    fit = model.fit(outcomes[:, 0], {"category": code})
    assert fit.left_out
    within = model.centred(outcomes)
    coefficients = model.inverse @ (model.within.T @ within)
    found = fit.left_out.jackknife(np.ones(1), within - model.within @ coefficients)
    statistic = coefficients[0] / np.sqrt(found.variance)
    assert fit.contrast(np.ones(1)).statistic == pytest.approx(statistic[0])
    p_values = [2 * stats.t.sf(abs(statistic), df) for df in (found.df, 12)]
    rejected = [float((each < 0.05).mean()) for each in p_values]
    assert found.df < 6
    assert rejected[0] < 0.05
    assert rejected[1] > 0.055
