"""Are the exact tests honest? Strata and effects are found here once more, of many studies at once."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import binom

from analysis.choice.effects.effects import regressors
from analysis.choice.exact.exact import ALIKE
from analysis.estimators.randomisation import exact_p, flipped, permuted, score_interval
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
    """The strata of a row of the table, as weights of the choices; marks: the rows of each marked option."""

    weights: list[dict[int, float]] = field(default_factory=list)
    marks: list[list[list[int]]] = field(default_factory=list)

    def add(self, weights: dict[int, float], marks: list[list[int]]) -> None:
        self.weights.append(weights)
        self.marks.append(marks)

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
        for study in range(chosen.shape[1]):
            nulls = [
                permuted(len(marks), tuple(sorted(int(c[at, study]) for c in counts if c[at, study])))
                if len(marks) > 2
                else flipped(round(float(values[at, study]), 9))
                for at, marks in enumerate(self.marks)
            ]
            found.append(exact_p(values[:, study], nulls))
        return np.array(found)


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
            strata[trial.cell(mark)].append(trial)
        for stratum in strata.values():
            if len(stratum) > 1:
                own = _permuted(stratum, mark)
                levels = (
                    ("nudge_text", "category", "family", "profile") if mark == "carrier" else ("profile",)
                )
                for key in [("", ""), *((name, stratum[0].facts[name]) for name in levels if several[name])]:
                    parts[(term, *key)].add(*own)
    if several["profile"] and NO_PROFILE in {trial.facts["profile"] for trial in trials}:
        for key, weights in _profile_differences(table, trials):
            parts[key].add(weights, [[], []])
    return dict(parts)


def _permuted(stratum: list[Trial], mark: str) -> tuple[dict[int, float], list[list[int]]]:
    """How often the marked option is chosen, less how often where it is not; the mean over the options."""
    m, weights = len(stratum), defaultdict(float)
    sign = -1 if mark == "carrier" and stratum[0].facts["direction"] == "-1" else 1
    marks = [trial.facts[mark] for trial in stratum]
    for option in marks:
        for trial in stratum:
            weights[trial.rows[option]] += sign * (1 if trial.facts[mark] == option else -1 / (m - 1)) / m
    return dict(weights), [[trial.rows[option] for trial in stratum] for option in marks]


def _profile_differences(table: pd.DataFrame, trials: list[Trial]) -> Iterator[tuple[Key, dict[int, float]]]:
    x = regressors(table)
    plain = {trial.cell("profile"): trial for trial in trials if trial.facts["profile"] == NO_PROFILE}
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
                yield (term, "profile_difference", trial.facts["profile"]), weights


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


def alike(trials: list[Trial], chosen: Floats) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """The studies in which repeated questions got one answer each."""
    cells = defaultdict(list)
    for trial in trials:
        cells[trial.cell("twin")].append(trial)
    repeated = [own for own in cells.values() if len(own) > 1]
    if not repeated:
        return np.zeros(chosen.shape[1], bool)
    same = [
        np.any([chosen[[trial.rows[option] for trial in own]].all(axis=0) for option in own[0].rows], axis=0)
        for own in repeated
    ]
    return np.mean(same, axis=0) >= ALIKE


@dataclass(frozen=True)
class Found:
    """A row of the table in many studies. estimates, p values: by study; ends: two x studies."""

    key: Key
    truth: float
    estimates: Floats
    p_values: Floats
    ends: Floats


def exact_rows(table: pd.DataFrame, chances: Floats, chosen: Floats) -> Iterator[Found]:
    """Each row in studies of the same design.

    chosen: rows x studies. The studies in which repeats tell nothing have the same truth, and fewer strata.
    """
    trials = trials_of(table)
    all_parts = parts_of(table, trials)
    single = parts_of(table, [trial for trial in trials if trial.facts["twin"] == "0"])
    once = alike(trials, chosen)
    for key, part in all_parts.items():
        truth = float((part.values(chances[:, None])).mean())
        estimates, p_values = np.full(len(once), np.nan), np.full(len(once), np.nan)
        ends = np.full((2, len(once)), np.nan)
        for studies, own in ((~once, part), (once, single.get(key))):
            if studies.any() and own is not None:
                values = own.values(chosen[:, studies])
                estimates[studies] = values.mean(axis=0)
                p_values[studies] = own.p_values(values, chosen[:, studies])
                most = max(map(len, own.marks)) if own.marks[0][0] else 0
                low, high = (-2.0, 2.0) if not most else _range(own)
                ends[:, studies] = intervals(values, low, high)
        yield Found(key, truth, estimates, p_values, ends)


def _range(part: Part) -> tuple[float, float]:
    """The smallest and the largest value that a stratum of marked options can have."""
    ends = []
    for weights, marks in zip(part.weights, part.marks, strict=True):
        trials = zip(*marks, strict=True)  # the marked options' rows of each trial
        own = [[weights[row] for row in rows] for rows in trials]
        ends.append((sum(min(each) for each in own), sum(max(each) for each in own)))
    return min(low for low, _ in ends), max(high for _, high in ends)
