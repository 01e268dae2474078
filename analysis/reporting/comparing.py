"""Compare agents two by two, and an agent with itself in another run."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.estimators.t_tests import student, summed
from analysis.reporting.answer import LEVEL, number_text, p_text, sentence
from analysis.reporting.plots import forest
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section
from analysis.tables.errors import AnalysisError
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import label, result_frame

MOST_SIDES: Final = 30
MOST_DRAWN: Final = 40
NOT_BOTH: Final = "not estimated for both"
CELLS: Final = ("value", "variance", "df", "n", "note")
"""Of each cell of a mean: its value, the variance and degrees of freedom of this, and its answers."""


def named(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the run in the name of an agent that is in several."""
    runs = table.groupby("agent")["run"].nunique()
    several = table["agent"].isin(runs[runs > 1].index)
    with_run = table["agent"] + " (" + table["run"].astype(str) + ")"
    return table.assign(agent=table["agent"].where(~several, with_run))


def asked(runs: Mapping[str, set[str]]) -> list[tuple[str, str]]:
    """Return the pairs: an agent with itself first, then others; of agents in several runs, in the same run.

    runs: of each side, by its name as `named` gives it.
    """
    agent = {name: name.removesuffix(f" ({' '.join(own)})") for name, own in runs.items()}
    same = {pair: agent[pair[0]] == agent[pair[1]] for pair in combinations(sorted(runs), 2)}
    once = {name for name in runs if name == agent[name]}
    near = [pair for pair in same if same[pair] or once & {*pair} or runs[pair[0]] & runs[pair[1]]]
    return sorted(near, key=lambda pair: not same[pair])


def compare_sides(
    table: pd.DataFrame,
    prepare: Callable[[pd.DataFrame], Mapping[str, Any]],
    apart: Callable[[Any, Any], Mapping[str, Any]],
    *extra: str,
) -> pd.DataFrame:
    """Compare each two sides of a table with the columns agent and run.

    prepare: makes of the rows of a side, by term, what differences are computed from. apart: the columns of
    what the first has more than the second, None for a term that a side has not. The frame has the columns of
    every estimator, `less`, the two values (`of_group`, `of_less`) and `extra`; `p_adjusted` is over all of
    it (Benjamini and Hochberg 1995).

    Raises AnalysisError for fewer than two sides, or more than `MOST_SIDES`.
    """
    sides = {str(name): own.reset_index(drop=True) for name, own in named(table).groupby("agent", sort=True)}
    if not 2 <= len(sides) <= MOST_SIDES:
        raise AnalysisError(
            f"2 to {MOST_SIDES} agents can be compared, and there are answers of {len(sides):,}; name others"
        )
    pairs = asked({name: set(own["run"].astype(str)) for name, own in sides.items()})
    ready = {name: prepare(sides[name]) for name in dict.fromkeys(name for pair in pairs for name in pair)}
    rows = [
        {**apart(*(ready[name].get(term) for name in pair)), "term": term, "group": pair[0], "less": pair[1]}
        for pair in pairs
        for term in dict.fromkeys(term for name in pair for term in ready[name])
    ]
    frame = result_frame(rows, "less", "of_group", "of_less", *extra)
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))


def shared_cells(*sides: pd.DataFrame | None) -> list[pd.DataFrame]:
    """Return two sides with the cells that both have, in the same order. sides: indexed by cells."""
    one, other = (pd.DataFrame(columns=list(CELLS)) if side is None else side for side in sides)
    both = one.index.intersection(other.index)
    return [one.loc[both], other.loc[both]]


