"""Read choices by who made them: what models of tastes that differ need."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.estimators.choice_sets import ChoiceSets, has_chances, read_sets
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import Floats, Ints

CHUNK: Final = 2_000_000
"""About so many tastes, over options, draws and terms, are held at once."""


@dataclass(frozen=True)
class Choices:
    """The choices of U deciders, sorted by decider.

    sets: their arrays, each term in standard deviations (`scale`, K). decider: a code for each choice.
    labels (U): of the deciders; cluster (U): a code for each.
    """

    terms: tuple[str, ...]
    sets: ChoiceSets
    scale: Floats
    decider: Ints
    labels: pd.Index
    cluster: Ints
    n_missing: int

    @property
    def n(self) -> int:
        return len(self.decider)

    def chunks(self, width: int) -> Iterator[tuple[slice, "Choices"]]:
        """Split the deciders into parts whose rows times `width` are not too many."""
        ends = [0, *np.searchsorted(self.decider, np.arange(1, len(self.labels) + 1)).tolist()]
        rows = np.searchsorted(self.sets.set, ends).tolist()
        part = np.cumsum(np.diff(rows)) * width // CHUNK
        starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
        for low, high in pairwise([*starts, len(self.labels)]):
            first, last = ends[low], ends[high]
            inside = slice(rows[low], rows[high])
            sets = ChoiceSets(
                self.sets.differences[inside],
                self.sets.set[inside] - first,
                self.sets.weight[first:last],
                self.sets.cluster[first:last],
                self.sets.shown[first:last],
            )
            decider = self.decider[first:last] - low
            yield (
                slice(low, high),
                replace(
                    self,
                    sets=sets,
                    decider=decider,
                    labels=self.labels[low:high],
                    cluster=self.cluster[low:high],
                ),
            )

    def by_decider(self, values: Floats) -> Floats:
        """Return the sums over the choices of each decider."""
        starts = np.searchsorted(self.decider, np.arange(len(self.labels)))
        return values if self.n == len(self.labels) else np.add.reduceat(values, starts)


def read_choices(
    x: pd.DataFrame,
    chosen: npt.ArrayLike,
    groups: npt.ArrayLike,
    deciders: npt.ArrayLike,
    clusters: npt.ArrayLike,
) -> Choices:
    """Read choices; every argument has one entry per option, as in `fit_clogit`.

    deciders: labels of who has one taste, the same within a choice; clusters: labels of what errors are
    clustered by, the same within a decider.

    Raises AnalysisError as `fit_clogit` does, or if a decider is in two clusters. Chances are refused: with
    tastes that differ, the likelihood is of answers that were drawn.
    """
    who, labels = pd.factorize(np.asarray(deciders), sort=True)
    order = np.argsort(who, kind="stable")
    own = pd.Series(np.asarray(clusters)[order]).groupby(who[order])
    if (own.nunique() > 1).any():
        raise AnalysisError("clusters: a decider is in two of them; give clusters that hold whole deciders")
    flags, trials = np.asarray(chosen, float)[order], np.asarray(groups)[order]
    if has_chances(flags):
        raise AnalysisError("chosen: tastes that differ need answers that were drawn, not chances")
    sets, n_missing = read_sets(x.iloc[order], flags, trials, None, who[order], "clustered")
    kept, decider = np.unique(sets.cluster, return_inverse=True)
    scale = np.sqrt(np.mean(sets.differences**2, axis=0))
    scale[scale == 0] = 1.0
    return Choices(
        tuple(map(str, x.columns)),
        replace(sets, differences=sets.differences / scale),
        scale,
        decider,
        pd.Index(labels[kept]),
        pd.factorize(own.first().to_numpy()[kept])[0],
        n_missing,
    )
