"""Compute how small an effect a design of a given size can find, before anything is run."""

from math import sqrt

from scipy import stats
from scipy.optimize import brentq

from analysis.estimators.power import power_anova
from analysis.tables.errors import AnalysisError


def detectable_effect(trials: int, options: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest effect that a design finds, in percentage points, as `effects` has them.

    The effect is one on the probability of being chosen. One option of each trial carries the feature, each
    in turn; without an effect it is chosen by a share p of 1/options. The effect is the chance of the carrier
    minus the mean of the others, options/(options - 1) times its own rise, and trials are independent: (z[1 -
    alpha/2] + z[power]) times the standard error sqrt(p (1 - p) / trials) x options / (options - 1). Errors
    clustered by text or category are larger where effects differ between these.

    Raises AnalysisError for fewer than one trial or two options.
    """
    if trials < 1 or options < 2:
        raise AnalysisError(f"{trials} trials of {options} options: at least 1 and 2 are needed")
    share = 1 / options
    error = sqrt(share * (1 - share) / trials) * options / (options - 1)
    return float(100 * (stats.norm.isf(alpha / 2) + stats.norm.ppf(power)) * error)


def detectable_d(per_group: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest difference between two groups that a design finds, as Cohen's d.

    The answers are independent. The power is that of the two-sided t test, which is that of the analysis of
    variance of two groups with f = d / 2.

    Raises AnalysisError for fewer than two answers in a group.
    """
    if per_group < 2:
        raise AnalysisError(f"per_group: {per_group}; at least 2 answers are needed in each group")
    low, high = 1e-6, 1e3
    return 2 * float(brentq(lambda f: power_anova(2, per_group, f, alpha) - power, low, high))
