"""The e-process and the confidence sequence: against enumeration, integration and ten thousand studies."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from analysis.estimators.sequential import confidence_sequence, is_within, log_evidence, log_wealth
from analysis.tables.frame import Floats
from tests.support import size

ALPHA = 0.05
COUNTS = st.integers(0, 40)


def integrated(mean: float, wins: int, losses: int, ties: int) -> float:
    """The same wealth from its definition: a bet b on d multiplies the stake by 1 + b (d - mean)."""
    lowest, highest = -1 / (1 - mean), 1 / (1 + mean)

    def wealth(angle: float) -> float:
        bet = lowest + (highest - lowest) * np.sin(angle) ** 2  # Beta(1/2, 1/2) on the range of bets
        won, lost, tied = (1 + bet * (d - mean) for d in (1, -1, 0))
        return float(won**wins * lost**losses * tied**ties * 2 / np.pi)

    return float(integrate.quad(wealth, 0, np.pi / 2, epsabs=0, epsrel=1e-11, limit=500)[0])


@settings(max_examples=size(20, 300), deadline=None)
@given(mean=st.floats(-0.95, 0.95), wins=COUNTS, losses=COUNTS, ties=COUNTS)
def test_the_wealth_is_what_its_definition_integrates_to(
    mean: float, wins: int, losses: int, ties: int
) -> None:
    found = float(log_wealth(mean, wins, losses, ties))
    assert found == pytest.approx(log(integrated(mean, wins, losses, ties)), abs=1e-7)


@cache
def exact_wealth(wins: int, losses: int) -> Fraction:
    """The Beta mixture of a path as a product of the chances it has foretold: (wins + 1/2) / (n + 1)."""
    if not wins and not losses:
        return Fraction(1)
    if wins:
        return exact_wealth(wins - 1, losses) * 2 * Fraction(2 * wins - 1, 2 * (wins + losses))
    return exact_wealth(wins, losses - 1) * 2 * Fraction(2 * losses - 1, 2 * (wins + losses))


def test_of_all_paths_no_larger_share_than_alpha_is_ever_rejected() -> None:
    """All 2^12 paths of discordant strata, each as likely under the null; every step is a look."""
    length, most = 12, []
    for path in product((0, 1), repeat=length):
        wins = [sum(path[:n]) for n in range(1, length + 1)]
        wealth = [exact_wealth(won, n - won) for n, won in enumerate(wins, 1)]
        most.append(max(wealth))
    for alpha in (Fraction(1, 2), Fraction(1, 5), Fraction(1, 20)):
        assert 0 < sum(each >= 1 / alpha for each in most) / Fraction(2**length) <= alpha
    paths = [exact_wealth(wins, length - wins) * comb(length, wins) for wins in range(length + 1)]
    assert sum(paths) == 2**length, "nobody wins on average"
    for wins in range(length + 1):
        found = float(np.exp(log_evidence(wins, length - wins)))
        assert float(exact_wealth(wins, length - wins)) == pytest.approx(found)


@pytest.mark.thorough
@pytest.mark.slow
def test_of_all_paths_with_ties_no_larger_share_ever_misses_their_mean() -> None:
    """All 3^8 paths of a true mean: the chance that one of the intervals misses it is at most alpha."""
    alpha, chances = 0.3, {1: 0.5, 0: 0.3, -1: 0.2}
    truth, missed = 0.5 - 0.2, 0.0
    for path in product(chances, repeat=8):
        chance = float(np.prod([chances[step] for step in path]))
        counts = [[path[:n].count(kind) for n in range(1, 9)] for kind in (1, -1, 0)]
        wealth = log_wealth(truth, *(np.array(each) for each in counts))
        missed += chance * bool((wealth >= -log(alpha)).any())
    assert 0 < missed <= alpha


@pytest.mark.slow
@given(wins=COUNTS, losses=COUNTS, ties=COUNTS, alpha=st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=size(30, 600), deadline=None)
def test_the_interval_is_the_inversion_of_the_test(wins: int, losses: int, ties: int, alpha: float) -> None:
    low, high = confidence_sequence(wins, losses, ties, alpha)
    n = wins + losses + ties
    assert -1 <= low < high <= 1
    if n:
        assert low <= (wins - losses) / n <= high
    assert (low > 0 or high < 0) == (float(log_evidence(wins, losses)) >= -log(alpha))
    grid = np.linspace(-0.999, 0.999, 401)
    inside = log_wealth(grid, wins, losses, ties) < -log(alpha)
    assert np.array_equal(inside, (grid > low) & (grid < high))
    turned = confidence_sequence(losses, wins, ties, alpha)
    assert turned == pytest.approx((-high, -low), abs=1e-7)
    for margin in (0.05, 0.3, 0.7):
        assert is_within(margin, wins, losses, ties, alpha) == (-margin < low and high < margin)


def test_without_any_difference_the_interval_narrows_and_is_never_empty() -> None:
    widths = [confidence_sequence(0, 0, ties, ALPHA)[1] for ties in (0, 1, 10, 120, 1_000, 20_000)]
    assert widths[0] == 1 and widths == sorted(widths, reverse=True) and 0 < widths[-1] < 0.001
    assert confidence_sequence(60, 0, 0, ALPHA)[1] == 1 and confidence_sequence(60, 0, 0, ALPHA)[0] > 0.8


def first_crossing(steps: Floats) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
    """The look at which each path (rows) is rejected, of steps of -1, 0 and 1; the length: none."""
    wins, losses = (steps > 0).cumsum(1), (steps < 0).cumsum(1)
    crossed = log_evidence(wins, losses) >= -log(ALPHA)
    return np.where(crossed.any(1), crossed.argmax(1), steps.shape[1])


@pytest.mark.parametrize(("effect", "moves"), [(0.1, 0.3), (0.3, 0.6), (-0.6, 0.8), (0.0, 0.5)])
def test_the_interval_at_the_stop_holds_the_effect(effect: float, moves: float) -> None:
    studies, strata = size(2_000, 10_000), 400
    rng = np.random.default_rng(7)
    drawn = rng.random((studies, strata))
    steps = (drawn < (moves + effect) / 2).astype(int) - (drawn > 1 - (moves - effect) / 2)
    at = np.minimum(first_crossing(steps), strata - 1)
    kinds = [(steps == kind).cumsum(1)[np.arange(studies), at] for kind in (1, -1, 0)]
    covered = (log_wealth(effect, *kinds) < -log(ALPHA)).mean()
    assert covered >= 1 - ALPHA - 3 * (ALPHA * (1 - ALPHA) / studies) ** 0.5
    if effect:
        assert (at < strata - 1).mean() > 0.5, "and most of them stop early"


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("moves", [0.05, 0.4, 1.0])
def test_ten_thousand_studies_that_look_after_every_stratum(moves: float) -> None:
    """Under the null, with few, some and only discordant strata, at most alpha ever stop with a rejection."""
    studies, strata = 10_000, 500
    rng = np.random.default_rng(round(100 * moves))
    drawn = rng.random((studies, strata), dtype=np.float32)
    steps = (drawn < moves / 2).astype(np.int8) - (drawn > 1 - moves / 2)
    rejected = (first_crossing(steps) < strata).mean()
    assert rejected <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / studies) ** 0.5
