"""Shares of dependent answers: against SciPy and statsmodels, and by simulation."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.estimators.shares import (
    clustered_share,
    exact_share_interval,
    wilson_share_interval,
)
from tests.support import size


@given(st.integers(1, 300), st.data())
def test_whole_numbers_give_the_intervals_that_are_known(n: int, data: st.DataObject) -> None:
    won = data.draw(st.integers(0, n))
    exact = stats.binomtest(won, n).proportion_ci(0.95, "exact")
    assert exact_share_interval(won / n, n) == pytest.approx((exact.low, exact.high), abs=1e-9)
    wilson = proportion_confint(won, n, method="wilson")
    assert wilson_share_interval(won / n, n) == pytest.approx(wilson, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
def test_an_interval_holds_its_share_and_counts_no_answer_twice(cells: list[tuple[int, int]]) -> None:
    won = np.array([min(pair) for pair in cells])
    asked = np.array([max(pair) for pair in cells])
    found = clustered_share(won, asked)
    if not asked.sum():
        assert np.isnan(found.low)
        return
    share = won.sum() / asked.sum()
    assert 0 <= found.low <= share <= found.high <= 1
    assert found.effective_n <= asked.sum() + 1e-9
    if share in (0, 1):
        clusters = asked.sum() ** 2 / (asked**2).sum()
        end = 0.025 ** (1 / clusters)
        assert (found.low, found.high) == pytest.approx((end, 1) if share else (0, 1 - end))
        assert found.effective_n <= (asked > 0).sum() + 1e-9


@pytest.mark.parametrize("sizes", [(2, 18), (1, 1, 20), (20, 20, 1), (5, 10, 20, 40)])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_clusters_of_unequal_sizes_that_are_answered_alike(sizes: tuple[int, ...], share: float) -> None:
    """All possible answers, each with its chance: the interval holds the share in 95 % of them."""
    held = 0.0
    for own in product([0, 1], repeat=len(sizes)):
        found = clustered_share(np.multiply(own, sizes), sizes)
        held += (found.low <= share <= found.high) * np.prod(np.where(own, share, 1 - share))
    assert held >= 0.95


@pytest.mark.parametrize("alike", [0.02, 1, 1e6])
@pytest.mark.parametrize(("clusters", "share"), [(4, 0.5), (12, 0.2), (40, 0.05)])
def test_the_interval_holds_the_share_whether_or_not_a_set_is_answered_alike(
    clusters: int, share: float, alike: float
) -> None:
    """alike: beta-binomial answers; from one answer to each set, to independent ones."""
    count, rng = size(300, 3000), np.random.default_rng([clusters, round(100 * alike)])
    own = rng.beta(share * alike, (1 - share) * alike, size=(count, clusters))
    won = rng.binomial(20, own)
    found = np.array([clustered_share(row, np.full(clusters, 20)) for row in won])
    held = (found[:, 0] <= share) & (share <= found[:, 1])
    assert held.sum() >= stats.binom.ppf(0.001, count, 0.94)
    if alike == 0.02:
        naive = np.transpose(proportion_confint(won.sum(axis=1), 20 * clusters, method="wilson"))
        assert ((naive[:, 0] <= share) & (share <= naive[:, 1])).mean() < 0.6
