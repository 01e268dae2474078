"""Compute Cohen's d of a treatment against a control; complete separation is not taken for no effect."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.special import gammaln

from analysis.tables.frame import Floats

SEPARATION = "complete separation: no variance in either group, the means differ"
OF_CHANCES = "of chances: no answer was drawn, so there is no error"
HOMOGENEOUS = 0.75
ROUNDING = 1e-14
"""The share of the largest response below which a difference of means is a rounding error."""


@dataclass(frozen=True)
class _EffectSize:
    """Cohen's d with its standard error and 95 % interval, and the t test that it implies; Hedges' g.

    NaN is undefined: see `note`. `sign` is that of the difference, treatment less control, also where d is
    undefined.
    """

    d: float = np.nan
    std_error: float = np.nan
    statistic: float = np.nan
    p_value: float = np.nan
    conf_low: float = np.nan
    conf_high: float = np.nan
    sign: float = np.nan
    separated: bool = False
    note: str = ""
    hedges_g: float = np.nan
    hedges_low: float = np.nan
    hedges_high: float = np.nan


def cohens_d(
    control: npt.ArrayLike, treatment: npt.ArrayLike, *, population: bool = False, legacy_zero: bool = False
) -> _EffectSize:
    """Compute Cohen's (1988) d, the difference of means over the pooled standard deviation.

    d has no correction. Hedges' (1981) g is d of the sample standard deviations without its small-sample
    bias, with a t interval. NaN responses are left out. population: standard deviations with divisor n
    enter the pooling formula. legacy_zero: d is 0 where both groups are constant although their means differ;
    else it is undefined and flagged as complete separation.

    The standard error is the delta method's with sample moments up to the fourth, so that it holds for
    choices (0 and 1) as well as for numbers; t is Student's with the pooled variance.
    """
    c, t = _given(control), _given(treatment)
    if min(c.size, t.size) == 0 or c.size + t.size <= 2:
        return _EffectSize(note=f"undefined: {c.size} control and {t.size} treatment responses")
    constant = c.min() == c.max() and t.min() == t.max()
    difference = float(t[0] - c[0]) if constant else float(t.mean() - c.mean())
    if abs(difference) <= ROUNDING * max(abs(c).max(), abs(t).max()):
        difference = 0.0  # equal means that are computed from different responses
    if constant and difference == 0:
        return _EffectSize(0.0, p_value=1.0, sign=0.0, note="no difference, no variance: t is undefined")
    if constant:
        d = 0.0 if legacy_zero else np.nan
        note = f"{SEPARATION}; set to 0" if legacy_zero else f"undefined: {SEPARATION}"
        return _EffectSize(d, sign=np.sign(difference), separated=True, note=note)
    df = c.size + t.size - 2
    squares = [((group - group.mean()) ** 2).sum() for group in (c, t)]
    variance = sum(squares) / df
    if population:
        weighted = zip(squares, (c.size, t.size), strict=True)
        divided = sum((n - 1) * square / n for square, n in weighted) / df
    else:
        divided = variance
    d = difference / np.sqrt(divided)
    of_sample = _std_error(c, t, difference, variance)
    std_error = np.sqrt(variance / divided) * of_sample
    statistic = difference / np.sqrt(variance * (1 / c.size + 1 / t.size))
    half_width = stats.norm.ppf(0.975) * std_error
    return _EffectSize(
        float(d),
        float(std_error),
        float(statistic),
        float(2 * stats.t.sf(abs(statistic), df)),
        float(d - half_width),
        float(d + half_width),
        float(np.sign(difference)),
        False,
        "",
        *_hedges(difference / np.sqrt(variance), of_sample, df),
    )


def d_of_chances(control: float, treatment: float) -> _EffectSize:
    """Compute Cohen's d of choices whose chances are known: what `cohens_d` gives of ever more drawn answers.

    control, treatment: the chance of the choice, 0 to 1. No answer is drawn, so nothing has an error.
    """
    difference = treatment - control
    variance = (control * (1 - control) + treatment * (1 - treatment)) / 2
    sign = float(np.sign(difference))
    if variance:
        return _EffectSize(difference / np.sqrt(variance), sign=sign, note=OF_CHANCES)
    if difference:
        return _EffectSize(np.nan, sign=sign, separated=True, note=f"undefined: {SEPARATION}")
    return _EffectSize(0.0, sign=sign, note=OF_CHANCES)


def _hedges(d: float, std_error: float, df: int) -> tuple[float, float, float]:
    """Hedges' (1981) g: d times J = Γ(df/2) / (√(df/2) Γ((df - 1)/2)); undefined where df is 1."""
    if df < 2:
        return np.nan, np.nan, np.nan
    j = float(np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2))
    half_width = float(stats.t.ppf(0.975, df)) * j * std_error
    g = float(j * d)
    return g, g - half_width, g + half_width


