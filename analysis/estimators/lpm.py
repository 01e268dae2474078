"""Fit a linear probability model with trial fixed effects, and compute standard errors of contrasts.

The model is fitted by least squares to what the trial means leave of outcome and columns. All that is asked
of it is a linear combination of its coefficients, such as an average marginal contrast: its estimate is the
same combination of the estimates, and its standard error follows by the delta method, which is exact here.
"""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from scipy import sparse, stats

from analysis.estimators.jackknife import (
    TOLERANCE,
    Jackknife,
    LeaveOut,
    inside,
    pseudo_inverse,
    satterthwaite,
    spread,
    squares,
    sums,
)
from analysis.tables.frame import Floats, Ints

NO_INTERVAL = "no interval"
CANCELS = "no standard error: the residuals cancel in every cluster"
PLURALS = {
    "nudge text": "nudge texts",
    "category": "categories",
    "set": "choice sets",
    "participant": "participants",
}
"""The plural of each way in which errors are clustered."""

LEAST_CLUSTERS = {1: 12, 2: 8}
"""The fewest clusters that carry an interval, by the number of ways: one way, and two ways (of each).

An agent that always answers alike gives each choice set one answer. In simulations of the designs, intervals
from eight to ten such clusters held the truth in 0.86 to 0.92 of the studies; see docs/analysis.md. Two ways
need fewer, because the largest of three errors is taken.
"""

LEAST_DF = 9
"""The fewest degrees of freedom of an error by choice set that carry an interval; twelve equal sets give 11.

With fewer, a few sets decide the estimate; of an agent that always answers alike, a true 0 was rejected in
0.06 to 0.13 of simulated studies, see docs/decisions/standard-errors.md.
"""

FEW_DECIDE = f"{NO_INTERVAL}: a few choice sets decide it"


@dataclass(frozen=True)
class Contrast:
    """The estimate of a combination of coefficients, in probability units.

    NaN is undefined, with the reason in `note`.
    """

    estimate: float = np.nan
    std_error: float = np.nan
    df: float = np.nan
    note: str = ""
    jackknife: Jackknife | None = field(default=None, repr=False, compare=False)
    """Where errors are clustered one way."""

    def less(self, other: "Contrast") -> "Contrast":
        """Return this estimate less another one, with the jackknife error of the difference.

        The other one is of other trials in the same clusters.
        """
        estimate = self.estimate - other.estimate
        if self.jackknife is None or other.jackknife is None:
            return Contrast(estimate, note=self.note if self.jackknife is None else other.note)
        return jackknifed(estimate, self.jackknife.less(other.jackknife))

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


def jackknifed(estimate: float, jackknife: Jackknife) -> Contrast:
    """Return an estimate with the jackknife error of its clusters."""
    variance = float(jackknife.variance)
    if variance < TOLERANCE**2:
        return Contrast(estimate, note=CANCELS)
    return Contrast(estimate, float(np.sqrt(variance)), jackknife.df, jackknife=jackknife)


@lru_cache(maxsize=1000)
def _quantile(df: float) -> float:
    """What 97.5 % of Student's t stay below; many contrasts have the same degrees of freedom."""
    return float(stats.t.ppf(0.975, df))


