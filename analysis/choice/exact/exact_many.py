"""Exact tests of the nudge and the order for many sets of answers to the same trials, in one go."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.choice.exact.exact import (
    ALIKE,
    MARKS,
    SAME,
    exact_row,
    exchanged,
    order_and_nudge,
    single_trials,
    trials_of,
)
from analysis.estimators.randomisation import Null, p_of_sum, permuted, score_interval
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import Floats, Ints


class _ExactResults(NamedTuple):
    """p values, and both ends of the intervals in percentage points; an entry for each set of answers."""

    p_value: Floats
    low: Floats
    high: Floats


class _Strata(NamedTuple):
    """Strata of equally many trials: their trials (strata x trials), the marks in them, and their signs."""

    trials: Ints
    marks: Ints
    sign: Floats


class MainTests:
    """The exact tests of the nudge and the order in all trials of one agent, for many sets of answers.

    table: checked, of one agent whose trials all have a choice.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self._table = table
        self._trials = trials_of(table)
        place = {name: number for number, name in enumerate(self._trials.index)}
        options, names = pd.factorize(table["option"])
        rows = (table[TRIAL_ID].map(place).to_numpy(int), np.arange(len(table)))
        self._options = sparse.csr_array((options.astype(float), rows))
        codes = {name: number for number, name in enumerate(names)}
        self._factors = {
            term: list(_strata(own.assign(place=own.index.map(place)), mark, codes, same))
            for term, own, mark, same in exchanged(self._trials)
        }
        cell = self._trials.groupby([*SAME, *MARKS], dropna=False).ngroup().to_numpy()
        size = np.bincount(cell)[cell]
        order = np.argsort(cell, kind="stable")
        self._repeated = order[size[order] > 1]
        self._starts = np.flatnonzero(np.diff(cell[self._repeated], prepend=-1))

    def of(self, table: pd.DataFrame) -> dict[str, tuple[float, float, float]]:
        """Return by term p value and both ends of the interval (percentage points), for these choices.

        table: the same, with other choices. A term that no two trials differ in is left out.
        """
        options = table.loc[table["chosen"] == 1].set_index(TRIAL_ID)["option"]
        trials, _ = single_trials(self._trials.assign(chosen=options))
        results = {term: exact_row(strata, "") for term, strata in order_and_nudge(trials).items()}
        return {
            term: (found["p_value"], found["conf_low"], found["conf_high"])
            for term, found in results.items()
            if "p_value" in found
        }

    def of_many(self, chosen: Floats, intervals: int | None = None) -> dict[str, _ExactResults]:
        """Return by term the results for many sets of choices (rows of the table x sets, 0 or 1).

        intervals: the number of sets whose intervals are computed, which take the most time; the others have
        NaN. None: all.
        """
        if (self._trials["display"] != "").any():
            return self._one_by_one(chosen)
        wanted = np.arange(chosen.shape[1]) < (chosen.shape[1] if intervals is None else intervals)
        options = np.rint(self._options @ chosen).astype(np.int64)
        found = {
            term: np.array([_tested(*each) for each in zip(*_values(strata, options), wanted, strict=True)])
            for term, strata in self._factors.items()
            if strata
        }
        for number in np.flatnonzero(self._answered_alike(options)):
            own = pd.Series(chosen[:, number], self._table.index).astype("Int64")
            for term, result in self.of(self._table.assign(chosen=own)).items():
                found[term][number] = result
        return {term: _ExactResults(*results.T) for term, results in found.items()}

    def _one_by_one(self, chosen: Floats) -> dict[str, _ExactResults]:
        """The results where values were drawn: strata that show the same question count together."""
        found: dict[str, list[tuple[float, float, float]]] = {}
        for own in chosen.T:
            answered = pd.Series(own, self._table.index).astype("Int64")
            for term, result in self.of(self._table.assign(chosen=answered)).items():
                found.setdefault(term, []).append(result)
        return {term: _ExactResults(*np.array(results).T) for term, results in found.items()}

    def _answered_alike(self, options: Ints) -> Ints:
        """For each set of answers, whether repeats of a question count once, as in `single_trials`."""
        if not len(self._starts):
            return np.zeros(options.shape[1], dtype=np.int64)
        answers = options[self._repeated]
        same = np.minimum.reduceat(answers, self._starts) == np.maximum.reduceat(answers, self._starts)
        return np.asarray(same.mean(axis=0) >= ALIKE, dtype=np.int64)


def _strata(trials: pd.DataFrame, mark: str, codes: Mapping[str, int], same: list[str]) -> Iterator[_Strata]:
    """The strata of trials that are the `same` but for what is marked, by their number of trials."""
    stratum = trials.groupby(same, dropna=False).ngroup().to_numpy()
    order = np.argsort(stratum, kind="stable")
    size = np.bincount(stratum)[stratum[order]] if len(stratum) else stratum
    place, marked = trials["place"].to_numpy(), trials[mark].map(codes).to_numpy(int)
    turned = trials["direction"].eq(-1).to_numpy() & (mark == "carrier")
    for count in np.unique(size[size > 1]):
        own = order[size == count].reshape(-1, count)
        sign = np.where(turned[own[:, 0]], -1.0, 1.0)
        yield _Strata(place[own], marked[own], sign)


def _values(
    strata: list[_Strata], options: Ints
) -> tuple[list[Floats], list[Counter[Null]], list[tuple[float, float]]]:
    """For each set of answers the values of all strata, how many have each null, and the range of values."""
    count_sets = options.shape[1]
    values: list[list[Floats]] = [[] for _ in range(count_sets)]
    nulls = [Counter[Null]() for _ in range(count_sets)]
    ends: list[float] = []
    for trials, marks, sign in strata:
        count = trials.shape[1]
        ends += [end * float(each) for each in np.unique(sign) for end in (-1 / (count - 1), 1.0)]
        answers = options[trials]  # strata x trials x sets of answers
        won = (answers == marks[:, :, None]).sum(axis=1)
        taken = np.sort([(answers == mark[:, None, None]).sum(axis=1) for mark in marks.T], axis=0)
        effects = sign[:, None] * (count * won - taken.sum(axis=0)) / (count * (count - 1))
        base = (count + 1) ** np.arange(count)
        keys = np.tensordot(base, taken, axes=(0, 0))
        for number in range(count_sets):
            values[number].append(effects[:, number])
            for key, times in zip(*np.unique(keys[:, number], return_counts=True), strict=True):
                counts = tuple(int(key) // int(each) % (count + 1) for each in base)
                nulls[number][permuted(count, tuple(filter(None, counts)))] += int(times)
    return [np.concatenate(each) for each in values], nulls, [(min(ends), max(ends))] * count_sets


def _tested(
    values: Floats, nulls: Mapping[Null, int], ends: tuple[float, float], has_interval: bool
) -> tuple[float, float, float]:
    low, high = score_interval(values, *ends) if has_interval else (np.nan, np.nan)
    return p_of_sum(float(values.sum()), nulls), 100 * low, 100 * high
