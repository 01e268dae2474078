"""Fit one linear probability model to many outcomes at once, as a simulation of many studies needs it.

Estimates and errors are those of `Fit.contrast`, outcome by outcome; what does not depend on the outcome is
computed once.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse, stats

from analysis.estimators.jackknife import TOLERANCE
from analysis.estimators.lpm import LEAST_DF, Fit, Model
from analysis.tables.frame import Floats, Ints


@dataclass(frozen=True)
class _ManyContrasts:
    """A contrast in many outcomes (each array: outcomes); std_error is NaN where there is none."""

    estimate: Floats
    std_error: Floats
    df: float

    @property
    def p_value(self) -> Floats:
        """The two-sided p values; NaN without a standard error."""
        return np.asarray(2 * stats.t.sf(np.abs(self.estimate / self.std_error), self.df))

    @property
    def half_width(self) -> Floats:
        """Half the widths of the 95 % intervals."""
        return np.asarray(float(stats.t.ppf(0.975, self.df)) * self.std_error)


def fit_many(
    model: Model, weights: Mapping[str, Floats], outcomes: Floats, clusters: dict[str, Ints]
) -> dict[str, _ManyContrasts]:
    """Return each contrast in each outcome.

    weights: of the coefficients (K), by name; the model identifies all of them. outcomes: rows x outcomes.
    clusters: see `Fit`.
    """
    one = model.fit(outcomes[:, 0], clusters)
    y = model.centred(outcomes)
    coefficients = model.inverse @ (model.within.T @ y)
    residuals = y - model.within @ coefficients
    exact = np.abs(residuals).max(axis=0) < TOLERANCE
    scores = one.left_out.scores(residuals) if one.left_out else None
    found = {}
    for name, own in weights.items():
        estimate = own @ coefficients
        estimate[np.abs(estimate) < TOLERANCE] = 0.0
        error, df = np.full(len(estimate), np.nan), 1.0
        if not one.has_no_error(own):
            if one.left_out and scores is not None:
                jackknife = one.left_out.moved(own, scores)
                error, df = np.sqrt(jackknife.variance), jackknife.df
            else:
                error, df = _two_ways(one, own, residuals), one.df(own)
        error[exact | (error < TOLERANCE) | ("set" in clusters and df < LEAST_DF)] = np.nan
        found[name] = _ManyContrasts(estimate, error, df)
    return found


def _two_ways(one: Fit, weights: Floats, residuals: Floats) -> Floats:
    """The standard error in each outcome: the largest of the two-way and the two one-way ones."""
    direction = one.model.within @ (one.model.inverse @ weights)
    count = len(residuals)
    rows = np.arange(count)
    correction = (count - 1) / (count - one.model.rank - 1)
    (name, code), (other, its_code) = one.clusters.items()
    both = np.unique(code * (its_code.max() + 1) + its_code, return_inverse=True)[1]
    sums, parts = {}, {}
    for way, own in ((name, code), (other, its_code), ("", both)):
        member = sparse.csr_array((direction, (own, rows)))
        sums[way], parts[way] = ((member @ residuals) ** 2).sum(axis=0), int(own.max()) + 1
    one_way = [np.sqrt(correction * parts[way] / (parts[way] - 1) * sums[way]) for way in (name, other)]
    fewest = min(parts[name], parts[other], parts[""])
    variance = correction * fewest / (fewest - 1) * (sums[name] + sums[other] - sums[""])
    two_way = np.sqrt(np.where(variance >= 0, variance, 0.0))
    return np.asarray(np.max([two_way, *one_way], axis=0))
