"""Give shares an interval that takes answers to the same thing as dependent."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from analysis.tables.frame import Floats

LEAST_EXCEPTIONS = 10
"""With so many answers that differ from the others of their stratum, the variance is known well enough."""
FEW_EXCEPTIONS = "fewer than ten answers differ from the others: the interval allows for what was not seen"


class ShareInterval(NamedTuple):
    """A 95 % interval of a share (0 to 1), and how many independent answers would tell as much."""

    low: float
    high: float
    effective_n: float
    note: str = ""


def share_interval(
    won: npt.ArrayLike,
    asked: npt.ArrayLike,
    strata: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> ShareInterval:
    """Return the interval of the mean of won / asked over clusters, whose own answers may be alike.

    won, asked: of each cluster. strata: of each cluster, by default one for all; the interval is about these
    strata, and takes their clusters as draws. weights: of each cluster, by default `asked`.

    The variance is the sum over strata of those of their clusters (Cochran 1977, Sampling Techniques,
    chapters 5A and 9). Strata of one cluster are put together. The interval is Wilson's (1927) of as many
    independent answers as have this variance (Korn and Graubard 1998), with t. Where fewer than ten clusters
    differ from the others of their stratum, they are taken as rare events: the mid-p gamma interval of a
    weighted sum of these (Fay and Kim 2017), of strata that were mostly won and of the others. The limits of
    both are combined as Zou and Donner (2008) do. It also holds at 0 and 1. NaN without answers.
    """
    n = np.asarray(asked, float)
    used = n > 0
    if not used.any():
        return ShareInterval(np.nan, np.nan, np.nan)
    weight = (n if weights is None else np.asarray(weights, float))[used]
    weight, value = weight / weight.sum(), np.asarray(won, float)[used] / n[used]
    code = _codes(np.zeros(len(value)) if strata is None else np.asarray(strata)[used])
    size = np.bincount(code)
    mean = (np.bincount(code, weight * value) / np.bincount(code, weight))[code]
    share = float(np.clip((weight * value).sum(), 0, 1))
    some, not_all = np.bincount(code, value > 0), np.bincount(code, value < 1)
    factor = size / np.maximum(size - 1, 1)
    variance = float((factor[code] * (weight * (value - mean)) ** 2).sum())
    if np.minimum(some, not_all).sum() >= LEAST_EXCEPTIONS and variance > 0:
        effective = share * (1 - share) / variance
        z = float(stats.t.ppf(0.975, (size - 1).sum()))
        return ShareInterval(*_wilson(share, effective, z), effective)
    mostly = mean >= 0.5
    gained = _rare(weight[~mostly], value[~mostly])
    missed = _rare(weight[mostly], 1 - value[mostly])
    low = share - np.hypot(gained.total - gained.low, missed.high - missed.total)
    high = share + np.hypot(gained.high - gained.total, missed.total - missed.low)
    effective = 1 / float((weight**2).sum())
    return ShareInterval(max(0.0, float(low)), min(1.0, float(high)), effective, FEW_EXCEPTIONS)


def _codes(strata: npt.NDArray[np.generic]) -> npt.NDArray[np.intp]:
    """Number the strata; those of one cluster are one, or belong to another where there is one only."""
    code = np.unique(strata, return_inverse=True)[1].ravel()
    single = np.bincount(code)[code] == 1
    if single.any():
        code[single] = code[single if single.sum() > 1 else ~single][:1].max(initial=0)
    return np.unique(code, return_inverse=True)[1].ravel()


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's score interval of a share of n answers, where n need not be whole."""
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half_width = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return float(max(0.0, centre - half_width)), float(min(1.0, centre + half_width))


class _Rare(NamedTuple):
    total: float
    low: float
    high: float


def _rare(weight: Floats, value: Floats) -> _Rare:
    """The weighted sum of rare events with its mid-p gamma interval; value: 0 to 1, how much of each."""
    if not len(weight):
        return _Rare(0.0, 0.0, 0.0)
    largest = float(weight.max())
    total, variance = float((weight * value).sum()), float(((weight * value) ** 2).sum())
    mean, spread = total + largest, variance + largest**2
    upper = stats.gamma(mean**2 / spread, scale=spread / mean)
    lower = stats.gamma(total**2 / variance, scale=variance / total) if total > 0 else None

    def beyond(end: float, level: float) -> float:
        return float((1.0 if lower is None else lower.cdf(end)) + upper.cdf(end)) / 2 - level

    most = float(upper.ppf(0.99))
    low = 0.0 if lower is None else float(optimize.brentq(beyond, 0, most, args=(0.025,)))
    return _Rare(total, low, float(optimize.brentq(beyond, 0, most, args=(0.975,))))
