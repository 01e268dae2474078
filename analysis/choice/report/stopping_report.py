"""Say and show what a run with a stopping rule has found."""

from functools import partial
from typing import Any, Final

import pandas as pd

from analysis.choice.report.figures import sequence_figure
from analysis.choice.report.wording import WORDING
from analysis.reporting.answer import number_text, p_text
from analysis.reporting.sections import NamedFigure, NamedTable, Section
from analysis.tables.frame import counted

ONE: Final = 1


def said(row: dict[Any, Any]) -> str:
    """Say in one clause what a row of `sequence_frame` tells."""
    of = f"{int(row['trials']):,} of at most {counted(int(row['most']), 'trial')}"
    head = f"stopped by its rule after {of}" if row["decision"] else f"not stopped by its rule in {of}"
    if not row["strata"]:
        return f"{head}: {row['note']}"
    level = number_text(100 * (1 - row["alpha"]))
    low, high = number_text(row["conf_low"], 1), number_text(row["conf_high"], 1)
    name = WORDING.names[row["term"]]
    numbers = f"{number_text(row['estimate'], 1)} points ({level} % at any time: {low} to {high}"
    numbers += f"; p {p_text(row['p_value'])})"
    if row["decision"] == "within margin":
        return f"{head}: {name} moves the choice by less than {row['margin']:g} points: {numbers}"
    if row["decision"]:
        return f"{head}: {name} moves the choice by {numbers}"
    return f"{head}: {name} is not told apart from 0: {numbers}"


def stopping_section(sequence: pd.DataFrame, path: pd.DataFrame | None) -> Section:
    """Return the section on the rule. sequence, path: of `sequence_frame` and `path_frame`."""
    alpha = sequence["alpha"].iloc[0] if len(sequence) else 0.05
    term = sequence["term"].iloc[0] if len(sequence) else "nudged"
    margin = sequence["margin"].max()
    less = f", or that it does by less than {margin:g} points" if margin > 0 else ""
    text = (
        "Were the trials enough? This run could end at any time, by a rule that was declared before it: once"
        f" it is known whether {WORDING.names[term]} moves the choice{less}."
        " Its interval is a confidence sequence and its p value comes from an e-process: both hold however"
        " often one looks, and whenever one stops. The"
        f" chance that one of all the intervals ever misses the effect is {alpha:g} at most, and so is the"
        " chance of ever finding an effect that there is not."
        "\n\nStrata count in the order of the design, up to the first trial that has not ended, so that it"
        " does not matter which trials were quick. Questions that were asked before count again only while"
        " their answers differ. The interval takes the strata as draws with one mean: it speaks of choice"
        " sets and texts in a random order."
        "\n\nThe other tables are made as if the number of trials had been fixed beforehand. For the effect"
        " that the rule is about, they have no p value and no interval, because these would not be right."
    )
    caption = "The effect that the rule is about, at the stop or by now (percentage points)"
    left_out = ["std_error", "statistic", "p_adjusted", "n_missing", "alpha", "margin"]
    tables, drawn = [NamedTable("sequence", caption, sequence.drop(columns=left_out), ONE)], []
    if path is not None and len(path):
        caption = "The estimate and its interval at any time, by trials, up to the stop."
        draw = partial(sequence_figure, path, sequence)
        drawn.append(NamedFigure("sequence", caption, draw))
        caption = "The line and the band of the figure (percentage points)"
        tables.append(NamedTable("sequence_path", caption, path, ONE, detail=True))
    return Section("Stopping rule", text, tuple(tables), tuple(drawn))
