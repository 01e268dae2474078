"""Linear probability model with trial fixed effects, and the standard errors of what follows from it.

The model is fitted by least squares to what the trial means leave of outcome and columns. All that is asked
of it is a linear combination of its coefficients, such as an average marginal contrast: its estimate is the
same combination of the estimates, and its standard error follows by the delta method, which is exact here.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse, stats

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]

TOLERANCE = 1e-9
"""Size below which an eigenvalue of the correlations, a residual or an estimate is rounding noise."""

ESTIMABLE = 1e-6
"""Share of a combination that may lie outside of what the data tell before it counts as not identified."""


@dataclass(frozen=True)
class Contrast:
    """A combination of coefficients, in probability units. NaN is undefined, with the reason in `note`."""

    estimate: float = np.nan
    std_error: float = np.nan
    df: float = np.nan
    note: str = ""

    @property
    def statistic(self) -> float:
        return self.estimate / self.std_error

    @property
    def p_value(self) -> float:
        return float(2 * stats.t.sf(abs(self.statistic), self.df))

    @property
    def half_width(self) -> float:
        """Half the width of the 95 % interval."""
        return _quantile(self.df) * self.std_error


@lru_cache(maxsize=1000)
def _quantile(df: float) -> float:
    """What 97.5 % of Student's t stay below; many contrasts have the same degrees of freedom."""
    return float(stats.t.ppf(0.975, df))


class Model:
    """The columns of a model (N x K) less their trial means, and what they can tell.

    trial: the fixed effect of each row, integers from 0.
    """

    def __init__(self, columns: Floats, trial: Ints) -> None:
        self._order = np.argsort(trial, kind="stable")
        self.trial = trial[self._order]
        self._starts = np.flatnonzero(np.r_[True, self.trial[1:] != self.trial[:-1]])
        self._sizes = np.diff(np.r_[self._starts, len(trial)])
        self.within = self._centred(columns)
        gram = self.within.T @ self.within
        size = np.sqrt(np.diag(gram))
        self._scale = np.where(size > TOLERANCE, size, 1.0)
        values, vectors = np.linalg.eigh(gram / np.outer(self._scale, self._scale))
        kept = values > TOLERANCE
        self.rank = int(kept.sum())
        self._space = vectors[:, kept]
        self.inverse: Floats = self._space / values[kept] @ self._space.T / np.outer(self._scale, self._scale)

    @property
    def comparisons(self) -> int:
        """Rows less trials: what the fixed effects leave."""
        return len(self.trial) - len(self._starts)

    def identifies(self, weights: Floats) -> bool:
        """Whether the data tell this combination of the coefficients (it is estimable, Rao 1973)."""
        scaled = weights / self._scale
        outside = scaled - self._space @ (self._space.T @ scaled)
        return bool(np.linalg.norm(outside) <= ESTIMABLE * np.linalg.norm(scaled))

    def influence(self, weights: Floats) -> Floats:
        """What each row's outcome adds to the estimate per unit (N), in the order of the rows as given."""
        influence = np.empty(len(self.trial))
        influence[self._order] = self.within @ (self.inverse @ weights)
        return influence

    def fit(self, y: Floats, clusters: dict[str, Ints]) -> "Fit":
        """Fit to an outcome, one value per row: a choice, or a choice probability. clusters: see `Fit`."""
        outcome = self._centred(y[:, None])[:, 0]
        coefficients = self.inverse @ (self.within.T @ outcome)
        residuals = outcome - self.within @ coefficients
        codes: dict[str, Ints] = {
            name: np.unique(code[self._order], return_inverse=True)[1] for name, code in clusters.items()
        }
        return Fit(self, coefficients, residuals, codes)

    def _centred(self, columns: Floats) -> Floats:
        centred = np.asarray(columns[self._order], float)
        count, largest = len(centred), _largest(centred)
        # Sums by a sparse matrix take a tenth of the time of `np.add.reduceat` along this axis.
        member = sparse.csr_array((np.ones(count), np.arange(count), np.r_[self._starts, count]))
        means = member @ centred / self._sizes[:, None]
        centred -= means[np.repeat(np.arange(len(means)), self._sizes)]
        centred[:, _largest(centred) <= 1e-12 * largest] = 0
        return centred


