"""Exact tests and score intervals for a mean over strata in which the design itself gives the chances."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import factorial, gcd, prod
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.polynomial import polynomial
from scipy import stats
from scipy.optimize import brentq

from analysis.tables.frame import Floats, Ints

LEAST_P: Final = 1e-12
"""The smallest p value that is given: below it sums of so many chances are not exact."""
_PARTS: Final = 27_720
"""Values are multiples of one part in so many: it is divisible by all numbers up to twelve."""
_NO_CHANCE: Final = 1e-17
"""A chance that adds nothing to a p value."""
_MOST: Final = 2**22
"""The largest number of different sums; with more, values are rounded."""


@dataclass(frozen=True, slots=True)
class Null:
    """How the value of a stratum could have come out if the factor did nothing: values and their chances.

    The mean is 0.
    """

    values: tuple[float, ...]
    chances: tuple[float, ...]

    def times(self, factor: float) -> "Null":
        """Return the null distribution of so many times the value."""
        return Null(tuple(factor * value for value in self.values), self.chances)


class _Term(NamedTuple):
    """Independent whole numbers, so many of them, with the same possible values and their chances."""

    values: tuple[int, ...]
    chances: tuple[float, ...]
    times: int

    @property
    def divisor(self) -> int:
        """What all values are multiples of."""
        return gcd(*self.values)

    @property
    def weight(self) -> int:
        """A bound of the variance of their sum."""
        return self.times * max(map(abs, self.values)) ** 2

    def characteristic(self, places: Ints, period: int) -> npt.NDArray[Any]:
        """Return the characteristic function of their sum at these places of a period of whole numbers."""
        sizes, place = np.unique(np.abs(self.values), return_inverse=True)
        turned = 2 * np.pi / period * (np.outer(places, sizes) % period)
        own: npt.NDArray[Any] = np.cos(turned) @ np.bincount(place, self.chances)
        odd = np.bincount(place, np.sign(self.values) * self.chances)
        if odd.any():
            own = own + 1j * (np.sin(turned) @ odd)
        return own**self.times


@cache
def flipped(value: float) -> Null:
    """Return the null distribution of a difference whose two sides could be exchanged."""
    return Null((value, -value), (0.5, 0.5)) if value else Null((0.0,), (1.0,))


@cache
def one_of(values: tuple[float, ...]) -> Null:
    """Return the null distribution of the mean of all values but one, less that one, if it could be any."""
    total, others = sum(values), len(values) - 1
    differences = [(total - value) / others - value for value in values]
    return Null(tuple(differences), (1 / len(values),) * len(values))


@cache
def permuted(trials: int, chosen: tuple[int, ...]) -> Null:
    """Return the null distribution of the effect in a stratum of trials, each marking an option of its own.

    chosen: how often each of these options was chosen. The value is that of `effect_of`. If the mark does
    nothing, it could have stood on the options in any order. The number of orders in which k trials
    choose what they mark follows from the rook numbers of the board, which are the elementary symmetric
    polynomials of `chosen` (Riordan 1958, An Introduction to Combinatorial Analysis, chapter 7).
    """
    rooks = [sum(prod(each) for each in combinations(chosen, k)) for k in range(trials + 1)]
    hits = np.zeros(trials + 1)
    for k, number in enumerate(rooks):
        hits[: k + 1] += number * factorial(trials - k) * polynomial.polypow([-1, 1], k)
    chances = hits / factorial(trials)
    possible = np.flatnonzero(chances > 0)
    values = [effect_of(int(won), trials, sum(chosen)) for won in possible]
    return Null(tuple(values), tuple(chances[possible]))


def effect_of(won: int, trials: int, chosen: int) -> float:
    """Return how much more often an option is chosen where it is marked than where it is not.

    It is the mean over the options that are marked in a trial of the stratum. won: trials in which the
    marked option was chosen; chosen: those in which any option was chosen that is marked in one of them.
    """
    return (trials * won - chosen) / (trials * (trials - 1))


def exact_p(values: Sequence[float] | Floats, nulls: Sequence[Null]) -> float:
    """Return the two-sided p value of the sum of the values: Fisher's randomisation test.

    values, nulls: of each stratum. The p value is the chance of a sum at least as far from 0. In pairs it is
    that of McNemar's exact test. It is not given below `LEAST_P`. Values that are no multiples of a small
    fraction are rounded to a part in 27,720.
    """
    return p_of_sum(float(np.sum(np.asarray(values))), Counter(nulls))


def p_of_sum(total: float, counts: Mapping[Null, int]) -> float:
    """Return the p value of `exact_p` for the sum of the values, and how many strata have each null."""
    kinds = {null: np.rint(np.array(null.values) * _PARTS).astype(np.int64) for null in counts}
    largest = sum(int(abs(kinds[null]).max()) * count for null, count in counts.items())
    if not largest:
        return 1.0
    step = max(int(np.gcd.reduce(np.concatenate(list(kinds.values())))), -(-2 * largest // _MOST))
    rounded = {null: np.rint(kinds[null] / step).astype(np.int64) for null in counts}
    common = int(np.gcd.reduce(np.concatenate(list(rounded.values()))))
    terms = [
        _Term(tuple((parts // common).tolist()), null.chances, counts[null])
        for null, parts in rounded.items()
        if parts.any()
    ]
    # Further away a sum has a chance below `_NO_CHANCE` (Hoeffding 1963).
    bound = np.sqrt(2 * np.log(2 / _NO_CHANCE) * sum(term.weight for term in terms))
    reach = min(sum(term.times * max(map(abs, term.values)) for term in terms), int(bound))
    least = int(np.ceil(abs(total) * _PARTS / (step * common) - 0.25))
    if not 0 < least <= reach:
        return LEAST_P if least else 1.0
    return float(np.clip(1 - _chance_within(least - 1, 2 * reach + 1, terms), LEAST_P, 1))


def _chance_within(most: int, width: int, terms: list[_Term]) -> float:
    """Return the chance that a sum of independent whole numbers is -most to most.

    width: how far apart its values can be. The sum's characteristic function is the product of theirs. It is
    0 nearly everywhere, and those of numbers with a large common divisor repeat themselves soon: so these are
    multiplied first, and the others only where something is left.
    """
    rest = sorted(terms, key=lambda term: -term.weight)
    common = rest[0].divisor
    period = -(-width // common) * common
    known, places, product = 1, np.zeros(1, np.int64), np.ones(1)
    while rest:
        term = max(rest, key=lambda term: (gcd(common, term.divisor), term.weight))
        rest.remove(term)
        common = gcd(common, term.divisor)
        copies = period // common // known
        places = (known * np.arange(copies)[:, None] + places).ravel()
        product = np.tile(product, copies) * term.characteristic(places, period)
        left = abs(product) > _NO_CHANCE
        known, places, product = known * copies, places[left], product[left]
    odd, places = 2 * most + 1, places[1:]  # the first place is 0, where the product is 1
    near = np.minimum(places, period - places)  # of a small angle the sine is more precise than of pi less it
    kernel = np.sin(np.pi / period * (odd * places % (2 * period))) / np.sin(np.pi / period * near)
    return float((odd + kernel @ product[1:].real) / period)


def score_interval(values: Floats, low: float, high: float, level: float = 0.95) -> tuple[float, float]:
    """Return the score interval of the mean of values between `low` and `high`.

    The values are draws from a distribution on the values that were seen, and the two ends: a mean is in the
    interval if the observed one is no further away than the normal quantile times the standard error under
    the most likely distribution with that mean, and half a step of the mean, see `_half_step`.
    For values of -1, 0 and 1 this is the interval of Tango (1998, Statistics in Medicine 17) for the
    difference of paired proportions, with that correction. It is never empty. By enumeration it holds such a
    difference in 93.5 % or more from n = 2 on; without the correction in 85 %.
    """
    points, inverse = np.unique(np.concatenate([values, [low, high]]), return_inverse=True)
    counts = np.bincount(inverse[:-2], minlength=len(points)).astype(float)
    observed, n = float(np.mean(values)), len(values)
    limit, half = float(stats.chi2.ppf(level, 1)), _half_step(values)

    def beyond(mean: float) -> float:
        variance = _restricted_variance(points, counts, mean)
        return n * (abs(observed - mean) - half) ** 2 - limit * variance

    ends = []
    for end in (low, high):
        near = observed + np.sign(end - observed) * (half + 1e-9)
        # At the end itself the variance is 0: it is beyond, unless it is within half a step.
        ends.append(
            end if abs(end - observed) <= half + 1e-9 else float(brentq(beyond, near, end, xtol=1e-10))
        )
    return ends[0], ends[1]


def equivalence_p(values: Floats, low: float, high: float, margin: float) -> float:
    """Return the p value of the hypothesis that the mean is -margin or less, or margin or more.

    If it is small, the mean is known to lie within the margin. It is the larger p value of two one-sided
    score tests (TOST; Schuirmann 1987, Journal of Pharmacokinetics and Biopharmaceutics 15), each under the
    most likely distribution with a mean at the margin, as in `score_interval`; in pairs these are Tango's
    (1998). They are corrected by half a step of the mean. values are between `low` and `high`.
    It is 1 where the margin is not inside of this range.
    """
    if not low < -margin < margin < high:
        return 1.0
    points, inverse = np.unique(np.concatenate([values, [low, high]]), return_inverse=True)
    counts = np.bincount(inverse[:-2], minlength=len(points)).astype(float)
    observed, n = float(np.mean(values)), len(values)
    found = []
    for bound, sign in ((margin, -1), (-margin, 1)):
        error = np.sqrt(_restricted_variance(points, counts, bound) / n)
        found.append(float(stats.norm.sf((sign * (observed - bound) - _half_step(values)) / error)))
    return max(found)


def _half_step(values: Floats) -> float:
    """Half a step of the mean: 1/(2n) for values of -1, 0 and 1, less where strata are means of repeats.

    There a step is the usual size of a value, which is that of values drawn in proportion to their size.
    """
    size = float(abs(values).sum())
    return (float(values @ values) / size if size else 1.0) / (2 * len(values))


def _restricted_variance(points: Floats, counts: Floats, mean: float) -> float:
    """The variance of the most likely distribution on the points with this mean.

    Lagrange: the chance of a point is its count / (n + multiplier x distance), where the multiplier makes the
    mean right; a point that was not seen, and so an end of the range, gets what is left where no multiplier
    does.
    """
    distance = points - mean
    if distance[0] >= 0 or distance[-1] <= 0:
        return 0.0
    n, seen = float(counts.sum()), counts > 0
    its, away = counts[seen], distance[seen]
    # They are few, and so lists are faster than arrays.
    weights: list[tuple[float, float]] = list(zip((its * away).tolist(), away.tolist(), strict=True))

    def moment(multiplier: float) -> float:
        return sum([weight / (n + multiplier * far) for weight, far in weights])

    # Between these multipliers all chances are positive. At one of them there may be room at an end.
    for end, bound in ((-1, -n / distance[-1]), (0, -n / distance[0])):
        if not seen[end] and moment(bound) * distance[end] < 0:
            chances = its / (n + bound * away)
            return float(np.sum(chances * away**2) + (1 - chances.sum()) * distance[end] ** 2)
    least, most = -n / distance[-1], -n / distance[0]
    slack = 1e-12 * (most - least)
    multiplier = brentq(moment, least + slack * seen[-1], most - slack * seen[0], xtol=slack * 1e-2)
    return float(np.sum(its / (n + multiplier * away) * away**2))
