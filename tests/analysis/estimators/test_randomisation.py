"""Exact tests against full enumeration, scipy and statsmodels; score intervals against Tango's formula."""

from collections import Counter
from itertools import permutations, product
from math import factorial, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.stats import binom, chi2, multinomial, norm
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.weightstats import ttost_paired

from analysis.estimators.randomisation import (
    LEAST_P,
    effect_of,
    equivalence_p,
    exact_p,
    flipped,
    permuted,
    score_interval,
)
from tests.support import size


def effect(marks: tuple[str, ...], choices: tuple[str, ...]) -> float:
    """How often an option is chosen where it is marked, less where it is not; the mean over options."""
    found = []
    for option in marks:
        own = [choice == option for mark, choice in zip(marks, choices, strict=True) if mark == option]
        rest = [choice == option for mark, choice in zip(marks, choices, strict=True) if mark != option]
        found.append(np.mean(own) - np.mean(rest))
    return float(np.mean(found))


@pytest.mark.slow
@settings(max_examples=size(60, 1_000))
@given(count=st.integers(2, 5), data=st.data())
def test_a_permuted_stratum_is_all_orders_of_its_marks(count: int, data: st.DataObject) -> None:
    """Trials that mark an option each, and what was chosen in them; x is an option that is never marked."""
    marks = tuple("abcde"[:count])
    choices = tuple(data.draw(st.sampled_from((*marks, "x"))) for _ in marks)
    chosen = tuple(sorted(times for option, times in Counter(choices).items() if option in marks))
    won = sum(mark == choice for mark, choice in zip(marks, choices, strict=True))
    value, null = effect_of(won, count, sum(chosen)), permuted(count, chosen)
    assert value == pytest.approx(effect(marks, choices))
    chances: Counter[float] = Counter()
    for order in permutations(marks):
        chances[round(effect(order, choices), 9)] += 1 / factorial(len(marks))
    assert {round(value, 9): chance for value, chance in zip(null.values, null.chances, strict=True)} == (
        pytest.approx(dict(chances))
    )
    assert np.dot(null.values, null.chances) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("up", "down", "none"), [(3, 0, 5), (10, 4, 20), (0, 0, 4), (40, 10, 5), (500, 420, 3_000), (1, 1, 0)]
)
def test_in_pairs_it_is_the_test_of_mcnemar(up: int, down: int, none: int) -> None:
    values = [1.0] * up + [-1.0] * down + [0.0] * none
    found = exact_p(values, [flipped(value) for value in values])
    table = [[none, up], [down, 0]]
    assert found == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-6)


def test_the_smallest_p_value_is_given_as_such() -> None:
    assert exact_p([1.0] * 500, [flipped(1.0)] * 500) == LEAST_P
    values = [1.0] * 30 + [-0.7] * 3  # not a multiple of a small fraction
    assert exact_p(values, [flipped(value) for value in values]) < 1e-5
    assert exact_p([0.1 / 3] * 100_000, [flipped(0.1 / 3)] * 100_000) == LEAST_P


@pytest.mark.parametrize("seed", range(size(3, 50)))
def test_means_over_unequal_rounds_have_the_p_value_of_all_their_sums(seed: int) -> None:
    """Each sum and its chance, one stratum after the other; values are whole parts of 2,520."""
    rng = np.random.default_rng(seed)
    rounds = rng.integers(1, 11, 60)
    values = [float(rng.integers(-each, each + 1)) / each for each in rounds.tolist()]
    chances = np.ones(1)
    for value in values:
        far = abs(round(2_520 * value))
        chances = (np.pad(chances, (2 * far, 0)) + np.pad(chances, (0, 2 * far))) / 2
    sums = np.arange(len(chances)) - len(chances) // 2
    as_far = chances[abs(sums) >= abs(round(2_520 * sum(values)))].sum()
    assert exact_p(values, [flipped(value) for value in values]) == pytest.approx(as_far, rel=1e-9)


def tango(up: int, down: int, n: int) -> tuple[float, float]:
    """Tango (1998), with the closed form of the restricted estimate, corrected for half a step."""
    z = sqrt(chi2.ppf(0.95, 1))

    def statistic(difference: float, half: float) -> float:
        b = -up - down + (2 * n - up + down) * difference
        c = -down * difference * (1 - difference)
        other = (sqrt(max(b * b - 8 * n * c, 0)) - b) / (4 * n)
        variance = n * (2 * other + difference * (1 - difference))
        return float((up - down - n * difference + half) / sqrt(max(variance, 1e-300)))

    edge, low_from, high_from = 1 - 1e-12, (up - down - 0.5) / n, (up - down + 0.5) / n
    low = -1.0 if low_from < -1 else brentq(lambda at: statistic(at, -0.5) - z, -edge, low_from)
    high = 1.0 if high_from > 1 else brentq(lambda at: statistic(at, 0.5) + z, high_from, edge)
    return low, high


@settings(max_examples=size(60, 2_000))
@given(up=st.integers(0, 60), down=st.integers(0, 60), none=st.integers(0, 60))
def test_in_pairs_the_interval_is_that_of_tango(up: int, down: int, none: int) -> None:
    n = up + down + none
    if not n:
        return
    values = np.array([1.0] * up + [-1.0] * down + [0.0] * none)
    assert score_interval(values, -1, 1) == pytest.approx(tango(up, down, n), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 3, 5, 8, 10, 16, 24])
