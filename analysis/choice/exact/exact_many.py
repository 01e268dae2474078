"""Exact tests of the nudge and the order for many sets of answers to the same trials, in one go."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.choice.exact.exact import exchanged, trials_of
from analysis.choice.exact.strata import Exchange
from analysis.estimators.randomisation import Null, p_of_sum, score_interval
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import Floats


class _ExactResults(NamedTuple):
    """p values, and both ends of the intervals in percentage points; an entry for each set of answers."""

    p_value: Floats
    low: Floats
    high: Floats


class MainTests:
    """The exact tests of the nudge and the order in all trials of one agent, for many sets of answers.

    table: checked, of one agent whose trials all have a choice.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        trials = trials_of(table)
        place = {name: number for number, name in enumerate(trials.index)}
        options, names = pd.factorize(table["option"])
        rows = (table[TRIAL_ID].map(place).to_numpy(int), np.arange(len(table)))
        self._options = sparse.csr_array((options.astype(float), rows))
        codes = {name: number for number, name in enumerate(names)}
        placed = trials.assign(place=np.arange(len(trials)))
        self._factors = {
            term: Exchange(own, mark, same, codes) for term, own, mark, same in exchanged(placed)
        }

    def of_many(self, chosen: Floats, intervals: int | None = None) -> dict[str, _ExactResults]:
        """Return by term the results for many sets of choices (rows of the table x sets, 0 or 1).

        intervals: the number of sets whose intervals are computed, which take the most time; the others have
        NaN. None: all.
        """
        wanted = np.arange(chosen.shape[1]) < (chosen.shape[1] if intervals is None else intervals)
        options = np.rint(self._options @ chosen).astype(np.int64)
        found = dict[str, _ExactResults]()
        for term, factor in self._factors.items():
            if len(factor):
                ends = float(factor.low.min()), float(factor.high.max())
                results = [
                    _tested(values, Counter(nulls[each] for each in which.tolist()), ends, has_interval)
                    for (values, nulls, which), has_interval in zip(
                        factor.tested(options), wanted, strict=True
                    )
                ]
                found[term] = _ExactResults(*np.array(results).T)
        return found


def _tested(
    values: Floats, nulls: Mapping[Null, int], ends: tuple[float, float], has_interval: bool
) -> tuple[float, float, float]:
    low, high = score_interval(values, *ends) if has_interval else (np.nan, np.nan)
    return p_of_sum(float(values.sum()), nulls), 100 * low, 100 * high
