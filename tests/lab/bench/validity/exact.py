"""Are the exact tests honest? Strata and effects are found here once more, of many studies at once."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import lcm

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import binom

from analysis.choice.effects.effects import regressors
from analysis.estimators.randomisation import Null, exact_p, flipped, permuted, score_interval
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import Floats

Key = tuple[str, str, str]
"""Term, part and level: a row of the table."""
NO_PROFILE = "none"


@dataclass(frozen=True)
class Trial:
    """What is fixed of a trial; rows: of its options in the table."""

    facts: dict[str, str]
    rows: dict[str, int]

    def cell(self, *but: str) -> tuple[str, ...]:
        """What it shares with the trials that differ from it in these facts alone."""
        names = ("set", "profile", "first", "carrier", "words", "twin")
        return tuple(self.facts[name] for name in names if name not in but)


def trials_of(table: pd.DataFrame) -> list[Trial]:
    """The trials of one agent in a checked table, in their order."""
    found, seen = [], defaultdict(int)
    for _, rows in table.groupby(TRIAL_ID, sort=False):
        carried = rows[rows["nudged"] == 1]
        facts = {
            "set": rows["set"].iloc[0],
            "profile": rows["profile"].iloc[0],
            "first": rows.loc[rows["viewed_first"] == 1, "option"].item(),
            "carrier": carried["option"].item() if len(carried) else "",
            "words": carried["nudge"].item() if len(carried) else "",
            "nudge_text": carried["nudge_text"].item() if len(carried) else "",
            "family": carried["family"].item() if len(carried) else "",
            "category": rows["category"].iloc[0],
            "direction": f"{rows['direction'].iloc[0]:g}",
        }
        cell = tuple(facts[name] for name in ("set", "profile", "first", "carrier", "words"))
        facts["twin"], seen[cell] = str(seen[cell]), seen[cell] + 1
        found.append(Trial(facts, dict(zip(rows["option"], rows.index, strict=True))))
    return found


@dataclass
class Part:
    """The strata of a row of the table, as weights of the choices; marks: the rows of each marked option.

    moves: of a question that was asked several times, the weights after each other move of all its marks.
    """

    weights: list[dict[int, float]] = field(default_factory=list)
    marks: list[list[list[int]]] = field(default_factory=list)
    moves: list[list[dict[int, float]]] = field(default_factory=list)

    def add(
        self, weights: dict[int, float], marks: list[list[int]], moves: Sequence[dict[int, float]] = ()
    ) -> None:
        self.weights.append(weights)
        self.marks.append(marks)
        self.moves.append([*moves])

    def values(self, chosen: Floats) -> Floats:
        """Strata x studies."""
        return _matrix(self.weights, len(chosen)) @ chosen

    def p_values(self, values: Floats, chosen: Floats) -> Floats:
        """By study."""
        if all(len(marks) <= 2 for marks in self.marks) and np.isin(values, (-1, 0, 1)).all():
            up, down = (values > 0).sum(axis=0), (values < 0).sum(axis=0)
            return np.minimum(1, 2 * binom.cdf(np.minimum(up, down), up + down, 0.5))
        found = []
        most = max(map(len, self.marks))
        counts = [
            _matrix([dict.fromkeys(m[at], 1.0) if at < len(m) else {} for m in self.marks], len(chosen))
            @ chosen
            for at in range(most)
        ]
        moved = [_matrix(moves, len(chosen)) @ chosen for moves in self.moves]

        def null(at: int, study: int) -> Null:
            if len(self.marks[at]) == 2:
                return flipped(round(float(values[at, study]), 9))
            if not self.moves[at]:
                counts_of = sorted(int(count[at, study]) for count in counts if count[at, study])
                own = permuted(len(self.marks[at]), tuple(counts_of))
                return own if self.signs[at] > 0 else own.times(-1)
            all_moves = (float(values[at, study]), *moved[at][:, study].tolist())
            return Null(all_moves, (1 / len(all_moves),) * len(all_moves))

        for study in range(chosen.shape[1]):
            found.append(exact_p(values[:, study], [null(at, study) for at in range(len(self.marks))]))
        return np.array(found)

    @property
    def signs(self) -> list[int]:
        """Of each stratum whether the marked options' own weights are positive, 1, or negative, -1."""
        return [
            1 if not marks[0] or weights[marks[0][0]] > 0 else -1
            for marks, weights in zip(self.marks, self.weights, strict=True)
        ]


def _matrix(rows: list[dict[int, float]], width: int) -> sparse.csr_array:
    at = [(number, column, value) for number, row in enumerate(rows) for column, value in row.items()]
    y, x, values = zip(*at, strict=True) if at else ((), (), ())
    return sparse.csr_array((values, (y, x)), shape=(len(rows), width))