class Model:
    """The columns of a model (N x K) less their trial means, and what they identify.

    trial: the fixed effect of each row, integers from 0. weights: of each row, the same in a trial; None: 1.
    Weighted least squares: columns, outcomes and residuals are times the root of the weight.
    """

    def __init__(self, columns: Floats, trial: Ints, weights: Floats | None = None) -> None:
        self._order = np.argsort(trial, kind="stable")
        self._root = None if weights is None else np.sqrt(weights[self._order])
        self.trial = trial[self._order]
        self._starts = np.flatnonzero(np.r_[True, self.trial[1:] != self.trial[:-1]])
        self._sizes = np.diff(np.r_[self._starts, len(trial)])
        self.within = self.centred(columns)
        gram = self.within.T @ self.within
        size = np.sqrt(np.diag(gram))
        self.scale = np.where(size > TOLERANCE, size, 1.0)
        self._gram = gram / np.outer(self.scale, self.scale)
        self._inverse, self._projector = pseudo_inverse(self._gram)
        self.rank = round(np.trace(self._projector))
        self.inverse: Floats = self._inverse / np.outer(self.scale, self.scale)

    @property
    def comparisons(self) -> int:
        """The number of rows less that of trials: what the fixed effects leave."""
        return len(self.trial) - len(self._starts)

    def identifies(self, weights: Floats) -> bool:
        """Return whether the data identify this combination of the coefficients (estimable, Rao 1973)."""
        return inside(weights / self.scale, self._projector)

    def influence(self, weights: Floats) -> Floats:
        """Return what each row's outcome adds to the estimate per unit (N).

        The rows are in the order as given.
        """
        influence = np.empty(len(self.trial))
        own = self.within @ (self.inverse @ weights)
        influence[self._order] = own if self._root is None else own * self._root
        return influence

    def leave_out(self, code: Ints) -> LeaveOut:
        """Return the model without each cluster in turn.

        code: the cluster of each row, in the order as given.
        """
        columns = self.within / self.scale
        return LeaveOut(columns, self.scale, self._gram, self._inverse, code[self._order])

    def fit(self, y: Floats, clusters: dict[str, Ints], by_set: Ints | None = None) -> "Fit":
        """Fit the model to an outcome, one value per row: a choice, or a choice probability.

        clusters, by_set: see `Fit`.
        """
        outcome = self.centred(y[:, None])[:, 0]
        coefficients = self.inverse @ (self.within.T @ outcome)
        residuals = outcome - self.within @ coefficients
        codes: dict[str, Ints] = {
            name: np.unique(code[self._order], return_inverse=True)[1] for name, code in clusters.items()
        }
        left_out = self.leave_out(next(iter(clusters.values()))) if len(clusters) == 1 else None
        sets = None if by_set is None else self.leave_out(by_set)
        return Fit(self, coefficients, residuals, codes, left_out, sets)

    def centred(self, columns: Floats) -> Floats:
        """Return columns (N x K) in the order of the trials, less their trial means; weighted, see above."""
        centred = np.asarray(columns[self._order], float)
        count, largest = len(centred), _largest(centred)
        # Sums by a sparse matrix take a tenth of the time of `np.add.reduceat` along this axis.
        member = sparse.csr_array((np.ones(count), np.arange(count), np.r_[self._starts, count]))
        means = member @ centred / self._sizes[:, None]
        centred -= means[np.repeat(np.arange(len(means)), self._sizes)]
        centred[:, _largest(centred) <= 1e-12 * largest] = 0
        return centred if self._root is None else centred * self._root[:, None]


def _largest(columns: Floats) -> Floats:
    """The largest size of each column."""
    largest: Floats = np.maximum(columns.max(axis=0), -columns.min(axis=0))
    return largest


BOTH = "both ways"


