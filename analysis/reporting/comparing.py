"""Say and draw how agents differ that are compared two by two."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis.reporting.answer import LEVEL, number_text, p_text, sentence
from analysis.reporting.plots import forest
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section
from analysis.tables.frame import label

MOST_DRAWN: Final = 40
NOT_BOTH: Final = "not estimated for both"


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
    frame: pd.DataFrame,
    text: str,
    unit: str = "",
    decimals: int | None = None,
    answer: Iterable[str] | None = None,
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
    table = NamedTable("comparison", title, frame.drop(columns="statistic"), decimals)
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
