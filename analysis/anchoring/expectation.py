"""Compute the answer that a model is expected to give: the mean of the targets, weighted by probability."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from analysis.tables.frame import Floats

MEANS, ANSWERS = 5_000, 100
"""The number of simulated means behind a band, and the number of answers in each."""

BAND_STREAM = "numpy default_rng(seed), fresh for each anchor"


@dataclass(frozen=True)
class Expectation:
    """SoftEV, and the predictive band of the mean of 100 answers.

    `spread` is the band's standard deviation.
    """

    estimate: float
    spread: float
    low: float
    high: float
    n: int
    n_missing: int


def log_probabilities(scores: Floats) -> Floats:
    """Normalise scores to log-probabilities over the last axis.

    These are the scores less their logsumexp. Undefined scores stay undefined; the probabilities of the
    others add up to 1.
    """
    filled = np.where(np.isnan(scores), -np.inf, scores)
    with np.errstate(invalid="ignore"):
        normalised = filled - logsumexp(filled, axis=-1, keepdims=True)
    return np.where(np.isnan(scores), np.nan, normalised)


def soft_ev(scores: Floats, values: Floats) -> Floats:
    """Compute the expected value over the last axis, of the targets that have a score.

    The result is undefined where no target has one.
    """
    weighted = np.exp(log_probabilities(scores)) * values
    return np.where(np.isnan(scores).all(axis=-1), np.nan, np.nansum(weighted, axis=-1))


def expectation(scores: Floats, values: Floats, seed: int) -> Expectation:
    """Compute SoftEV of one prompt and the 2.5 and 97.5 percentiles of simulated means.

    scores: natural log scores of the targets, NaN where undefined; values: their numbers. The band says where
    the mean of 100 answers falls; it is not a confidence interval. It lies within the range of `values` by
    itself.
    """
    given = ~np.isnan(scores)
    n, n_missing = int(given.sum()), int((~given).sum())
    if n == 0:
        return Expectation(np.nan, np.nan, np.nan, np.nan, n, n_missing)
    probabilities = np.exp(log_probabilities(scores[given]))
    drawn = np.random.default_rng(seed).choice(values[given], size=(MEANS, ANSWERS), p=probabilities)
    means = drawn.mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    estimate = float(soft_ev(scores, values))
    return Expectation(estimate, float(means.std(ddof=1)), float(low), float(high), n, n_missing)