def means_apart(
    one: pd.DataFrame | None, other: pd.DataFrame | None, absent: str, alike: str
) -> dict[str, Any]:
    """Return the difference of two means over the cells that both have, of independent answers.

    one, other: `CELLS`, indexed by cells, whose parts (the rows of an index) add up; a variance that is NaN
    has its reason in the note. absent, alike: said where there is no cell in common, and no variance.
    """
    sides = shared_cells(one, other)
    parts, cells = pd.concat(sides), sides[0].index.get_level_values(0).nunique()
    if not cells:
        return {"n": 0, "note": absent}
    values = [side["value"].sum(skipna=False) / cells for side in sides]
    error, df = summed(parts["variance"] / cells**2, parts["df"])
    row = {"estimate": values[0] - values[1], "of_group": values[0], "of_less": values[1]}
    row["n"] = int(parts["n"].sum())
    if error > 0:
        return row | student(row["estimate"], error, df)
    notes = "; ".join(dict.fromkeys(filter(None, parts["note"])))
    return row | {"note": notes if np.isnan(error) and notes else alike}


def difference_sentences(
    frame: pd.DataFrame,
    name: Callable[[str], str] = label,
    say: Callable[[Mapping[Any, Any]], str] | None = None,
) -> Iterator[str]:
    """Yield a sentence for each two sides: what is higher or lower with the first, and what is equal.

    frame: of `compare_sides`. name: says a term. say: the clause of a difference that is claimed.
    """
    holds_0 = (frame["conf_low"] <= 0) & (frame["conf_high"] >= 0)
    claims = (frame["p_adjusted"] < LEVEL) & ~holds_0
    for (one, other), rows in frame.groupby(["group", "less"], sort=False):
        own = claims[rows.index]
        said = [(say or _told)(row) for row in rows[own].to_dict("records")]
        others = rows[~own & rows["p_value"].notna()]
        if "p_equivalent" in rows:
            equal = others["p_equivalent"] < LEVEL
            for row in others[equal].to_dict("records"):
                told = f"no difference of {row['margin']:g} points (p {p_text(row['p_equivalent'])})"
                said.append(f"{name(row['term'])}: {told}")
            others = others[~equal]
        if len(others):
            said.append(f"{', '.join(map(name, others['term']))}: not told apart")
        for note, lost in rows[rows["p_value"].isna()].groupby("note", sort=False):
            said.append(f"{', '.join(map(name, lost['term']))}: {str(note) or NOT_BOTH}")
        yield sentence(f"{one} against {other}", said)


def _told(row: Mapping[Any, Any]) -> str:
    way, size = ("higher" if row["estimate"] > 0 else "lower"), number_text(abs(row["estimate"]))
    ends = sorted(abs(row[name]) for name in ("conf_low", "conf_high"))
    interval = "" if np.isnan(ends[0]) else f"95 %: {number_text(ends[0])} to {number_text(ends[1])}; "
    return f"{label(row['term'])} is {way} by {size} ({interval}adjusted p {p_text(row['p_adjusted'])})"


def difference_report(
    frame: pd.DataFrame, text: str, unit: str = "", answer: Iterable[str] | None = None
) -> Report:
    """Return a report of `compare_sides`: a sentence for each two sides, a figure, and the table.

    unit: of all values, where they have the same.
    """
    caption = (
        "What the first has more than the second, with 95 % intervals; a hollow mark has no interval."
        f" The table has those of more than {MOST_DRAWN} pairs."
    )
    figure = NamedFigure("comparison", caption, lambda: difference_figure(frame, unit))
    title = f"Differences ({unit})" if unit else "Differences"
    table = NamedTable("comparison", title, frame.drop(columns="statistic"), 1 if unit else None)
    section = Section("How far agents differ", text, (table,), (figure,))
    return Report((section,), tuple(difference_sentences(frame) if answer is None else answer))


def difference_figure(frame: pd.DataFrame, unit: str = "") -> Figure:
    """Draw differences: a panel for each two sides, or where units differ for each term."""
    pair = frame["group"] + " less " + frame["less"]
    drawn = frame[pair.isin(pair.unique()[:MOST_DRAWN])]
    lines, panels = drawn["term"].map(label), pair[drawn.index]
    if not unit:
        lines, panels = panels, lines
    rows = drawn.assign(line=lines, group=panels)
    xlabel = f"Difference ({unit})" if unit else "Difference, each in its own unit"
    return forest(rows, lambda row: str(row["line"]), xlabel, alike=bool(unit))
