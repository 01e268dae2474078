"""The smallest effect that a design can show: simulated designs with that effect find it in four of five."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.estimators.detectable import detectable_d, detectable_effect
from analysis.tables.errors import AnalysisError

REPEATS = 4_000


@pytest.mark.parametrize(("trials", "options"), [(160, 2), (900, 2), (600, 3), (2_000, 4)])
def test_an_effect_of_this_size_is_found_in_four_of_five_studies(trials: int, options: int) -> None:
    effect = detectable_effect(trials, options) / 100
    # Carrier minus the mean of the others: p - (1 - p)/(m - 1) = effect.
    share = (effect * (options - 1) + 1) / options
    rng = np.random.default_rng(7)
    chosen = rng.binomial(trials, share, REPEATS) / trials
    error = np.sqrt(chosen * (1 - chosen) / trials)
    found = np.abs(chosen - 1 / options) / error > stats.norm.isf(0.025)
    assert found.mean() == pytest.approx(0.8, abs=0.04)


@pytest.mark.parametrize("per_group", [5, 20, 100])
def test_a_difference_of_this_size_is_found_by_four_of_five_t_tests(per_group: int) -> None:
    rng = np.random.default_rng(3)
    first = rng.normal(0, 1, (REPEATS, per_group))
    second = rng.normal(detectable_d(per_group), 1, (REPEATS, per_group))
    found = stats.ttest_ind(first, second, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)


@given(trials=st.integers(1, 10**6), options=st.integers(2, 8))
def test_four_times_the_trials_show_effects_of_half_the_size(trials: int, options: int) -> None:
    assert detectable_effect(4 * trials, options) == pytest.approx(detectable_effect(trials, options) / 2)


def test_designs_that_show_nothing() -> None:
    with pytest.raises(AnalysisError, match="0 trials of 2 options"):
        detectable_effect(0, 2)
    with pytest.raises(AnalysisError, match="at least 2 answers"):
        detectable_d(1)
