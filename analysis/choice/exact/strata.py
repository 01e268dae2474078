"""Form strata of trials that differ in one mark alone: the carrier of a nudge, or the option seen first.

A stratum is a question. Where the question was asked several times, or shown with several drawn values, each
time is a round of the stratum. An agent may answer all rounds alike, and then they tell no more than one of
them; so an effect is the mean over rounds. If the mark does nothing, it could have been moved in all rounds
at once, by any number of places round the options; in a single round it could have stood on the options in
any order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from analysis.estimators.randomisation import Null, permuted
from analysis.tables.frame import Floats, Ints

ROUND = ("display", "twin")
"""The columns of a trial by which the rounds of a question differ."""
_DIGITS: Final = 12
"""Sums of shares in another order are rounded to the same number."""


@dataclass(frozen=True)
class Strata:
    """The strata of a factor: the effect in each (in pairs -1 to 1), and what it could have been.

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


class _Rounds(NamedTuple):
    """Rounds of equally many trials (rounds x trials): their places in the table of trials, and their marks.

    mean: by stratum and round the weight of the round in the stratum's mean.
    """

    places: Ints
    marks: Ints
    mean: sparse.csr_array


class Exchange:
    """The strata of trials that are the `same` but for the option that is marked, whatever was answered.

    trials: of `trials_of`, with `place`, the number of each in the answers. mark: `carrier` or `first`.
    codes: the number of each option.
    """

    def __init__(self, trials: pd.DataFrame, mark: str, same: list[str], codes: Mapping[str, int]) -> None:
        groups = trials.groupby(same, dropna=False)
        kept = trials.assign(round=groups.ngroup(), size=groups["place"].transform("size"))
        kept = kept[kept["size"] > 1].sort_values(["round", mark], kind="stable")
        question = [name for name in same if name not in ROUND]
        kept["stratum"] = kept.groupby(question, dropna=False).ngroup()
        of = kept.drop_duplicates("stratum").set_index("stratum").sort_index()
        self.of = of.assign(trials=kept["stratum"].value_counts())
        rounds = kept.drop_duplicates("round")
        shares = 1 / rounds["stratum"].value_counts().reindex(self.of.index).to_numpy()
        self._single = shares == 1
        self._rounds = [
            _of_size(kept[kept["size"] == size], mark, codes, shares)
            for size in sorted(rounds["size"].unique())
        ]
        turned = self.of["direction"].eq(-1).to_numpy() & (mark == "carrier")
        self._sign = np.where(turned, -1.0, 1.0)
        least = sum(
            each.mean @ np.full(len(each.places), -1 / (each.places.shape[1] - 1)) for each in self._rounds
        )
        ends = np.round([least * self._sign, self._sign], _DIGITS)  # as the values: an end may be one of them
        self.low, self.high = np.sort(ends, axis=0)
        self._moves = 1 if self._single.all() else lcm(*(each.places.shape[1] for each in self._rounds))

    def __len__(self) -> int:
        return len(self.of)

    def strata(self, answers: Ints) -> Strata:
        """Return the strata with these answers: the number of the option that was chosen in each trial."""
        values, nulls, which = self.tested(answers[:, None])[0]
        return Strata(values, tuple(nulls[each] for each in which), self.low, self.high, self.of)

    def tested(self, answers: Ints) -> list[tuple[Floats, list[Null], Ints]]:
        """Return by set of answers (trials x sets) the effects, their nulls, and which null each has."""
        taken = [_taken(each, answers[each.places]) for each in self._rounds]
        values = self._moved(answers, taken, 0)
        moved = np.array([values, *(self._moved(answers, taken, by) for by in range(1, self._moves))])
        choices = self._choices(taken)
        return [
            (values[:, at], *self._nulls(choices[:, :, at], np.sort(moved[:, :, at], axis=0).T))
            for at in range(answers.shape[1])
        ]

    def _moved(self, answers: Ints, taken: list[Ints], by: int) -> Floats:
        """The effect in each stratum (x sets of answers) if the marks are moved by so many places."""
        total = np.zeros((len(self), answers.shape[1]))
        for each, counts in zip(self._rounds, taken, strict=True):
            size = each.places.shape[1]
            marks = np.roll(each.marks, by, axis=1)[:, :, None]
            won = (answers[each.places] == marks).sum(axis=1)
            total += each.mean @ ((size * won - counts.sum(axis=0)) / (size * (size - 1)))
        return np.round(self._sign[:, None] * total, _DIGITS)

    def _choices(self, taken: list[Ints]) -> Ints:
        """How often the marked options of the last round of each stratum were chosen, in order.

        Strata x options x sets of answers.
        """
        most = max((len(counts) for counts in taken), default=0)
        sets = taken[0].shape[2] if taken else 1
        found = np.zeros((len(self), most, sets), np.int64)
        for each, counts in zip(self._rounds, taken, strict=True):
            own, rounds = each.mean.nonzero()
            found[own, : len(counts)] = counts[:, rounds].transpose(1, 0, 2)
        return found

    def _nulls(self, choices: Ints, moved: Floats) -> tuple[list[Null], Ints]:
        """The distinct nulls of the strata for one set of answers, and which of them each stratum has."""
        which, nulls = np.zeros(len(self), np.int64), list[Null]()
        sizes = self.of["size"].to_numpy()
        known = np.column_stack([self._sign.astype(np.int64), sizes, choices])[self._single]
        own, back = np.unique(known, axis=0, return_inverse=True)
        which[self._single] = back
        for sign, size, *counts in own.tolist():
            null = permuted(size, tuple(filter(None, counts)))
            nulls.append(null if sign > 0 else null.times(-1))
        own, back = np.unique(moved[~self._single], axis=0, return_inverse=True)
        which[~self._single] = len(nulls) + back
        nulls += [Null(tuple(values), (1 / len(values),) * len(values)) for values in own.tolist()]
        return nulls, which


def _of_size(trials: pd.DataFrame, mark: str, codes: Mapping[str, int], shares: Floats) -> _Rounds:
    """The rounds of trials that are in rounds of one size, in order; shares: of a round, by stratum."""
    size = int(trials["size"].iloc[0])
    places, marks = (
        values.to_numpy(int).reshape(-1, size) for values in (trials["place"], trials[mark].map(codes))
    )
    stratum = trials["stratum"].to_numpy()[::size]
    rounds = np.arange(len(stratum))
    mean = sparse.csr_array((shares[stratum], (stratum, rounds)), (len(shares), len(stratum)))
    return _Rounds(places, marks, mean)


def _taken(rounds: _Rounds, answers: Ints) -> Ints:
    """How often each marked option was chosen in its round: options, in that order, x rounds x sets."""
    return np.sort([(answers == mark[:, None, None]).sum(axis=1) for mark in rounds.marks.T], axis=0)
