"""Compute willingness to pay from a choice model: the value of an attribute's unit in units of the price."""

import numpy as np
import pandas as pd
from scipy import stats

from analysis.estimators.clogit import INTERCEPT, CLogit
from analysis.estimators.t_tests import student
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import FRAME_COLUMNS, NUMBERS


def wtp(
    fit: CLogit,
    price_term: str,
    *,
    at: float = 1.0,
    group: str = "",
    draws: int = 10_000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return -b / b_price for every other term of `fit`, in units of the price.

    An intercept `const` is left out. at: of a model in the logarithm of the price, the price at which the
    question is put: there one unit of the price is 1 / at of its logarithm, so the ratio counts that many
    times.

    std_error, statistic, p_value, conf_low, conf_high: delta method. krinsky_robb_low, krinsky_robb_high: 2.5
    and 97.5 % quantiles of the ratio over `draws` of the coefficients from their normal distribution (Krinsky
    and Robb 1986), which need not be symmetric.

    Undefined unless the 95 % interval of the price coefficient lies below 0: near 0 the ratio has no bounded
    interval (Fieller 1954), above 0 it is no willingness to pay.

    Raises AnalysisError if the fit has no term of that name.
    """
    if price_term not in fit.terms:
        raise AnalysisError(f"wtp: no term {price_term!r}; there are {', '.join(fit.terms)}")
    price = fit.terms.index(price_term)
    terms = [k for k, term in enumerate(fit.terms) if k != price and term != INTERCEPT]
    frame = fit.frame(group).iloc[terms].reset_index(drop=True)
    columns = [*NUMBERS, "krinsky_robb_low", "krinsky_robb_high"]
    values = np.full((len(terms), len(columns)), np.nan)
    slope, _ = fit.of(price_term)
    if reason := no_price(fit, price_term):
        frame[columns], frame["note"] = values, reason
        return frame
    drawn = _draw(fit, draws, seed)
    for row, k in enumerate(terms):
        if np.isnan(fit.std_error[k]):
            continue
        value = -at * fit.estimate[k] / slope
        spread = at * ratio_error(fit, fit.terms[k], price_term)
        low, high = np.quantile(-at * drawn[:, k] / drawn[:, price], [0.025, 0.975])
        told = {"estimate": value, **student(value, spread, fit.df)}
        told |= {"krinsky_robb_low": low, "krinsky_robb_high": high}
        values[row] = [told.get(name, np.nan) for name in columns]
    frame[columns] = values
    return frame[[*FRAME_COLUMNS, *columns[-2:]]]


def fieller(fit: CLogit, term: str, price_term: str, level: float = 0.95) -> tuple[float, float, float]:
    """Return -b / b_price and its interval: all ratios that the data do not refute (Fieller 1954).

    A ratio r is refuted where b + r b_price is told from 0. The set of the others is an interval if the price
    coefficient is told from 0, and leaves out 0 exactly if b is. Otherwise it is unbounded, and all three
    numbers are NaN; so they are without standard errors.
    """
    (b, error), (slope, price_error) = fit.of(term), fit.of(price_term)
    t = float(stats.t.ppf((1 + level) / 2, fit.df))
    a = slope**2 - (t * price_error) ** 2
    if not (a > 0 and error >= 0):
        return np.nan, np.nan, np.nan
    at, price = fit.terms.index(term), fit.terms.index(price_term)
    half = b * slope - t**2 * float(fit.cov[at, price])
    rest = b**2 - (t * error) ** 2
    root = float(np.sqrt(max(half**2 - a * rest, 0.0)))
    return -b / slope, (-half - root) / a, (-half + root) / a


def ratio_error(fit: CLogit, term: str, price_term: str) -> float:
    """Return the standard error of -b / b_price by the delta method."""
    at = [fit.terms.index(term), fit.terms.index(price_term)]
    b, slope = fit.estimate[at]
    gradient = np.array([-1.0, b / slope]) / slope
    return float(np.sqrt(gradient @ fit.cov[np.ix_(at, at)] @ gradient))


def no_price(fit: CLogit, term: str) -> str:
    """Return why there is no willingness to pay; empty if the price coefficient is clearly below 0."""
    slope, error = fit.of(term)
    half_width = float(stats.t.ppf(0.975, fit.df)) * error
    if np.isnan(half_width):
        note = fit.term_notes[fit.terms.index(term)]
        return f"no willingness to pay: {note or f'{term} has no standard error'}"
    if slope - half_width > 0:
        return f"no willingness to pay: the coefficient of {term} is positive, a higher price attracts"
    if slope + half_width >= 0:
        return f"no willingness to pay: the coefficient of {term} is not clearly below 0"
    return ""


def _draw(fit: CLogit, draws: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """draws x K; NaN for a term without an estimate."""
    drawn = np.full((draws, len(fit.terms)), np.nan)
    defined = np.flatnonzero(~np.isnan(fit.std_error))
    matrix = fit.cov[np.ix_(defined, defined)]
    scale = np.sqrt(np.diag(matrix))
    # The Cholesky root of the correlations: the coefficients' scales may be far apart.
    root = np.linalg.cholesky(matrix / np.outer(scale, scale))
    noise = np.random.default_rng(seed).standard_normal((draws, len(defined)))
    drawn[:, defined] = fit.estimate[defined] + (noise @ root.T) * scale
    return drawn