@dataclass(frozen=True)
class Fit:
    """Least squares, with errors clustered by one or two named partitions of the rows.

    Each partition is coarser than the trial. One way: the jackknife over clusters, see `Jackknife`. Only
    clusters that the combination depends on count; with fewer than `LEAST_CLUSTERS` of one way there is no
    error.

    Two ways: each CRV1, the sandwich times (N-1)/(N-K) G/(G-1), where K counts the coefficients and one for
    the trial effects, which are nested in the clusters. The two-way variance adds the one-way ones and
    subtracts that of the intersection (Cameron, Gelbach and Miller 2011), each with the smaller G. With few
    clusters that is often too small, or negative; so the largest of the two-way and the two one-way standard
    errors is taken (MacKinnon, Nielsen and Webb 2024), and the note says so. t has the smaller of the two
    ways' degrees of freedom, Satterthwaite's as with the jackknife.

    left_out: the partition of one way. by_set: choice sets, where an error by set counts too: the jackknife
    over them is taken where it is larger.
    """

    model: Model
    coefficients: Floats
    residuals: Floats
    clusters: dict[str, Ints]
    left_out: LeaveOut | None
    by_set: LeaveOut | None = None

    def contrast(self, weights: Floats) -> Contrast:
        """Estimate a combination of the coefficients (K weights).

        The estimate is undefined where the data do not identify the combination.
        """
        if not self.model.identifies(weights):
            return Contrast(note="not identified")
        estimate = float(weights @ self.coefficients)
        if abs(estimate) < TOLERANCE:
            estimate = 0.0
        if reason := self._too_few(weights):
            return Contrast(estimate, note=reason)
        if np.abs(self.residuals).max() < TOLERANCE:
            return Contrast(estimate, note="no standard error: the model fits every choice exactly")
        if self.left_out:
            found = jackknifed(estimate, self.left_out.moved(weights, self._left_out_scores))
            if "set" in self.clusters and found.df < LEAST_DF:
                return Contrast(estimate, note=FEW_DECIDE)
        else:
            found = self._two_ways(estimate, weights)
        return self._or_by_set(found, weights) if self.by_set else found

    def df(self, weights: Floats) -> float:
        """Return the degrees of freedom of an error clustered two ways."""
        direction = self.model.inverse @ weights
        shifts = [each @ direction for each in self._squares.values()]
        return min(satterthwaite(spread(each @ direction, each, self.model.inverse)) for each in shifts)

    def counts(self, weights: Floats) -> dict[str, int]:
        """Count the clusters of each way on which the combination depends."""
        direction = self.model.inverse @ weights
        shares = {
            name: np.einsum("i,gij,j->g", direction, squares, direction)
            for name, squares in self._squares.items()
        }
        return {name: int((share > TOLERANCE * share.sum()).sum()) for name, share in shares.items()}

    def has_no_error(self, weights: Floats) -> bool:
        """Return whether the clusters cannot carry an interval of the combination, whatever the outcome."""
        return bool(self._too_few(weights))

    def _too_few(self, weights: Floats) -> str:
        """Why the clusters cannot carry an interval; nothing where they can."""
        least = LEAST_CLUSTERS[len(self.clusters)]
        few = [PLURALS.get(name, name) for name, count in self.counts(weights).items() if count < least]
        if few:
            return f"{NO_INTERVAL}: fewer than {least} {' and '.join(few)}"
        for name, left_out in ((next(iter(self.clusters)), self.left_out), ("set", self.by_set)):
            if left_out and not left_out.identifies(weights):
                return f"{NO_INTERVAL}: without one {name} it cannot be estimated"
        return ""

    def _two_ways(self, estimate: float, weights: Floats) -> Contrast:
        """The estimate with the largest of the two-way error and the two one-way ones."""
        names, two_way, one_way = self._errors(weights)
        std_error = float(np.nanmax([two_way, *one_way]))
        if std_error < TOLERANCE:
            return Contrast(estimate, note=CANCELS)
        note = ""
        if not two_way >= std_error * (1 - TOLERANCE):
            widest = names[int(np.argmax(one_way))]
            said = "undefined" if np.isnan(two_way) else f"{100 * two_way:.2f}"
            note = f"standard error by {widest}, larger than two-way ({said})"
        return Contrast(estimate, std_error, self.df(weights), note)

    def _or_by_set(self, found: Contrast, weights: Floats) -> Contrast:
        """The estimate with the error by choice set, where that is larger."""
        assert self.by_set  # noqa: S101 (asked only where there is one)
        other = jackknifed(found.estimate, self.by_set.moved(weights, self._by_set_scores))
        if not other.std_error > found.std_error * (1 + TOLERANCE):
            return found
        ways = " and ".join(self.clusters)
        note = f"standard error by set, larger than by {ways} ({100 * found.std_error:.2f})"
        return Contrast(found.estimate, other.std_error, min(found.df, other.df), note)

    @cached_property
    def _left_out_scores(self) -> Floats:
        assert self.left_out  # noqa: S101
        return self.left_out.scores(self.residuals)

    @cached_property
    def _by_set_scores(self) -> Floats:
        assert self.by_set  # noqa: S101
        return self.by_set.scores(self.residuals)

    @cached_property
    def _squares(self) -> dict[str, Floats]:
        """The products of the columns, summed by cluster of each way (G x K x K)."""
        return {name: squares(self.model.within, code) for name, code in self.clusters.items()}

    def _errors(self, weights: Floats) -> tuple[list[str], float, list[float]]:
        """The two partitions, the two-way standard error (NaN if there is none) and the one-way ones."""
        direction = self.model.inverse @ weights
        rows = len(self.residuals)
        correction = (rows - 1) / (rows - self.model.rank - 1)
        names = list(self.clusters)
        total = {name: float(((scores @ direction) ** 2).sum()) for name, scores in self._scores.items()}
        parts = {name: len(self._scores[name]) for name in names}
        one_way = [float(np.sqrt(correction * parts[n] / (parts[n] - 1) * total[n])) for n in names]
        fewest = min(parts.values())
        variance = correction * fewest / (fewest - 1) * (sum(total[n] for n in names) - total[BOTH])
        return names, float(np.sqrt(variance)) if variance >= 0 else np.nan, one_way

    @cached_property
    def _scores(self) -> dict[str, Floats]:
        """The columns times the residuals, summed by cluster of each way and of both (G x K)."""
        within = self.model.within
        (name, code), (other, its_code) = self.clusters.items()
        width = its_code.max() + 1
        kinds, both = np.unique(code * width + its_code, return_inverse=True)
        cells = sums(within, both, self.residuals)
        ones = np.ones(len(kinds))
        return {
            name: sums(cells, kinds // width, ones),
            other: sums(cells, kinds % width, ones),
            BOTH: cells,
        }
