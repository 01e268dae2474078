"""Choice sets as arrays, checked: what the conditional logit is fitted to."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from analysis.errors import AnalysisError
from analysis.lpm import Floats, Ints

Covariance = Literal["classical", "robust", "clustered"]


@dataclass(frozen=True)
class ChoiceSets:
    """Options sorted by set. x: N x K; set: N codes from 0; chosen: N flags; weight, cluster: one per set."""

    x: Floats
    set: Ints
    chosen: npt.NDArray[np.bool_]
    weight: Floats
    cluster: Ints

    @cached_property
    def differences(self) -> Floats:
        """The chosen option less each rejected one (N - S rows): all that a likelihood of choices sees."""
        if not len(self.x):
            return self.x
        found = (self.x[self.chosen][self.set] - self.x)[~self.chosen]
        found[:, abs(found).max(axis=0) <= 1e-12 * abs(self.x).max(axis=0)] = 0  # but for rounding
        return found

    @cached_property
    def rejected(self) -> "Rejected":
        """The sets of the rows of `differences`."""
        return Rejected(self.set[~self.chosen])

    def only(self, rows: npt.NDArray[np.bool_]) -> "ChoiceSets":
        """The options marked in `rows`, without sets that keep fewer than two."""
        size = np.bincount(self.set[rows], minlength=len(self.weight))
        kept = size > 1
        rows = rows & kept[self.set]
        code = np.cumsum(kept) - 1
        return ChoiceSets(
            self.x[rows], code[self.set[rows]], self.chosen[rows], self.weight[kept], self.cluster[kept]
        )


class Rejected:
    """The rejected options of each set. codes: of the sets, from 0, sorted, each at least once."""

    def __init__(self, codes: Ints) -> None:
        self.set = codes
        self._starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]]) if len(codes) else codes
        count = len(codes)
        # Sums by a sparse matrix take a tenth of the time of `np.add.reduceat` along the first axis.
        ends = np.r_[self._starts, count]
        self._member = sparse.csr_array(
            (np.ones(count), np.arange(count), ends), shape=(len(self._starts), count)
        )

    def sums(self, values: Floats) -> Floats:
        """The sum of the rows of each set."""
        sums: Floats = self._member @ values
        return sums

    def highest(self, values: Floats) -> Floats:
        """The highest value of each set."""
        highest: Floats = np.maximum.reduceat(values, self._starts)
        return highest


def named(x: npt.ArrayLike) -> pd.DataFrame:
    """An array as a frame, its columns called x0, x1 ..."""
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
    """The complete sets, and how many were left out for a missing value or choice. See `fit_clogit`."""
    if (cluster is not None) != (cov == "clustered"):
        raise AnalysisError(f"cov {cov!r}: cluster labels go with cov='clustered'; give both or neither")
    if frame.columns.duplicated().any():
        raise AnalysisError(f"x: two columns are called {frame.columns[frame.columns.duplicated()][0]!r}")
    label = pd.factorize(np.asarray(groups))[0]
    flags = np.asarray(chosen, float)
    weight = np.ones(len(frame)) if weights is None else np.asarray(weights, float)
    member = pd.factorize(np.asarray(cluster))[0] if cluster is not None else label
    for name, values in {"chosen": flags, "groups": label, "weights": weight, "cluster": member}.items():
        if values.shape != (len(frame),):
            raise AnalysisError(
                f"{name}: {values.shape} values for {len(frame)} options; give one per option"
            )
    if not (np.isnan(flags) | np.isin(flags, [0, 1])).all():
        raise AnalysisError("chosen: a value is not 1, 0 or NaN")
    if (weight < 0).any() or np.isnan(weight).any():
        raise AnalysisError("weights: a value is negative or missing; give one weight per set")
    order = np.argsort(label, kind="stable")
    label, flags, weight, member = label[order], flags[order], weight[order], member[order]
    x = frame.to_numpy(float, na_value=np.nan)[order]
    sums = np.bincount(label, np.nan_to_num(flags))
    if (sums > 1).any() or (label < 0).any():
        raise AnalysisError("chosen: a set has more than one choice, or no label; mark one option per set")
    first = np.unique(label, return_index=True)[1]
    for name, values in {"weights": weight, "cluster": member}.items():
        if (values != values[first][label]).any():
            raise AnalysisError(f"{name}: differs within a set; give its options the same")
    incomplete = np.bincount(label, ~np.isfinite(x).all(axis=1) | np.isnan(flags)) > 0
    missing = incomplete | (sums == 0)
    sets = ChoiceSets(x, label, flags == 1, weight[first], member[first])
    return sets.only((~missing & (sets.weight > 0))[label]), int(missing.sum())
