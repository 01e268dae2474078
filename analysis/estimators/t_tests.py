"""Compare means from summaries (count, mean, standard deviation), including degenerate cases.

Everything is two-sided and computed from summaries, so that published tables can be checked as well as data.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

NO_DIFFERENCE = "no difference, no variance: t is undefined"
DEGENERATE = "degenerate: no variance, so t is infinite and the effect size undefined"


class Summary(NamedTuple):
    """The count, mean and sample standard deviation (divisor n - 1) of values.

    The mean is NaN for no values, the standard deviation for less than two.
    """

    n: int
    mean: float
    sd: float

    @property
    def variance_of_mean(self) -> float:
        return self.sd**2 / self.n


@dataclass(frozen=True)
class TTest:
    """A two-sided t test. NaN is undefined, with the reason in `note`; `effect_size` is Cohen's d."""

    estimate: float = np.nan
    std_error: float = np.nan
    statistic: float = np.nan
    df: float = np.nan
    p_value: float = np.nan
    effect_size: float = np.nan
    conf_low: float = np.nan
    conf_high: float = np.nan
    note: str = ""

    def row(self) -> dict[str, Any]:
        """Return the test's columns in a frame of results."""
        return {**vars(self), "side": "two-sided"}


def student(estimate: Any, std_error: Any, df: Any) -> dict[str, Any]:
    """Return std_error, statistic, p_value, conf_low and conf_high of Student's t, of numbers or arrays."""
    statistic, half_width = estimate / std_error, stats.t.ppf(0.975, df) * std_error
    return {
        "std_error": std_error,
        "statistic": statistic,
        "p_value": 2 * stats.t.sf(abs(statistic), df),
        "conf_low": estimate - half_width,
        "conf_high": estimate + half_width,
    }


def summed(variances: "pd.Series[float]", df: "pd.Series[float]") -> tuple[float, float]:
    """Return the error of a sum of independent estimates, and its degrees of freedom (Satterthwaite 1946)."""
    total = variances.sum(skipna=False)
    return float(np.sqrt(total)), float(total**2 / (variances**2 / df).sum()) if total else np.nan


def summarize(values: npt.ArrayLike) -> Summary:
    """Summarise the values that are not NaN."""
    given = np.asarray(values, float)
    given = given[~np.isnan(given)]
    if given.size == 0:
        return Summary(0, np.nan, np.nan)
    if given.min() == given.max():
        # Rounding must not give equal values a variance.
        return Summary(given.size, float(given[0]), 0.0 if given.size > 1 else np.nan)
    return Summary(given.size, float(given.mean()), float(given.std(ddof=1)))


def one_sample_t(sample: Summary, expected: float = 0.0) -> TTest:
    """Compute Student's t of the mean against `expected`; df n - 1; d = difference / sd."""
    difference = sample.mean - expected
    if sample.n == 0:
        return TTest(note="no responses")
    if sample.n == 1:
        return TTest(difference, note="one response: no standard deviation")
    return _test(difference, np.sqrt(sample.variance_of_mean), sample.n - 1, sample.sd)


def two_sample_t(first: Summary, second: Summary, *, pooled: bool = False) -> TTest:
    """Compute t of second minus first, by Welch (1947); by Student with the pooled variance if `pooled`.

    d is the difference over the root of the mean of the two variances, also where counts differ.
    """
    difference = second.mean - first.mean
    if min(first.n, second.n) == 0:
        return TTest(note="no responses on one side")
    if min(first.n, second.n) == 1:
        return TTest(difference, note="one response on one side: no standard deviation")
    one, two = first.variance_of_mean, second.variance_of_mean
    if pooled:
        df = float(first.n + second.n - 2)
        variance = ((first.n - 1) * first.sd**2 + (second.n - 1) * second.sd**2) / df
        std_error = np.sqrt(variance * (1 / first.n + 1 / second.n))
    else:
        std_error = np.sqrt(one + two)
        if std_error > 0:
            # Welch and Satterthwaite; as shares, so that tiny variances do not underflow.
            share = one / (one + two)
            df = 1 / (share**2 / (first.n - 1) + (1 - share) ** 2 / (second.n - 1))
        else:
            df = np.nan
    return _test(difference, std_error, df, np.sqrt((first.sd**2 + second.sd**2) / 2))


def _test(difference: float, std_error: float, df: float, sd: float) -> TTest:
    if std_error == 0:
        if difference == 0:
            return TTest(0.0, 0.0, df=df, p_value=1.0, note=NO_DIFFERENCE)
        return TTest(difference, 0.0, np.copysign(np.inf, difference), df, 0.0, note=DEGENERATE)
    told: dict[str, Any] = {name: float(each) for name, each in student(difference, std_error, df).items()}
    return TTest(difference, df=float(df), effect_size=float(difference / sd), **told)


def wilson_interval(successes: float, n: int) -> tuple[float, float]:
    """Return Wilson's (1927) 95 % score interval of a share; NaN for n = 0.

    The end at an extreme share is exact.
    """
    if n == 0:
        return np.nan, np.nan
    low, high = proportion_confint(successes, n, method="wilson")
    return (0.0 if successes == 0 else float(low)), (1.0 if successes == n else float(high))


def wald_interval(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval share +- z sqrt(share (1 - share) / n), clipped to [0, 1]; NaN for n = 0.

    z is 1.959964.
    """
    if n == 0:
        return np.nan, np.nan
    half_width = stats.norm.ppf(0.975) * np.sqrt(share * (1 - share) / n)
    return float(max(0.0, share - half_width)), float(min(1.0, share + half_width))