def test_by_enumeration_the_interval_holds_a_difference_of_pairs(n: int) -> None:
    counts = [(up, down, n - up - down) for up in range(n + 1) for down in range(n + 1 - up)]
    ends = np.array([score_interval(pairs(*each), -1, 1) for each in counts])
    for discordant, share in product((0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0), (0.5, 0.6, 0.75, 0.9, 1.0)):
        up, down = discordant * share, discordant * (1 - share)
        held = (ends[:, 0] <= up - down + 1e-9) & (up - down - 1e-9 <= ends[:, 1])
        assert multinomial.pmf(counts, n, [up, down, 1 - discordant])[held].sum() >= 0.935


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
        even = np.full(len(points), 1 / len(points))
        tried = [
            minimize(
                lambda p: -np.sum(counts * np.log(np.maximum(p, 1e-12))),
                start,
                bounds=[(0, 1)] * len(points),
                constraints=[
                    {"type": "eq", "fun": lambda p: p.sum() - 1},
                    {"type": "eq", "fun": lambda p, end=end: p @ points - end},
                ],
                options={"ftol": 1e-12, "maxiter": 500},
            )
            for start in (even, 0.9 * counts / len(own) + 0.1 * even)
        ]
        best = min((each for each in tried if each.success), key=lambda each: each.fun)
        variance = best.x @ (points - end) ** 2
        step = np.sum(own**2) / np.abs(own).sum() if own.any() else 1
        beyond = abs(own.mean() - end) - step / 2 / len(own)
        assert len(own) * beyond**2 == pytest.approx(chi2.ppf(0.95, 1) * variance, rel=2e-2)


@pytest.mark.slow
@pytest.mark.parametrize("strata", [5, 15, 50])
@pytest.mark.parametrize("fresh", [0.02, 0.1, 1.0])
def test_means_of_repeats_have_an_interval_that_holds_whether_or_not_they_are_alike(
    strata: int, fresh: float
) -> None:
    """fresh: the share of the four answers to a question that are not its fixed answer."""
    count, rng = size(200, 2000), np.random.default_rng([strata, round(100 * fresh)])
    fixed, other = rng.choice([-1, 0, 1], p=[0.1, 0.6, 0.3], size=(2, count, strata, 4))
    own = np.where(rng.random(other.shape) < fresh, other, fixed[..., :1]).mean(axis=2)
    low, high = np.transpose([score_interval(values, -1, 1) for values in own])
    assert ((low <= 0.2) & (high >= 0.2)).sum() >= binom.ppf(0.001, count, 0.94)
    assert strata < 50 or (high - low).mean() < 1.15 * 2 * norm.ppf(0.975) * own.mean(axis=1).std()


def pairs(wins: int, losses: int, ties: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.repeat([1.0, -1.0, 0.0], [wins, losses, ties])


@pytest.mark.parametrize(("strata", "margin"), [(20, 0.2), (20, 0.4), (40, 0.1), (40, 0.2)])
def test_of_all_results_few_would_find_an_effect_at_the_margin_smaller_than_it(
    strata: int, margin: float
) -> None:
    """Full enumeration: the chance of p < .05 where the mean is the margin, however much is discordant."""
    found = [
        (wins, losses, strata - wins - losses)
        for wins in range(strata + 1)
        for losses in range(strata + 1 - wins)
        if abs(wins - losses) < margin * strata
        and equivalence_p(pairs(wins, losses, strata - wins - losses), -1, 1, margin) < 0.05
    ]
    assert found
    for discordant in np.linspace(margin, 1, 25):
        chances = [(discordant + margin) / 2, (discordant - margin) / 2, 1 - discordant]
        assert multinomial.pmf(found, strata, chances).sum() <= 0.05
    for wins, losses, ties in found:
        low, high = score_interval(pairs(wins, losses, ties), -1, 1, level=0.9)
        assert -margin < low < high < margin, "the 90 % interval agrees"
        turned = equivalence_p(pairs(losses, wins, ties), -1, 1, margin)
        assert turned == pytest.approx(equivalence_p(pairs(wins, losses, ties), -1, 1, margin))


def test_with_many_strata_equivalence_is_statsmodels_tost() -> None:
    for wins, losses, ties in ((300, 280, 1_420), (900, 880, 2_220), (150, 60, 1_790)):
        values = pairs(wins, losses, ties)
        p_value = ttost_paired(values, np.zeros(len(values)), -0.05, 0.05)[0]
        assert equivalence_p(values, -1, 1, 0.05) == pytest.approx(p_value, rel=0.15, abs=0.002)


def test_an_agent_that_never_moves_is_equivalent_once_there_are_enough_strata() -> None:
    by_size = [equivalence_p(pairs(0, 0, ties), -1, 1, 0.05) for ties in (1, 20, 60, 80, 400)]
    assert by_size == sorted(by_size, reverse=True)
    assert by_size[2] > 0.05 > by_size[3]
    assert equivalence_p(pairs(0, 0, 400), -1, 1, 1.0) == 1, "no mean can be beyond that margin"
