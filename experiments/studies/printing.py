"""Print tables of an analysis for people, in the terminal."""

import math
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from analysis.reporting.sections import NamedTable, Section
from analysis.tables.frame import LABELS
from experiments.console.terminal import new_table
from experiments.records.tidy_tables import write_table

LONGEST_TABLE: Final = 30
MOST_NOTES: Final = 8
INTERVAL: Final = "95 % interval"
HEADINGS: Final = {
    "group": "agent",
    "p_value": "p",
    "p_adjusted": "adjusted p",
    "std_error": "std. error",
    "n_missing": "missing",
}
RESULTS: Final = ("estimate", "std_error", INTERVAL, "p_value", "p_adjusted", "note")
MOST_LEVELS: Final = 10
"""The most levels of an attribute whose balance is shown."""
MOST_COLUMNS: Final = 9
"""The most columns of a table in the terminal; the files have all columns."""


def run_facts(found: dict[str, Any]) -> dict[str, Any]:
    """Return what the report says about a stored run."""
    facts = found["facts"]
    experiment = facts["experiment"]
    told = {
        "run": found["run"],
        "started": found["started_at"],
        "agents": ", ".join(facts["agents"]),
        "mode": experiment.get("mode"),
        "choice sets": facts.get("sets"),
        "site map": facts.get("site"),
        "seed": experiment["seed"],
        "goal": experiment.get("goal"),
        "versions": ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
    }
    return {name: value for name, value in told.items() if value is not None}


def print_sections(console: Console, sections: Sequence[Section], folder: Path | None) -> None:
    """Print each table of a study, cut where it is long.

    The whole table is in the folder.
    """
    for section in sections:
        for named in section.tables:
            if named.detail or named.frame.empty:
                continue
            table, footnotes = frame_table(named, folder)
            console.print(table)
            for line in footnotes:
                console.print(line, style="dim", highlight=False, markup=False)


def print_balance(console: Console, balance: pd.DataFrame, out: Path | None) -> None:
    """Print what a design shows at each place, and in which condition; `out` gets the whole report.

    Raises:
        UserError: the folder cannot be written.
    """
    for check, heading in (("trials", "Trials by condition"), ("position", "Means and shares by position")):
        rows = balance[balance["check"] == check]
        rows = rows[rows.groupby("attribute")["level"].transform("nunique") <= MOST_LEVELS]
        if rows.empty:
            continue
        wide = rows.pivot(index=["attribute", "level"], columns="group", values="value").reset_index()
        wide.columns = [str(name) or "all" for name in wide]
        wide = wide.sort_values("level", key=lambda level: level != "mean", kind="stable")
        table, lines = frame_table(NamedTable("balance", heading, wide.fillna(0)), out)
        console.print(table)
        for line in lines:
            console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
    if out:
        write_table(balance, out / "balance.csv")


def frame_table(named: NamedTable, folder: Path | None) -> tuple[Table, list[str]]:
    """Return a frame as a table for the terminal, and its footnotes.

    Undefined values are blank, with their reason. What is the same in every row is said once below; what has
    no place here is in the files.
    """
    rows, same = _condensed(named.frame, named.decimals)
    footnotes: dict[str, int] = {}
    names = [str(name) for name in rows if name != "note"]
    table = new_table(named.caption)
    for name in names:
        numeric = pd.api.types.is_numeric_dtype(rows[name]) or name == INTERVAL
        justify: Any = "right" if numeric else "left"
        heading = HEADINGS.get(name, name.replace("_", " "))
        table.add_column(escape(heading), justify=justify, overflow="fold", no_wrap=numeric)
    marked = "note" in rows
    if marked:
        table.add_column("", no_wrap=True)
    for row in rows.head(LONGEST_TABLE).to_dict("records"):
        notes = [note for note in str(row.get("note") or "").split("; ") if note]
        marks = [footnotes.setdefault(note, len(footnotes) + 1) for note in notes]
        cells = [_cell(name, row[name], named.decimals) for name in names]
        table.add_row(*cells, *([escape(" ".join(f"[{mark}]" for mark in marks))] if marked else []))
    lines = []
    if same:
        said = ", ".join(f"{HEADINGS.get(name, name.replace('_', ' '))} {text}" for name, text in same)
        lines.append(f"all rows: {said}")
    lines += [f"[{index}] {note}" for note, index in footnotes.items() if index <= MOST_NOTES]
    where = f"{folder / named.name}.csv" if folder else "a folder with --out DIR"
    if len(footnotes) > MOST_NOTES:
        lines.append(f"... and {len(footnotes) - MOST_NOTES} more notes: {where}")
    if len(rows) > LONGEST_TABLE:
        lines.append(f"... and {len(rows) - LONGEST_TABLE:,} more rows: {where}")
    return table, lines


