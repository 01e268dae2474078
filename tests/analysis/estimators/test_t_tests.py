"""Means and intervals: published tables, agreement with SciPy and statsmodels, degenerate samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.estimators.t_tests import (
    Summary,
    one_sample_t,
    summarize,
    two_sample_t,
    wald_interval,
    wilson_interval,
)
from tests.analysis.conftest import published


def test_published_one_sample_tests() -> None:
    for check in published("one_sample_t"):
        given_, expected, tol = check["inputs"], check["expected"], check["tol"]
        test = one_sample_t(Summary(given_["n"], given_["mean"], given_["sd"]), given_["mu"])
        assert test.statistic == pytest.approx(expected["t"], abs=tol["t"])
        assert test.df == expected["df"]
        assert test.p_value == pytest.approx(expected["p_two_sided"], rel=tol["p_rel"], abs=0)
        assert test.effect_size == pytest.approx(expected["cohens_d"], abs=tol["cohens_d"])


def test_published_two_sample_tests() -> None:
    for check in published("two_sample"):
        i, expected, tol = check["inputs"], check["expected"], check["tol"]["abs"]
        older, newer = Summary(i["n1"], i["mean1"], i["sd1"]), Summary(i["n2"], i["mean2"], i["sd2"])
        for name, pooled in (("pooled", True), ("welch", False)):
            test = two_sample_t(older, newer, pooled=pooled)
            assert test.statistic == pytest.approx(expected[f"t_{name}"], abs=tol)
            assert test.df == pytest.approx(expected[f"df_{name}"], abs=tol)
            assert test.p_value == pytest.approx(expected[f"p2_{name}"], rel=check["tol"]["p_rel"], abs=0)
            assert test.effect_size == pytest.approx(expected["d_avgvar"], abs=tol)
        change = 100 * (newer.mean - older.mean) / older.mean
        assert change == pytest.approx(expected["pct_change"], abs=tol)


def test_wilson_ends_are_exact_and_agree_with_statsmodels() -> None:
    for n in (1, 2, 7, 100, 10_000):
        assert wilson_interval(0, n)[0] == 0.0
        assert wilson_interval(n, n)[1] == 1.0
        for x in range(0, n + 1, max(1, n // 7)):
            assert wilson_interval(x, n) == pytest.approx(
                proportion_confint(x, n, method="wilson"), abs=1e-12
            )
    assert np.isnan(wilson_interval(0, 0)).all()
    assert np.isnan(wald_interval(np.nan, 0)).all()


def test_wald_is_clipped() -> None:
    low, high = wald_interval(0.95, 6)
    assert (low, high) == (pytest.approx(0.95 - 1.959963985 * np.sqrt(0.95 * 0.05 / 6)), 1.0)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 40), (25, 25)])
@pytest.mark.parametrize("spread", [0.01, 1.0, 200.0])
def test_agreement_with_scipy(sizes: tuple[int, int], spread: float) -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(30, 10, sizes[0]), rng.normal(33, spread, sizes[1])
    one = stats.ttest_1samp(first, 29)
    mine = one_sample_t(summarize(first), 29)
    assert (mine.statistic, mine.p_value) == pytest.approx((one.statistic, one.pvalue), rel=1e-10)
    interval = one.confidence_interval()
    assert (mine.conf_low + 29, mine.conf_high + 29) == pytest.approx(interval, rel=1e-10)
    for pooled in (True, False):
        two = stats.ttest_ind(second, first, equal_var=pooled)
        mine = two_sample_t(summarize(first), summarize(second), pooled=pooled)
        found = (mine.statistic, mine.p_value, mine.df, mine.conf_low, mine.conf_high)
        expected = (two.statistic, two.pvalue, two.df, *two.confidence_interval())
        assert found == pytest.approx(expected, rel=1e-10)


def test_few_or_equal_responses() -> None:
    nothing = one_sample_t(summarize([]))
    assert np.isnan([nothing.estimate, nothing.p_value]).all() and nothing.note == "no responses"
    single = one_sample_t(summarize([4.0]), 1)
    assert single.estimate == 3
    assert np.isnan([single.std_error, single.statistic, single.conf_low, single.effect_size]).all()
    same = one_sample_t(summarize([0.1] * 3), 0.1)
    assert np.isnan(same.statistic) and same.p_value == 1 and "no difference, no variance" in same.note
    shifted = one_sample_t(summarize([0.1] * 3), 0.2)
    assert shifted.statistic == -np.inf and shifted.p_value == 0 and "degenerate" in shifted.note
    assert np.isnan([shifted.effect_size, shifted.conf_low, shifted.conf_high]).all()


@pytest.mark.parametrize("pooled", [True, False])
def test_few_or_equal_responses_of_two_samples(pooled: bool) -> None:
    flat, high = summarize([3.0, 3.0]), summarize([5.0, 5.0, 5.0])
    assert two_sample_t(flat, flat, pooled=pooled).p_value == 1
    degenerate = two_sample_t(flat, high, pooled=pooled)
    assert degenerate.statistic == np.inf and degenerate.p_value == 0 and np.isnan(degenerate.effect_size)
    assert np.isnan(two_sample_t(flat, summarize([]), pooled=pooled).estimate)
    single = two_sample_t(flat, summarize([7.0]), pooled=pooled)
    assert single.estimate == 4 and np.isnan(single.statistic)
    half = two_sample_t(flat, summarize([4.0, 6.0]), pooled=pooled)
    assert np.isfinite([half.statistic, half.df, half.effect_size]).all()


@given(st.floats(-1e6, 1e6), st.integers(2, 50))
def test_equal_values_have_no_variance(value: float, n: int) -> None:
    assert summarize([value] * n) == Summary(n, value, 0.0)


def test_missing_values_are_left_out() -> None:
    assert summarize([1.0, np.nan, 3.0]) == Summary(2, 2.0, pytest.approx(np.sqrt(2)))


def test_published_shares() -> None:
    for check in published("wilson"):
        x, n = check["inputs"]["successes"], check["inputs"]["n"]
        expected, tol = check["expected"], check["tol"]["abs"]
        assert wilson_interval(x, n) == pytest.approx((expected["lo"], expected["hi"]), abs=tol)
        assert wald_interval(x / n, n) == pytest.approx((expected["wald_lo"], expected["wald_hi"]), abs=tol)
