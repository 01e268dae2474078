"""Random effects: REML against statsmodels and brute force, and coverage in a simulation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from statsmodels.stats.meta_analysis import combine_effects

from analysis.estimators.partial_pooling import partial_pooling
from analysis.estimators.random_effects import fit_random_effects, reml_variance
from analysis.tables.errors import AnalysisError
from tests.support import size

WHOLE = st.integers(-3000, 3000).map(lambda number: number / 1000)
ERRORS = st.integers(50, 3000).map(lambda number: number / 1000)


def restricted(t: float, y: np.ndarray, v: np.ndarray) -> float:
    """Minus the restricted log-likelihood, by the determinant of the general linear model."""
    cov, x = np.diag(v + t), np.ones((len(y), 1))
    inverse = np.linalg.inv(cov)
    mean = np.linalg.solve(x.T @ inverse @ x, x.T @ inverse @ y)
    rest = y - x @ mean
    _, one = np.linalg.slogdet(cov)
    _, other = np.linalg.slogdet(x.T @ inverse @ x)
    return float(one + other + rest @ inverse @ rest) / 2


@given(st.lists(st.tuples(WHOLE, ERRORS), min_size=2, max_size=8))
def test_reml_is_the_highest_point(groups: list[tuple[float, float]]) -> None:
    y, error = np.array(groups).T
    found = reml_variance(y, error**2)
    grid = np.concatenate([[0.0], np.geomspace(1e-6, 100, 200)])
    best = min(restricted(t, y, error**2) for t in grid)
    assert found >= 0 and restricted(found, y, error**2) <= best + 1e-7


def test_mean_error_and_q_are_those_of_statsmodels() -> None:
    """Given the variance between groups, the error is that of Hartung, Knapp, Sidik and Jonkman."""
    rng = np.random.default_rng(0)
    y, error = rng.normal(0, 2, 8), rng.uniform(0.4, 1, 8)
    found = fit_random_effects(y, error)
    weight = 1 / (error**2 + found.sd**2)
    theirs = combine_effects(y, error**2, method_re="chi2", use_t=True)
    assert (found.q, found.p_equal) == pytest.approx((theirs.q, theirs.test_homogeneity().pvalue))
    mine = np.sqrt(weight @ (y - found.mean) ** 2 / 7 / weight.sum())
    assert found.std_error == pytest.approx(max(mine, weight.sum() ** -0.5))
    inverted = optimize.brentq(
        lambda t: combine_effects(y, error**2 + t, method_re="chi2").q - 16.0128, 0, 100
    )
    assert found.sd_low == pytest.approx(np.sqrt(inverted), rel=1e-4)


@pytest.mark.slow
def test_intervals_hold_the_truth() -> None:
    rng = np.random.default_rng(1)
    studies = size(25, 1000)
    for k, spread in ((2, 1.0), (5, 0.0), (8, 0.5), (12, 2.0)):
        held = np.zeros(4)
        for _ in range(studies):
            error, truth = rng.uniform(0.5, 1.5, k), rng.normal(0, spread, k)
            found = fit_random_effects(truth + error * rng.normal(size=k), error)
            inside = (found.shrunken_low <= truth) & (truth <= found.shrunken_high)
            held += [
                found.conf_low <= 0 <= found.conf_high,
                found.predict_low <= rng.normal(0, spread) <= found.predict_high,
                not (found.sd_low > spread or found.sd_high < spread),
                inside.mean() if k >= 5 else 1.0,
            ]
        assert (held / studies >= 0.95 - 3 * np.sqrt(0.0475 / studies)).all(), (k, spread, held / studies)


def test_groups_that_agree_are_pulled_together_and_two_are_not_ranked() -> None:
    same = fit_random_effects([1.0] * 6, [0.5] * 6)
    assert (same.sd, same.mean) == (0, pytest.approx(1))
    assert same.shrunken == pytest.approx(np.ones(6)) and np.isnan(same.sd_high)
    assert same.std_error == pytest.approx(0.5 / np.sqrt(6)), "not 0, although the groups are equal"
    two = fit_random_effects([0.0, 1.0], [0.1, 0.1])
    assert np.isnan(two.shrunken).all() and two.conf_low < -5 and two.predict_low < two.conf_low / 2
    apart = fit_random_effects(np.arange(6) * 100.0, np.ones(6))
    assert apart.shrunken == pytest.approx(np.arange(6) * 100.0, abs=0.1)
    for y, error in (([1.0], [1.0]), ([1.0, 2.0], [1.0, 0.0]), ([1.0, np.nan], [1.0, 1.0])):
        with pytest.raises(AnalysisError, match="random effects"):
            fit_random_effects(y, error)


def test_a_mean_is_never_beyond_what_it_is_a_mean_of() -> None:
    """A weighted mean of equal numbers is often a little more than these: 100.00000000000001 %."""
    rng = np.random.default_rng(0)
    for groups in rng.integers(2, 7, 200):
        assert fit_random_effects(np.full(groups, 100.0), rng.uniform(0.1, 9, groups)).mean == 100


def test_levels_without_an_error_are_counted_and_not_used() -> None:
    own = pd.DataFrame(
        {
            "term": "nudged", "group": "a", "part": ["text"] * 6 + ["one"], "level": list("abcdefg"),
            "estimate": [1.0, 2, 3, 4, 5, 9, 1], "std_error": [1.0, 1, 1, 1, 1, 0, 1], "note": "",
        }
    ).reindex(columns=["term", "group", "estimate", "std_error", "statistic", "p_value", "p_adjusted",
                       "conf_low", "conf_high", "n", "n_missing", "note", "part", "level"])  # fmt: skip
    common, each = partial_pooling(own)
    assert common.set_index("part").loc["text", ["n", "n_missing"]].tolist() == [5, 1]
    assert common.set_index("part").loc["one", "note"] == "needs 2 or more with a standard error, has 1"
    assert each["rank"].tolist()[:5] == [5, 4, 3, 2, 1] and each["rank"].isna().sum() == 2
    empty = partial_pooling(own[:0])
    assert all(frame.empty and "part" in frame for frame in empty)
