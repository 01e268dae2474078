"""Check choice sets and turn them into arrays, to which the conditional logit is fitted."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats, Ints

ROUNDING = 1e-6
"""How far the sum of chances may be from 1."""
Covariance = Literal["classical", "robust", "clustered"]


@dataclass(frozen=True)
class ChoiceSets:
    """The arrays that the likelihood of choices in S sets needs.

    differences: N x K, the chosen option less each rejected one, sorted by set. set: N codes from 0, each at
    least once. weight, cluster, shown: one per set. A set whose options have chances is here once for each
    option, as its choice with its chance as weight; these have one code in `shown`.
    """

    differences: Floats
    set: Ints
    weight: Floats
    cluster: Ints
    shown: Ints

    @property
    def n_sets(self) -> int:
        """The number of sets that were shown."""
        return len(np.unique(self.shown))

    @property
    def n_options(self) -> int:
        sizes = 1 + np.bincount(self.set)
        return int(sizes[np.unique(self.shown, return_index=True)[1]].sum())

    def sums(self, values: Floats) -> Floats:
        """Return the sum over the rejected options of each set; of pairs, the values themselves."""
        if len(self.set) == len(self.weight):
            return values
        sums: Floats = self._member @ values
        return sums

    def highest(self, values: Floats) -> Floats:
        """Return the highest value of each set."""
        if len(self.set) == len(self.weight):
            return values
        highest: Floats = np.maximum.reduceat(values, self._starts)
        return highest

    def only(self, rows: npt.NDArray[np.bool_]) -> "ChoiceSets":
        """Return the sets with only the rejected options marked in `rows`.

        A set that keeps none is dropped.
        """
        kept = np.bincount(self.set[rows], minlength=len(self.weight)) > 0
        code = np.cumsum(kept) - 1
        own = self.weight[kept], self.cluster[kept], self.shown[kept]
        return ChoiceSets(self.differences[rows], code[self.set[rows]], *own)

    @cached_property
    def _starts(self) -> Ints:
        return np.flatnonzero(np.diff(self.set, prepend=-1))

    @cached_property
    def _member(self) -> sparse.csr_array:
        # Sums by a sparse matrix take a tenth of the time of `np.add.reduceat` along the first axis.
        count = len(self.set)
        shape = (len(self.weight), count)
        return sparse.csr_array((np.ones(count), np.arange(count), np.r_[self._starts, count]), shape=shape)


def has_chances(chosen: Floats) -> bool:
    """Say whether there are chances of options, and not choices alone."""
    return bool(((chosen > 0) & (chosen < 1)).any())


def named(x: npt.ArrayLike) -> pd.DataFrame:
    """Return an array as a frame whose columns are called x0, x1 ..."""
    values = np.asarray(x, float)
    if values.ndim != 2:
        raise AnalysisError(f"x: {values.ndim} dimensions; give one row per option and one column per term")
    return pd.DataFrame(values, columns=[f"x{k}" for k in range(values.shape[1])])


def read_sets(
    frame: pd.DataFrame,
    chosen: npt.ArrayLike,
    groups: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    cluster: npt.ArrayLike | None,
    cov: Covariance,
) -> tuple[ChoiceSets, int]:
    """Return the complete sets, and how many were left out for a missing value or choice.

    See `fit_clogit`.
    """
    x = _values(frame)
    label = pd.factorize(np.asarray(groups))[0]
    flags = np.asarray(chosen, float)
    _one_each(len(x), chosen=flags, groups=label)
    weight, member = _units(label, weights, cluster, cov)
    if (flags < 0).any() or (flags > 1).any():
        raise AnalysisError("chosen: a value is not 1, 0, a chance between them, or NaN")
    order = np.argsort(label, kind="stable")
    x, label, flags, weight, member = x[order], label[order], flags[order], weight[order], member[order]
    made = np.bincount(label, np.nan_to_num(flags))
    if (made > 1 + ROUNDING).any() or (label < 0).any():
        raise AnalysisError("chosen: a set has more than one choice, or no label; mark one option per set")
    if ((made > 0) & (made < 1 - ROUNDING)).any():
        raise AnalysisError("chosen: the chances of a set do not add up to 1")
    first = np.unique(label, return_index=True)[1]
    for name, values in {"weights": weight, "cluster": member}.items():
        if (values != values[first][label]).any():
            raise AnalysisError(f"{name}: differs within a set; give its options the same")
    incomplete = np.bincount(label, ~np.isfinite(x).all(axis=1) | np.isnan(flags)) > 0
    missing = incomplete | (made == 0)
    count = np.bincount(label)
    kept = ~missing & (weight[first] > 0) & (count > 1)
    best = np.flatnonzero(kept[label] & (flags > 0))
    many = count[label[best]]
    code = np.repeat(np.arange(len(best)), many)
    row = np.arange(len(code)) + (first[label[best]] - np.cumsum(many) + many)[code]
    rejected = row != best[code]
    code, row = code[rejected], row[rejected]
    differences = x[best[code]] - x[row]
    size = abs(x).max(axis=0, initial=0, where=kept[label][:, None])
    differences[abs(differences) <= 1e-12 * size] = 0  # but for rounding
    sets = ChoiceSets(differences, code, weight[best] * flags[best], member[best], label[best])
    return sets, int(missing.sum())


def read_pairs(
    frame: pd.DataFrame,
    outcome: npt.ArrayLike,
    weights: npt.ArrayLike | None,
    cluster: npt.ArrayLike | None,
    cov: Covariance,
) -> tuple[ChoiceSets, int]:
    """Return each row as a choice (1) or not (0) of its option instead of an empty one.

    See `fit_logit`.
    """
    x = _values(frame)
    y = np.asarray(outcome, float)
    _one_each(len(x), outcome=y)
    if (y < 0).any() or (y > 1).any():
        raise AnalysisError("outcome: a value is not 1, 0, a chance between them, or NaN")
    weight, member = _units(np.arange(len(x)), weights, cluster, cov)
    missing = ~np.isfinite(x).all(axis=1) | np.isnan(y)
    kept = np.flatnonzero(~missing & (weight > 0))
    row = np.repeat(kept, 1 + ((y[kept] > 0) & (y[kept] < 1)))  # with a chance both, one after the other
    taken = (y[row] > 0) & (np.diff(row, prepend=-1) > 0)
    differences = np.where(taken, 1.0, -1.0)[:, None] * x[row]
    share = np.where(taken, y[row], 1 - y[row])
    sets = ChoiceSets(differences, np.arange(len(row)), weight[row] * share, member[row], row)
    return sets, int(missing.sum())


def _values(frame: pd.DataFrame) -> Floats:
    if frame.columns.duplicated().any():
        raise AnalysisError(f"x: two columns are called {frame.columns[frame.columns.duplicated()][0]!r}")
    return frame.to_numpy(float, na_value=np.nan)


def _units(
    label: Ints, weights: npt.ArrayLike | None, cluster: npt.ArrayLike | None, cov: Covariance
) -> tuple[Floats, Ints]:
    """The weight of each row, and the code of its cluster: without clusters, its label."""
    if (cluster is not None) != (cov == "clustered"):
        raise AnalysisError(f"cov {cov!r}: cluster labels go with cov='clustered'; give both or neither")
    weight = np.ones(len(label)) if weights is None else np.asarray(weights, float)
    member = label if cluster is None else pd.factorize(np.asarray(cluster))[0]
    _one_each(len(label), weights=weight, cluster=member)
    if (weight < 0).any() or np.isnan(weight).any():
        raise AnalysisError("weights: a value is negative or missing; give one weight per set")
    return weight, member


def _one_each(count: int, **given: npt.NDArray[Any]) -> None:
    for name, values in given.items():
        if values.shape != (count,):
            raise AnalysisError(f"{name}: {values.shape} values for {count} options; give one per option")
