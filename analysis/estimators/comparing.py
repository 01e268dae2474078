"""Compare agents two by two, and an agent with itself in another run."""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.estimators.t_tests import student, summed
from analysis.tables.errors import AnalysisError
from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import result_frame

MOST_SIDES: Final = 30
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
