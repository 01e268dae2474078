"""Test high against low over the targets in pairs, two-sided; undefined cases give their reason."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from scipy import stats

from analysis.estimators.t_tests import TTest, one_sample_t, summarize
from analysis.tables.frame import Floats

TOLERANCE: Final = 1e-12
"""The largest difference that is rounding: it has no sign and no variance."""

SIGN_VECTORS: Final = 10_000
PERMUTATION_STREAM: Final = "numpy default_rng(seed), fresh for each test"
TOO_FEW: Final = "fewer than two targets with both scores: no test"


@dataclass(frozen=True)
class PairedTests:
    """Tests of n differences, with n_missing targets left out. NaN is undefined; the notes say why."""

    n: int
    n_missing: int
    mean: float
    t: TTest
    w_statistic: float
    p_wilcoxon: float
    wilcoxon_note: str
    p_permutation: float
    permutation_note: str


def differences(low: Floats, high: Floats) -> Floats:
    """Return high minus low of the targets that have both; nearly equal ones become exactly equal."""
    found = high - low
    found = found[~np.isnan(found)]
    if found.size and np.ptp(found) <= TOLERANCE:
        found = np.full_like(found, 0.0 if abs(found.mean()) <= TOLERANCE else found.mean())
    return found


def paired_t(found: Floats) -> TTest:
    """Compute Student's paired t of `differences`, df n - 1."""
    return TTest(note=TOO_FEW) if len(found) < 2 else one_sample_t(summarize(found))


def paired_tests(low: Floats, high: Floats, seed: int) -> PairedTests:
    """Compute the paired t, Wilcoxon's signed ranks and the sign permutation test over the same targets.

    Wilcoxon: zeros as Pratt (1959) ranks them, normal approximation with Cureton's (1967) variance, without
    continuity correction. Permutation: 10,000 random sign vectors, the data counted as one more.
    """
    found = differences(low, high)
    n, n_missing = len(found), len(low) - len(found)
    mean = float(found.mean()) if n else np.nan
    t = paired_t(found)
    if n < 2:
        return PairedTests(n, n_missing, mean, t, np.nan, np.nan, TOO_FEW, np.nan, TOO_FEW)
    p_permutation = permutation_p(found, seed)
    if not found.any():
        note = "all differences are zero: no ranks"
        return PairedTests(n, n_missing, mean, t, np.nan, np.nan, note, p_permutation, "")
    ranks = stats.wilcoxon(found, zero_method="pratt", correction=False, method="asymptotic")
    w, p = float(ranks.statistic), float(ranks.pvalue)
    return PairedTests(n, n_missing, mean, t, w, p, "", p_permutation, "")


def permutation_p(found: Floats, seed: int) -> float:
    """Return the p value of the sign permutation test: at least 1/10001.

    It is (1 + number of vectors at least as far from 0) / (vectors + 1).
    """
    means = np.abs(_signs(len(found), seed) @ found) / len(found)
    # What is equal but for rounding is as far.
    reached = means >= abs(found.mean()) - TOLERANCE * np.abs(found).max()
    return float((1 + reached.sum()) / (SIGN_VECTORS + 1))


@lru_cache(maxsize=4)
def _signs(n: int, seed: int) -> Floats:
    drawn = np.random.default_rng(seed).choice(np.array([-1.0, 1.0]), size=(SIGN_VECTORS, n))
    drawn.flags.writeable = False
    return drawn


def stars(p_value: float) -> str:
    """Return the stars of a p value: `***` below .01, `**` below .05, `*` below .10, none if undefined."""
    return "*" * sum(p_value < level for level in (0.01, 0.05, 0.10))


def sign(value: float) -> int:
    """Return the sign 1, 0 or -1, with a tolerance for rounding; 0 if undefined."""
    return int(value > TOLERANCE) - int(value < -TOLERANCE)


def signed_call(letter: str, value: float, p_value: float) -> str:
    """Return the letter with the sign of the value and the stars of the p value: `B+***`.

    The call is empty if the value is undefined.
    """
    return "" if np.isnan(value) else letter + "-0+"[sign(value) + 1] + stars(p_value)


def plain_call(letter: str, p_value: float) -> str:
    """Return the letter with the stars of the p value: `W**`; empty if undefined."""
    return "" if np.isnan(p_value) else letter + stars(p_value)
