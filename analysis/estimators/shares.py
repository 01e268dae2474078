"""Give shares an interval that takes answers to the same thing as dependent."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.estimators.lpm import LEAST_CLUSTERS

LEAST_MIXED = 5
"""The clusters with, and those without, what is counted that an estimated design effect needs."""


class _ClusteredShare(NamedTuple):
    """A 95 % interval of a share (0 to 1), and how many independent answers would tell as much."""

    low: float
    high: float
    effective_n: float


def clustered_share(counts: npt.ArrayLike, sizes: npt.ArrayLike) -> _ClusteredShare:
    """Return the interval of sum(counts) / sum(sizes), where the answers of a cluster may be alike.

    counts, sizes: of each cluster (choice set). The variance of the share is that of a ratio over clusters
    (Cochran 1977, Sampling Techniques, chapter 9); the design effect is this over that of independent
    answers, at least 1; the effective number of answers is theirs over it (Kish 1965; Korn and Graubard
    1998). The interval is Wilson's (1927) with that number, and t with one less than there are clusters.

    Where the clusters are too few for a variance (fewer than twelve, or fewer than five with or without what
    is counted), the answers of each count as one, and clusters of unequal sizes as fewer (Kish 1965): Clopper
    and Pearson's (1934) exact interval, which also holds at 0 and 1. NaN without answers.
    """
    won, asked = np.asarray(counts, float), np.asarray(sizes, float)
    won, asked = won[asked > 0], asked[asked > 0]
    clusters, n = asked.size, float(asked.sum())
    if not clusters:
        return _ClusteredShare(np.nan, np.nan, np.nan)
    share = float(won.sum() / n)
    mixed = min(int((won > 0).sum()), int((won < asked).sum()))
    if clusters < LEAST_CLUSTERS[1] or mixed < LEAST_MIXED:
        alike = n**2 / float((asked**2).sum())
        return _ClusteredShare(*exact_share_interval(share, alike), alike)
    variance = clusters / (clusters - 1) * float(((won - share * asked) ** 2).sum()) / n**2
    effective = min(n, share * (1 - share) / variance) if variance > 0 else n
    z = float(stats.t.ppf(0.975, clusters - 1))
    return _ClusteredShare(*wilson_share_interval(share, effective, z), effective)


def wilson_share_interval(
    share: float, n: float, z: float = float(stats.norm.ppf(0.975))
) -> tuple[float, float]:
    """Return Wilson's (1927) score interval of a share of n answers, where n need not be whole."""
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half_width = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return float(max(0.0, centre - half_width)), float(min(1.0, centre + half_width))


def exact_share_interval(share: float, n: float) -> tuple[float, float]:
    """Return Clopper and Pearson's (1934) 95 % interval of a share of n answers."""
    won = share * n
    low = float(stats.beta.ppf(0.025, won, n - won + 1)) if share > 0 else 0.0
    return low, float(stats.beta.ppf(0.975, won + 1, n - won)) if share < 1 else 1.0
