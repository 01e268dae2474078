"""Compare estimates, each with how far it moves without each cluster of choices (the jackknife).

From the moves follow the errors of differences, also where both estimates share clusters: agents that were
shown the same sets share their luck, and each set is left out of both at once.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.estimators.lpm import LEAST_CLUSTERS
from analysis.estimators.t_tests import student

LEAST: Final = LEAST_CLUSTERS[1]
FEW_SETS: Final = f"no interval: fewer than {LEAST} choice sets"
HANGS: Final = "no interval: the estimate hangs on one choice set, or the choices are separated"
ENDLESS: Final = "no finite estimate, or no choices"
ALIKE: Final = "no interval: the two never differ"
ROUNDING: Final = 1e-12
"""No error of an estimate is as small as this."""


@dataclass(frozen=True)
class Moved:
    """An estimate, and how far it moves without each of G clusters.

    moves (G): estimate without the cluster less that with it, indexed by the clusters' labels; NaN where it
    is not known. df: the degrees of freedom of the error. note: why there is no estimate.
    """

    term: str
    group: str
    estimate: float
    moves: "pd.Series[float]"
    df: float
    note: str = ""
    least: int = LEAST
    """The fewest clusters with which there is an error."""

    @classmethod
    def mean(cls, term: str, group: str, values: "pd.Series[float]") -> "Moved":
        """Return the mean of a value of each cluster, which has an error from two clusters on: that of t."""
        count = len(values)
        moves = (values.mean() - values) / max(count - 1, 1)
        return cls(term, group, float(values.mean()), moves, count - 1.0, least=2)

    def less(self, other: "Moved") -> "Moved":
        """Return this estimate less the other one; each cluster is left out of both at once."""
        labels = self.moves.index.union(other.moves.index)
        one, two = (each.moves.reindex(labels, fill_value=0.0) for each in (self, other))
        apart, note = self.estimate - other.estimate, self.note or other.note
        return Moved(self.term, self.group, apart, one - two, min(self.df, other.df), note, self.least)

    @property
    def error(self) -> float:
        """The standard error (CV3; MacKinnon, Nielsen and Webb 2023), NaN where `row` says why."""
        count = len(self.moves)
        if count < self.least or np.isnan(self.estimate):
            return np.nan
        error = float(np.sqrt((count - 1) / count * (self.moves**2).sum(skipna=False)))
        return error if error > ROUNDING else np.nan

    def row(self) -> dict[Any, Any]:
        """Return the columns of an estimator, with a test and interval by t, or a note why there is none."""
        error, note = self.error, self.note
        if np.isnan(self.estimate):
            note = note or ENDLESS
        elif len(self.moves) < self.least:
            note = FEW_SETS
        elif np.isnan(error):
            note = HANGS if self.moves.isna().any() else ALIKE
        told = {"term": self.term, "group": self.group, "estimate": self.estimate, "note": note}
        return told | student(self.estimate, error, self.df)
