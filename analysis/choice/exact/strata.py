"""Form strata of trials that differ in one mark alone: the carrier of a nudge, or the option seen first."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.estimators.randomisation import Null, effect_of, permuted
from analysis.tables.frame import Floats


@dataclass(frozen=True)
class Strata:
    """The strata of a factor: the effect in each (in pairs -1, 0 or 1), and what it could have been.

    low, high: the ends of its range. of: facts of each stratum, by which parts of them are taken.
    """

    values: Floats
    nulls: tuple[Null, ...]
    low: Floats
    high: Floats
    of: pd.DataFrame

    def where(self, those: Iterable[bool]) -> "Strata":
        """Return some of the strata."""
        mask = np.asarray(list(those), bool)
        nulls = tuple(null for null, taken in zip(self.nulls, mask, strict=True) if taken)
        return Strata(self.values[mask], nulls, self.low[mask], self.high[mask], self.of[mask])


def permuted_strata(trials: pd.DataFrame, mark: str, same: list[str]) -> Strata:
    """Return the strata of trials that are the `same` but for the option that is marked.

    trials: of `trials_of`; mark: `carrier` or `first`. Where values were drawn, the strata that show the same
    question with other drawn values are one, see `_together`.
    """
    stratum = trials.groupby(same, dropna=False).ngroup()
    size = stratum.groupby(stratum).transform("size")
    kept = trials.assign(stratum=stratum, trials=size)[size > 1].sort_values("stratum", kind="stable")
    of = kept[~kept["stratum"].duplicated()].set_index("stratum")
    marked = kept[["stratum", mark]].rename(columns={mark: "chosen"})
    taken = kept[["stratum", "chosen"]].merge(marked, on=["stratum", "chosen"])
    counts = taken.groupby(["stratum", "chosen"]).size().rename("count").reset_index()
    counts = counts.sort_values(["stratum", "count"])
    own = counts["stratum"].to_numpy()
    begin, end = (np.searchsorted(own, of.index, side=side).tolist() for side in ("left", "right"))
    sizes, all_counts = of["trials"].tolist(), counts["count"].tolist()
    chosen = [tuple(all_counts[a:b]) for a, b in zip(begin, end, strict=True)]
    won = (kept["chosen"] == kept[mark]).groupby(kept["stratum"]).sum().tolist()
    values = [effect_of(w, m, sum(c)) for w, m, c in zip(won, sizes, chosen, strict=True)]
    nulls = tuple(permuted(m, c) for m, c in zip(sizes, chosen, strict=True))
    turned = of["direction"].eq(-1).to_numpy() & (mark == "carrier")
    sign, least = np.where(turned, -1.0, 1.0), -1 / (of["trials"].to_numpy() - 1)
    ends = np.sort([least * sign, sign], axis=0)
    strata = Strata(np.array(values) * sign, nulls, ends[0], ends[1], of)
    if not (of["display"] != "").any():
        return strata
    return _together(strata, kept.sort_values(["stratum", mark], kind="stable"), mark, same)


def _together(strata: Strata, trials: pd.DataFrame, mark: str, same: list[str]) -> Strata:
    """The strata, those of one question in several drawn displays as one: the mean of their effects.

    An agent may answer all displays of a question alike, and then they tell no more than one of them. If the
    mark does nothing, it could have been moved in all of them at once, by any number of places round the
    options. trials: of the strata, in the order of their marks.
    """
    of = strata.of.assign(twin=strata.of["twin"].where(strata.of["display"] == "", 0), display="")
    question = of.groupby(same, dropna=False, sort=False).ngroup().to_numpy()
    own = {number: rows[[mark, "chosen"]].to_numpy() for number, rows in trials.groupby("stratum")}
    marks = {number: (rows[:, 0], rows[:, 1]) for number, rows in own.items()}
    order = np.argsort(question, kind="stable")
    ends = np.cumsum(np.bincount(question))
    values, nulls, first, number_of = list[float](), list[Null](), list[int](), list[int]()
    for at in np.split(order, ends[:-1]):
        first.append(int(at[0]))
        number_of.append(int(strata.of["trials"].iloc[at].sum()))
        if len(at) == 1:
            values.append(float(strata.values[at[0]]))
            nulls.append(strata.nulls[at[0]])
            continue
        moved = _moved([marks[number] for number in of.index[at]])
        sign = 1.0 if strata.high[at[0]] == 1 else -1.0
        values.append(sign * moved[0])
        nulls.append(Null(tuple(sign * value for value in moved), (1 / len(moved),) * len(moved)))
    kept = np.array(first, int)
    of = of.iloc[kept].assign(trials=number_of)
    return Strata(np.array(values), tuple(nulls), strata.low[kept], strata.high[kept], of)


def _moved(strata: list[tuple[NDArray[Any], NDArray[Any]]]) -> list[float]:
    """The mean effect of strata, each with its marks and choices, for every move of all marks at once."""
    found = []
    for by in range(lcm(*(len(marks) for marks, _ in strata))):
        effects = [
            effect_of(
                int((np.roll(marks, by) == chosen).sum()), len(marks), int(np.isin(chosen, marks).sum())
            )
            for marks, chosen in strata
        ]
        found.append(float(np.mean(effects)))
    return found
