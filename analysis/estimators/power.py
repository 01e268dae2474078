"""Compute how many responses per group a one-way analysis of variance needs."""

from bisect import bisect_left

import pandas as pd
from scipy import stats

from analysis.tables.errors import AnalysisError
from analysis.tables.frame import result_frame

LARGEST = 10**6


def power_anova(groups: int, per_group: int, effect: float, alpha: float = 0.05) -> float:
    """Compute the power of the F test of a balanced one-way analysis of variance.

    groups: 2 or more, with `per_group` responses each. effect: Cohen's (1988) f, the standard deviation of
    the group means over that within groups. Power is the upper tail, beyond the central F quantile, of the
    noncentral F distribution with noncentrality groups x per_group x f^2. One response per group leaves no
    degrees of freedom within groups: power is 0.

    Raises AnalysisError for an impossible argument.
    """
    _check(groups, effect, alpha)
    if per_group < 1:
        raise AnalysisError(f"per_group: {per_group} is not a count from 1; correct it")
    if per_group == 1:
        return 0.0
    between, within = groups - 1, groups * (per_group - 1)
    critical = stats.f.isf(alpha, between, within)
    return float(stats.ncf.sf(critical, between, within, groups * per_group * effect**2))


def smallest_k(groups: int, effect: float, alpha: float = 0.05, power: float = 0.8) -> int | None:
    """Return the fewest responses per group that reach the power; None if 10^6 do not.

    The number is found by bisection. The arguments are those of `power_anova`, `power` the target. Power
    rises with the count, so that power(k) >= target > power(k - 1). K is at least 2: one response per group
    has no power at all.

    Raises AnalysisError for an impossible argument.
    """
    _check(groups, effect, alpha)
    if not 0 < power < 1:
        raise AnalysisError(f"power: {power} is not between 0 and 1; give a share such as 0.8")
    counts = range(1, LARGEST + 1)
    place = bisect_left(counts, power, key=lambda count: power_anova(groups, count, effect, alpha))
    return counts[place] if place < LARGEST else None


EFFECTS = {"small": 0.1, "medium": 0.25, "large": 0.4}
"""Cohen's (1988) conventional sizes of f."""


def power_frame(groups: int, smallest_cell: int, alpha: float = 0.05, power: float = 0.8) -> pd.DataFrame:
    """Return the smallest K for each of Cohen's effects, and the power that `smallest_cell` responses give.

    The estimate is K; extra columns: effect, alpha, target, power_at_k, power_below (at K - 1), power_here.
    """
    rows = []
    for name, effect in EFFECTS.items():
        k = smallest_k(groups, effect, alpha, power)
        rows.append(
            {
                "term": f"{name} effect",
                "group": f"{groups} groups",
                "estimate": k,
                "n": smallest_cell,
                "n_missing": 0,
                "note": "" if k else f"not reached with {LARGEST:,} responses per group",
                "effect": effect,
                "alpha": alpha,
                "target": power,
                "power_at_k": power_anova(groups, k, effect, alpha) if k else None,
                "power_below": power_anova(groups, k - 1, effect, alpha) if k else None,
                "power_here": power_anova(groups, smallest_cell, effect, alpha) if smallest_cell else None,
            }
        )
    extra = ("effect", "alpha", "target", "power_at_k", "power_below", "power_here")
    return result_frame(rows, *extra)


def _check(groups: int, effect: float, alpha: float) -> None:
    if groups != int(groups) or groups < 2:
        raise AnalysisError(f"groups: {groups} is not a whole number from 2; correct it")
    if not 0 < effect < float("inf"):
        raise AnalysisError(f"effect: {effect} is not above 0; give Cohen's f, such as 0.1")
    if not 0 < alpha < 1:
        raise AnalysisError(f"alpha: {alpha} is not between 0 and 1; give a level such as 0.05")
