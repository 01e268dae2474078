"""Shares of dependent answers: against SciPy and statsmodels, and by simulation."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.estimators.shares import FEW_EXCEPTIONS, share_interval
from tests.support import size


@given(st.integers(10, 200), st.integers(10, 200))
def test_independent_answers_have_wilsons_interval(won: int, lost: int) -> None:
    """With t for the normal quantile, and the variance that is not biased: n - 1 answers for n."""
    n = won + lost
    found = share_interval(np.arange(n) < won, np.ones(n))
    level = 2 * stats.norm.sf(stats.t.ppf(0.975, n - 1))
    wilson = proportion_confint(won / n * (n - 1), n - 1, level, method="wilson")
    assert found[:2] == pytest.approx(wilson) and found.effective_n == pytest.approx(n - 1)


@given(st.integers(0, 9), st.integers(200, 2000))
def test_rare_answers_have_the_mid_p_interval_of_poissons_distribution(won: int, n: int) -> None:
    """Against its definition: the chance of fewer, and half of that of as many, is .025 or .975."""
    for rare in (True, False):
        found = share_interval((np.arange(n) < won) == rare, np.ones(n))
        ends = np.array(found[:2] if rare else (1 - found.high, 1 - found.low)) * n
        chance = (stats.poisson.cdf(won, ends) + stats.poisson.cdf(won - 1, ends)) / 2
        assert chance[1] == pytest.approx(0.025, abs=1e-6) and found.note == FEW_EXCEPTIONS
        assert chance[0] == pytest.approx(0.975, abs=1e-6) if won else ends[0] < 1e-9


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 4)), max_size=40))
def test_an_interval_holds_its_share(cells: list[tuple[int, int, int]]) -> None:
    won = np.array([min(first, second) for first, second, _ in cells])
    asked = np.array([max(first, second) for first, second, _ in cells])
    for strata in (None, [stratum for *_, stratum in cells]):
        found = share_interval(won, asked, strata)
        if not asked.sum():
            assert np.isnan(found.low)
            continue
        assert 0 <= found.low <= won.sum() / asked.sum() + 1e-12
        assert won.sum() / asked.sum() - 1e-12 <= found.high <= 1 and found.low < found.high


@pytest.mark.parametrize("sizes", [(2, 18), (1, 1, 20), (20, 20, 1), (5, 10, 20, 40), (1,) * 8])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.5])
def test_clusters_of_unequal_sizes_that_are_answered_alike(sizes: tuple[int, ...], share: float) -> None:
    """All possible answers, each with its chance: the interval holds the share in 95 % of them."""
    held = 0.0
    for own in product([0, 1], repeat=len(sizes)):
        found = share_interval(np.multiply(own, sizes), sizes)
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
    found = np.array([share_interval(row, np.full(clusters, 20))[:2] for row in won])
    held = (found[:, 0] <= share) & (share <= found[:, 1])
    assert held.sum() >= stats.binom.ppf(0.001, count, 0.94)
    if alike == 0.02:
        naive = np.transpose(proportion_confint(won.sum(axis=1), 20 * clusters, method="wilson"))
        assert ((naive[:, 0] <= share) & (share <= naive[:, 1])).mean() < 0.6


STRATA = [(6, 20, (0.5, 0.5)), (6, 20, (0.02, 0.6)), (6, 20, (0.9, 0.99)), (36, 17, (0.02, 0.97))]
RARE = [(36, 17, (0.002, 0.998)), (36, 6, (0.01, 0.99)), (40, 2, (0.1, 0.1)), (5, 6, (0.05, 0.05))]


@pytest.mark.slow
@pytest.mark.parametrize(("strata", "clusters", "shares"), [*STRATA, *RARE])
@pytest.mark.parametrize("repeats", [1, 3])
def test_the_interval_of_these_strata_holds_the_share_and_is_narrow(
    strata: int, clusters: int, shares: tuple[float, float], repeats: int
) -> None:
    """Each cluster's repeats are alike. Narrow: at most 1.10 times as wide as needed, with ten exceptions."""
    count, rng = size(200, 2000), np.random.default_rng([strata, clusters, repeats])
    own = np.resize(shares, strata)
    stratum = np.repeat(np.arange(strata), clusters)
    won = repeats * rng.binomial(1, own[stratum], size=(count, len(stratum)))
    found = [share_interval(row, np.full(len(stratum), repeats), stratum)[:2] for row in won]
    low, high = np.transpose(found)
    held = (low <= own.mean()) & (own.mean() <= high)
    assert held.sum() >= stats.binom.ppf(0.001, count, 0.94)
    if (strata, clusters, shares) in STRATA:
        needed = 2 * stats.norm.ppf(0.975) * won.mean(axis=1).std() / repeats
        assert (high - low).mean() < (1.1 + 2 / np.sqrt(count)) * needed


def test_strata_of_one_cluster_are_one() -> None:
    won = [0, 1] * 10
    together = share_interval(won, [1] * 20)
    assert share_interval(won, [1] * 20, range(20)) == together
    assert share_interval(won, [1] * 20, [*([0] * 19), 1]) == together
    assert share_interval(won, [1] * 20, [0, 1] * 10).high < together.high
