"""Choice sets as arrays, checked: what the conditional logit is fitted to."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

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
    def starts(self) -> Ints:
        return np.flatnonzero(np.r_[True, self.set[1:] != self.set[:-1]]) if len(self.set) else self.set

    @property
    def differences(self) -> Floats:
        """Chosen less rejected, one row per rejected option."""
        return (self.x[self.chosen][self.set] - self.x)[~self.chosen]

    def only(self, rows: npt.NDArray[np.bool_]) -> "ChoiceSets":
        """The options marked in `rows`, without sets that keep fewer than two."""
        size = np.bincount(self.set[rows], minlength=len(self.weight))
        kept = size > 1
        rows = rows & kept[self.set]
        code = np.cumsum(kept) - 1
        return ChoiceSets(
            self.x[rows], code[self.set[rows]], self.chosen[rows], self.weight[kept], self.cluster[kept]
        )

    def centred(self) -> Floats:
        """x less its mean in the set: only differences within sets are compared."""
        if not len(self.x):
            return self.x
        mean = np.add.reduceat(self.x, self.starts, axis=0) / np.bincount(self.set)[:, None]
        centred = self.x - mean[self.set]
        size = abs(self.x).max(axis=0)
        centred[:, abs(centred).max(axis=0) <= 1e-12 * size] = 0
        return centred


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