def parts_of(table: pd.DataFrame, trials: list[Trial]) -> dict[Key, Part]:
    """The rows of the table of exact tests, of trials that all have a choice."""
    parts: dict[Key, Part] = defaultdict(Part)
    several = {
        name: len({trial.facts[name] for trial in trials if trial.facts["carrier"] or name == "profile"}) > 1
        for name in ("nudge_text", "category", "family", "profile")
    }
    nudged = [trial for trial in trials if trial.facts["carrier"]]
    for term, mark, those in (("nudged", "carrier", nudged), ("viewed_first", "first", trials)):
        strata = defaultdict(list)
        for trial in those:
            strata[trial.cell(mark, "twin")].append(trial)
        for stratum in strata.values():
            rounds = defaultdict(list)
            for trial in stratum:
                rounds[trial.facts["twin"]].append(trial)
            whole = [
                sorted(own, key=lambda trial: trial.facts[mark]) for own in rounds.values() if len(own) > 1
            ]
            if whole:
                own = _permuted(whole, mark)
                levels = (
                    ("nudge_text", "category", "family", "profile") if mark == "carrier" else ("profile",)
                )
                for key in [("", ""), *((name, stratum[0].facts[name]) for name in levels if several[name])]:
                    parts[(term, *key)].add(*own)
    if several["profile"] and NO_PROFILE in {trial.facts["profile"] for trial in trials}:
        for (*key, _), weights in _profile_differences(table, trials).items():
            parts[(key[0], key[1], key[2])].add(weights, [[], []])
    return dict(parts)


def _permuted(
    rounds: list[list[Trial]], mark: str
) -> tuple[dict[int, float], list[list[int]], list[dict[int, float]]]:
    """How often the marked option is chosen, less how often where it is not: mean over options and rounds.

    Also the rows of each option in a trial, and of several rounds the same after each move of their marks.
    """
    moves = [
        _effect(rounds, [_turned([trial.facts[mark] for trial in own], by) for own in rounds], mark)
        for by in range(lcm(*map(len, rounds)))
    ]
    options = [trial.facts[mark] for trial in rounds[0]]
    marks = [[trial.rows[option] for trial in rounds[0]] for option in options]
    return moves[0], marks, moves[1:] if len(rounds) > 1 else []


def _turned(marks: list[str], by: int) -> list[str]:
    by %= len(marks)
    return marks[by:] + marks[:by]


def _effect(rounds: list[list[Trial]], marks: list[list[str]], mark: str) -> dict[int, float]:
    weights: dict[int, float] = defaultdict(float)
    sign = -1 if mark == "carrier" and rounds[0][0].facts["direction"] == "-1" else 1
    for own, its in zip(rounds, marks, strict=True):
        m = len(own)
        for option in its:
            for trial, marked in zip(own, its, strict=True):
                share = 1 if marked == option else -1 / (m - 1)
                weights[trial.rows[option]] += sign * share / m / len(rounds)
    return dict(weights)


def _profile_differences(
    table: pd.DataFrame, trials: list[Trial]
) -> dict[tuple[str, str, str, tuple[str, ...]], dict[int, float]]:
    """By term, part, level and question the weights of the mean difference over the rounds of a question."""
    x = regressors(table)
    plain = {trial.cell("profile"): trial for trial in trials if trial.facts["profile"] == NO_PROFILE}
    found: dict[tuple[str, str, str, tuple[str, ...]], list[dict[int, float]]] = defaultdict(list)
    for trial in trials:
        other = plain.get(trial.cell("profile"))
        if other is None or trial is other:
            continue
        for term in ("viewed_first", "higher_rated", "cheaper", "nudged"):
            weights: dict[int, float] = {}
            for one, sign in ((trial, 1), (other, -1)):
                has = {row: x.at[row, term] == 1 for row in one.rows.values()}
                count = sum(has.values())
                if not 0 < count < len(has):
                    break
                weights |= {
                    row: sign * (1 / count if yes else -1 / (len(has) - count)) for row, yes in has.items()
                }
            else:
                question = trial.cell("profile", "twin")
                found[(term, "profile_difference", trial.facts["profile"], question)].append(weights)
    return {
        key: {row: weight / len(rounds) for own in rounds for row, weight in own.items()}
        for key, rounds in found.items()
    }


@cache
def _interval(
    points: tuple[float, ...], counts: tuple[int, ...], low: float, high: float
) -> tuple[float, float]:
    return score_interval(np.repeat(points, counts), low, high)


def intervals(values: Floats, low: float, high: float) -> Floats:
    """Two ends x studies."""
    found = []
    for study in np.round(values, 9).T:
        points, counts = np.unique(study, return_counts=True)
        found.append(_interval(tuple(points.tolist()), tuple(counts.tolist()), low, high))
    return np.array(found).T


@dataclass(frozen=True)
class Found:
    """A row of the table in many studies. estimates, p values: by study; ends: two x studies."""

    key: Key
    truth: float
    estimates: Floats
    p_values: Floats
    ends: Floats


def exact_rows(table: pd.DataFrame, chances: Floats, chosen: Floats) -> Iterator[Found]:
    """Each row in studies of the same design. chosen: rows x studies."""
    for key, part in parts_of(table, trials_of(table)).items():
        truth = float((part.values(chances[:, None])).mean())
        values = part.values(chosen)
        low, high = _range(part) if part.marks[0][0] else (-2.0, 2.0)
        p_values, ends = part.p_values(values, chosen), intervals(values, low, high)
        yield Found(key, truth, values.mean(axis=0), p_values, ends)


def _range(part: Part) -> tuple[float, float]:
    """The smallest and the largest value that a stratum of marked options can have."""
    ends = []
    for weights, marks in zip(part.weights, part.marks, strict=True):
        trials = zip(*marks, strict=True)  # the marked options' rows of each trial
        own = [[weights[row] for row in rows] for rows in trials]
        rounds = len(weights) / sum(map(len, marks))  # the marks are those of the first
        ends.append((rounds * sum(min(each) for each in own), rounds * sum(max(each) for each in own)))
    return min(low for low, _ in ends), max(high for _, high in ends)
