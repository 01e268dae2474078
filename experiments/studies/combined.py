"""Write the main table of several studies for LaTeX: a row an agent, a column a term and study."""

from collections.abc import Hashable, Mapping
from itertools import product
from typing import Any, Final

import pandas as pd

from analysis.reporting.answer import number_text
from analysis.reporting.latex import tabular
from analysis.reporting.sections import Report
from analysis.tables.frame import label
from experiments.studies.side_by_side import STUDY
from interventions.errors import UserError

HEADS: Final = {"nudges": "Original", "nudges-mr": "MR", "nudges-mrap": "MRaP"}
"""What Cherep et al. (2026) call the studies that Souk ships; others have their own names."""
STARS: Final = {"***": 0.001, "**": 0.01, "*": 0.05}
"""The largest adjusted p value for so many stars."""
COLOURS: Final = ("orange", "cyan")
"""Of effects below 0, and above; colour-blind eyes tell them apart."""
_FULL: Final = 60
"""The percent of a colour in the largest effect of the table."""
_COLOURED: Final = (r"% colours: \usepackage[table]{xcolor}", r"\providecommand{\cellcolor}[1]{}")
"""Without the package the table is printed in black."""
_NEEDED: Final = ["term", "group", "estimate", "p_adjusted"]


def combined_table(report: Report) -> str:
    """Return the first table of estimates in a report of several studies for LaTeX.

    A column is a term; where the table has rows for each intervention, a term of one of them. Stars are by
    `p_adjusted`: where it is empty there are none, and the estimate is in brackets. An effect that a study
    cannot have, such as of equal prices, is a dash. A cell with stars has a colour by the sign of its
    estimate, the stronger, the larger it is. A comment names the package that colours need.

    Raises UserError where the table is not of terms by agent.
    """
    tables = (table for section in report.sections for table in section.tables if not table.detail)
    main = next(
        (table for table in tables if set(_NEEDED) <= set(table.frame) and "less" not in table.frame), None
    )
    if main is None:
        raise UserError("--tex: no table is of terms by agent; souk paper writes each table of a run")
    frame = main.frame
    if "nudge" in frame:
        frame = frame.assign(term=frame["term"].map(label) + ": " + frame["nudge"])
    studies, terms = (list(dict.fromkeys(frame[name])) for name in (STUDY, "term"))
    every = {(row["group"], row["term"], row[STUDY]): row for row in frame.to_dict("records")}
    if len(every) < len(frame):
        raise UserError(
            "--tex: the main table has several rows for a term; souk paper writes each table of a run"
        )
    cells = {key: _cell(row, main.decimals) for key, row in every.items()}
    largest = float(frame["estimate"].abs().max())
    shades = {key: _shade(row, largest) for key, row in every.items()}
    keys = list(product(sorted(set(frame["group"])), studies))
    rows = [
        [agent if study == studies[0] else "", HEADS.get(study, study)]
        + [cells.get((agent, term, study), "–") for term in terms]
        for agent, study in keys
    ]
    colours = [["", "", *(shades.get((agent, term, study), "") for term in terms)] for agent, study in keys]
    stars = ", ".join(f"{sign} p < {most:g}" for sign, most in STARS.items())
    lines = tabular(
        ["Agent", "Study", *map(label, terms)],
        rows,
        [False, False, *[True] * len(terms)],
        caption=main.caption,
        name=main.name,
        below=[
            f"{stars} (adjusted). In brackets: no p value. –: nothing to estimate. "
            f"With stars {COLOURS[0]}: below 0, {COLOURS[1]}: above."
        ],
        before=colours,
    )
    return "\n".join([*_COLOURED, *lines]) + "\n"


def _shade(row: Mapping[Hashable, Any], largest: float) -> str:
    """The colour of a cell that has stars."""
    estimate, p_value = row["estimate"], row["p_adjusted"]
    if pd.isna(estimate) or not p_value < max(STARS.values()) or not estimate:
        return ""
    return rf"\cellcolor{{{COLOURS[estimate > 0]}!{max(1, round(_FULL * abs(estimate) / largest))}}}"


def _cell(row: Mapping[Hashable, Any], decimals: int | None) -> str:
    estimate, p_value = row["estimate"], row["p_adjusted"]
    if pd.isna(estimate):
        return "–"
    text = number_text(estimate, decimals).replace("-", "\N{MINUS SIGN}")
    if pd.isna(p_value):
        return f"({text})"
    return text + next((sign for sign, most in STARS.items() if p_value < most), "")