def _condensed(frame: pd.DataFrame, decimals: int | None) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """The columns that tell rows apart, then results; and what is the same in all rows."""
    rows = frame.drop(columns=[name for name in ("statistic",) if name in frame])
    if "conf_low" in rows:
        bounds = zip(rows["conf_low"], rows["conf_high"], strict=True)
        rows[INTERVAL] = [
            f"{_number(low, decimals)} to {_number(high, decimals)}" if is_number(low) else ""
            for low, high in bounds
        ]
        rows = rows.drop(columns=["conf_low", "conf_high"])
    if "note" in rows:
        rows["note"] = rows["note"].fillna("").astype(str)
    empty = [(rows[name].isna() | (rows[name].astype(str) == "")).all() for name in rows]
    rows = rows.loc[:, [not nothing for nothing in empty]]
    same = []
    for name in [str(name) for name in rows if name not in RESULTS]:
        if len(rows) > 1 and rows[name].notna().all() and rows[name].astype(str).nunique() == 1:
            text = _cell(name, rows[name].iloc[0], decimals)
            rows = rows.drop(columns=name)
            if (name, text) != ("n_missing", "0"):
                same.append((name, text))
    names = [str(name) for name in rows]
    labels = [name for name in names if not pd.api.types.is_numeric_dtype(rows[name])]
    labels = [name for name in labels if name not in RESULTS]
    results = [name for name in RESULTS if name in names and name != "note"]
    others = [name for name in names if name not in (*labels, *RESULTS)]
    if len(labels) + len(results) + len(others) >= MOST_COLUMNS and "n_missing" in others:
        others.remove("n_missing")
    shown = [*labels, *results, *others][:MOST_COLUMNS]
    return rows[[*shown, *(["note"] if "note" in names else [])]], same


def _cell(name: str, value: object, decimals: int | None) -> str:
    if name.startswith("p_") or name == "p":
        return p_value(value)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, Real):
        whole = isinstance(value, int | np.integer)
        return _number(float(value), None if whole else decimals)
    if value is None or value is pd.NA:
        return ""
    return escape(LABELS.get(str(value), str(value)) if name == "term" else str(value))


def _number(value: float, decimals: int | None) -> str:
    """So many decimals, or at most four digits that count; nothing for an undefined value."""
    if decimals is not None:
        return number(value, f"z,.{decimals}f")
    whole = math.isfinite(value) and value == round(value)
    return number(value, "z,.0f" if whole or abs(value) >= 1_000 else ".3g" if abs(value) < 1 else ".4g")


def is_number(value: object) -> bool:
    """Return whether the value is a defined number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def number(value: object, form: str) -> str:
    """Write a number in a format; empty when it is undefined."""
    return format(value, form) if is_number(value) else ""


def p_value(value: object) -> str:
    """Write a p value with three decimals; `<.001` below."""
    if not isinstance(value, float) or not math.isfinite(value):
        return ""
    return "<.001" if value < 0.001 else f"{value:.3f}"