def _given(values: npt.ArrayLike) -> Floats:
    array: Floats = np.asarray(values, float)
    given: Floats = array[~np.isnan(array)]
    return given


def _std_error(control: Floats, treatment: Floats, difference: float, variance: float) -> float:
    """Of difference / sqrt(variance): the delta method over the two groups' means and variances."""
    df = control.size + treatment.size - 2
    of_mean = of_variance = both = 0.0
    for group, sign in ((control, -1), (treatment, 1)):
        centred, weight = group - group.mean(), (group.size - 1) / df
        second, third, fourth = (float((centred**power).mean()) for power in (2, 3, 4))
        unbiased = second * group.size / max(group.size - 1, 1)
        of_mean += unbiased / group.size
        of_variance += weight**2 * (fourth - second**2) / group.size
        both += sign * weight * third / group.size
    squared = (
        of_mean / variance + difference**2 * of_variance / (4 * variance**3) - difference * both / variance**2
    )
    return float(np.sqrt(max(squared, 0.0)))


def mean_then_cap(values: Sequence[float] | Floats) -> tuple[float, float]:
    """Return the mean of the defined values, and that mean capped to [0, 1]; NaN without any."""
    given = _given(values)
    if given.size == 0:
        return np.nan, np.nan
    mean = float(given.mean())
    return mean, min(max(mean, 0.0), 1.0)


def effect_label(value: float) -> str:
    """Return Cohen's (1988) word for the size of an effect; empty for NaN.

    A bound belongs to the larger size.
    """
    if np.isnan(value):
        return ""
    bounds = ((0.8, "large"), (0.5, "medium"), (0.2, "small"))
    word = next((word for bound, word in bounds if abs(value) >= bound), "negligible")
    return f"{word}, opposite direction" if value <= -0.2 else word


def homogeneity(d: npt.ArrayLike, n_control: npt.ArrayLike, n_treatment: npt.ArrayLike) -> tuple[float, str]:
    """Return the sampling variance of d over its observed variance, capped at 1, or why it is undefined.

    The sampling variances are those of Hedges and Olkin (1985) at the group's mean d; the numerator is their
    harmonic mean, the denominator the variance of d weighted by responses. From 0.75 on the group counts as
    homogeneous (Hunter and Schmidt's rule).
    """
    effect, c, t = (np.asarray(values, float) for values in (d, n_control, n_treatment))
    defined = ~np.isnan(effect) & (c + t > 4)
    effect, c, t = effect[defined], c[defined], t[defined]
    if effect.size < 2:
        return np.nan, f"undefined: {effect.size} defined effect sizes"
    observed = float(np.average((effect - np.average(effect, weights=c + t)) ** 2, weights=c + t))
    if observed == 0:
        return 1.0, "all effect sizes are equal"
    nu, m, delta = c + t - 2, c * t / (c + t), float(effect.mean())
    j = 1 - 3 / (4 * nu - 1)
    variance = (nu / (nu - 2)) * (1 + m * delta**2) / m - delta**2 / j**2
    return min(1.0, float(stats.hmean(variance)) / observed), ""