def _largest(columns: Floats) -> Floats:
    """The largest size of each column."""
    largest: Floats = np.maximum(columns.max(axis=0), -columns.min(axis=0))
    return largest


BOTH = "both ways"


@dataclass(frozen=True)
class Fit:
    """Least squares, with errors clustered by one or two named partitions of the rows.

    Each partition is coarser than the trial and has two or more parts. One-way standard errors are CRV1: the
    sandwich times (N-1)/(N-K) G/(G-1), where K counts the coefficients and one for the trial effects, which
    are nested in the clusters. The two-way variance adds the one-way ones and subtracts that of the
    intersection (Cameron, Gelbach and Miller 2011), each with the smaller G. With few clusters that is often
    too small, or negative; so the largest of the two-way and the two one-way standard errors is taken
    (MacKinnon, Nielsen and Webb 2024), and the note says so. t has min(G) - 1 degrees of freedom.
    """

    model: Model
    coefficients: Floats
    residuals: Floats
    clusters: dict[str, Ints]

    def contrast(self, weights: Floats) -> Contrast:
        """A combination of the coefficients (K weights); undefined where the data do not tell it."""
        if not self.model.identifies(weights):
            return Contrast(note="not identified")
        estimate = float(weights @ self.coefficients)
        if abs(estimate) < TOLERANCE:
            estimate = 0.0
        if np.abs(self.residuals).max() < TOLERANCE:
            return Contrast(estimate, note="no standard error: the model fits every choice exactly")
        names, two_way, one_way = self._errors(weights)
        std_error = float(np.nanmax([two_way, *one_way]))
        if std_error < TOLERANCE:
            return Contrast(estimate, note="no standard error: the residuals cancel in every cluster")
        note = ""
        if len(names) > 1 and not two_way >= std_error:
            widest = names[int(np.argmax(one_way))]
            said = "undefined" if np.isnan(two_way) else f"{100 * two_way:.2f}"
            note = f"standard error by {widest}, larger than two-way ({said})"
        df = min(len(self._scores[name]) for name in names) - 1
        return Contrast(estimate, std_error, df, note)

    def _errors(self, weights: Floats) -> tuple[list[str], float, list[float]]:
        """The partitions, the two-way standard error (NaN if there is none) and the one-way ones."""
        direction = self.model.inverse @ weights
        rows = len(self.residuals)
        correction = (rows - 1) / (rows - self.model.rank - 1)
        names = list(self.clusters)
        sums = {name: float(((scores @ direction) ** 2).sum()) for name, scores in self._scores.items()}
        parts = {name: len(self._scores[name]) for name in names}
        one_way = [float(np.sqrt(correction * parts[n] / (parts[n] - 1) * sums[n])) for n in names]
        if len(names) == 1:
            return names, np.nan, one_way
        fewest = min(parts.values())
        variance = correction * fewest / (fewest - 1) * (sum(sums[n] for n in names) - sums[BOTH])
        return names, float(np.sqrt(variance)) if variance >= 0 else np.nan, one_way

    @cached_property
    def _scores(self) -> dict[str, Floats]:
        """The columns times the residuals, summed by cluster (G x K); also by the intersection of two."""
        within = self.model.within
        if len(self.clusters) == 1:
            return {name: _sums(within, code, self.residuals) for name, code in self.clusters.items()}
        (name, code), (other, its_code) = self.clusters.items()
        width = its_code.max() + 1
        kinds, both = np.unique(code * width + its_code, return_inverse=True)
        cells = _sums(within, both, self.residuals)
        ones = np.ones(len(kinds))
        return {
            name: _sums(cells, kinds // width, ones),
            other: _sums(cells, kinds % width, ones),
            BOTH: cells,
        }


def _sums(rows: Floats, code: Ints, weight: Floats) -> Floats:
    """The weighted rows summed by code."""
    member = sparse.csr_matrix((weight, (code, np.arange(len(code)))))
    sums: Floats = member @ rows
    return sums
