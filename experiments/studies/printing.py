"""Print tables of an analysis for people, in the terminal."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from analysis.reporting.answer import number_text
from analysis.reporting.sections import NamedTable, Report, Section
from analysis.tables.frame import COUNTS, INTERVALS, counted, heading, label, without_code
from experiments.console.terminal import new_table
from experiments.records.reading.tidy_tables import write_table

LONGEST_TABLE: Final = 30
MOST_NOTES: Final = 8
INTERVAL, EXACT_INTERVAL, BLOCKED_INTERVAL, CLUSTERED_INTERVAL, *_ = INTERVALS
RESULTS: Final = (
    "estimate",
    "std_error",
    INTERVAL,
    "p_value",
    "p_adjusted",
    "p_equivalent",
    EXACT_INTERVAL,
    "p_exact",
    "blocked",
    BLOCKED_INTERVAL,
    "p_blocked",
    "p_blocked_adjusted",
    CLUSTERED_INTERVAL,
    *COUNTS,
    "note",
)
MOST_LEVELS: Final = 10
"""The most levels of an attribute whose balance is shown."""
MOST_COLUMNS: Final = 9
"""The most columns of a table in the terminal; the files have all columns."""

LONGEST_WORD: Final = (22, 16, 14, 9, 6)
"""The most characters that a column of words is sure to have; the first is tried first."""
NARROW: Final = 14
"""Before a column of words becomes narrower than this, other columns are left out."""
COLUMN_GAP: Final = 3
"""Characters between two columns."""

FIRST_SCREEN: Final = 34
"""Lines of what is printed first: with those of the command itself they fit a terminal of 40."""
FEW: Final = 4
"""So few sentences, and the names of so few agents, are always whole, however long the screen becomes."""
SHORTER: Final = ((8, 30, 8), (8, 12, 3), (8, 5, 1), (8, 3, 1), (6, 3, 1), (4, 3, 1), (2, 3, 1), (1, 1, 0))
"""So many sentences and problems, rows and notes of the main table are tried until they fit: an agent's own
sentence is worth more than a row.
"""


def run_facts(found: dict[str, Any]) -> dict[str, Any]:
    """Return what the report says about a stored run."""
    facts = found["facts"]
    experiment = facts["experiment"]
    told = {
        "run": found["run"],
        "started": found["started_at"],
        "wave": facts.get("wave"),
        "agents": ", ".join(facts["agents"]),
        "mode": experiment.get("mode"),
        "choice sets": facts.get("sets"),
        "site map": facts.get("site"),
        "seed": experiment.get("seed"),
        "goal": experiment.get("goal"),
        "versions": ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
        "fonts": " / ".join(facts.get("fonts", ())) or None,
    }
    return {name: value for name, value in told.items() if value is not None}


def print_report(console: Console, report: Report, folder: Path | None) -> None:
    """Print the answer, the main table and what went wrong: as much of them as fits a screen."""
    for sentences, rows, notes in SHORTER:
        screen = Group(*_screen(report, folder, sentences, rows, notes, console.width))
        if len(console.render_lines(screen, pad=False)) <= FIRST_SCREEN:
            break
    console.print(screen)


def _screen(
    report: Report, folder: Path | None, sentences: int, rows: int, notes: int, width: int
) -> Iterator[RenderableType]:
    most = max(sentences, FEW) if len(report.answer) <= FEW else sentences
    yield from _texts(report.answer, most, "sentence", "bold")
    for named in report.sections[0].tables[:1]:
        yield Text()
        yield from _table(named, folder, rows, notes, width)
    yield from _texts(report.problems, sentences, "problem", "yellow")
    if report.checked:
        yield Text(report.checked)


def _table(
    named: NamedTable, folder: Path | None, rows: int, notes: int, width: int
) -> Iterator[RenderableType]:
    """A table with caption and footnotes: one for each of few agents where their names would be broken."""
    yield Text(named.caption, "bold")
    parts = [frame_table(named, folder, rows, notes, width)]
    first = next(iter(parts[0][0].columns), None)
    if first and first.width and first.header == heading("group") and "group" in named.frame:
        agents = dict(list(named.frame.groupby("group", sort=False)))
        longest = max(len(word) for agent in agents for word in str(agent).split())
        if first.width < longest and len(agents) <= max(rows, FEW):
            each = [replace(named, frame=own) for own in agents.values()]
            parts = [frame_table(own, folder, rows, notes, width) for own in each]
    for table, footnotes in parts:
        yield table
        yield from (Text(line, "dim") for line in [*footnotes, ""])


def _texts(lines: Sequence[str], most: int, what: str, style: str) -> Iterator[Text]:
    """The first of the sentences, and how many more there are."""
    yield from (Text(line, style) for line in lines[:most])
    if len(lines) > most:
        more = counted(len(lines) - most, f"more {what}")
        yield Text(f"... and {more}: in the report, or with --all", style)


def print_everything(console: Console, report: Report, folder: Path | None) -> None:
    """Print the answer, what went wrong, and each table of the report."""
    for style, lines in (("bold", report.answer), ("yellow", report.problems), ("", (report.checked,))):
        for line in lines:
            console.print(Text(line, style))
    console.print()
    print_sections(console, report.sections, folder)


def print_sections(console: Console, sections: Sequence[Section], folder: Path | None) -> None:
    """Print each table of a study, cut where it is long.

    The whole table is in the folder.
    """
    for section in sections:
        for named in section.tables:
            if named.detail or named.frame.empty:
                continue
            console.print(Group(*_table(named, folder, LONGEST_TABLE, MOST_NOTES, console.width)))


def print_balance(console: Console, balance: pd.DataFrame, out: Path | None) -> None:
    """Print what a design shows at each place, and in which condition; `out` gets the whole report.

    Raises:
        UserError: the folder cannot be written.
    """
    for check, title in (("trials", "Trials by condition"), ("position", "Means and shares by position")):
        rows = balance[balance["check"] == check]
        rows = rows[rows.groupby("attribute")["level"].transform("nunique") <= MOST_LEVELS]
        if rows.empty:
            continue
        wide = rows.pivot(index=["attribute", "level"], columns="group", values="value").reset_index()
        wide.columns = [str(name) or "all" for name in wide]
        wide = wide.sort_values("level", key=lambda level: level != "mean", kind="stable")
        table, lines = frame_table(NamedTable("balance", title, wide.fillna(0)), out)
        console.print(Text(title, "bold"))
        console.print(table)
        for line in lines:
            console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
    if out:
        write_table(balance, out / "balance.csv")


def frame_table(
    named: NamedTable,
    folder: Path | None,
    longest: int = LONGEST_TABLE,
    most_notes: int = MOST_NOTES,
    width: int | None = None,
) -> tuple[Table, list[str]]:
    """Return a frame for the terminal, without its caption, and its footnotes.

    Undefined values are blank, with their reason. What is the same in every row is said once below; what has
    no place in so many columns, or in a `width` in characters, is in the files.
    """
    rows, same = _condensed(named.frame, named.decimals)
    footnotes: dict[str, int] = {}
    words: dict[str, int] = {}
    if width is not None:
        rows, words = _fitting(rows, named.decimals, longest, width)
    names = [str(name) for name in rows if name != "note"]
    table = new_table("")
    for name in names:
        numeric = _is_number_column(rows, name)
        justify: Any = "right" if numeric or name in COUNTS else "left"
        title = escape(heading(name))
        table.add_column(title, justify=justify, overflow="fold", no_wrap=numeric, width=words.get(name))
    marked = "note" in rows and bool((rows["note"].head(longest) != "").any())
    if marked:
        table.add_column("", no_wrap=True)
    for row in rows.head(longest).to_dict("records"):
        notes = [note for note in str(row.get("note") or "").split("; ") if note]
        marks = [footnotes.setdefault(note, len(footnotes) + 1) for note in notes]
        cells = [_cell(name, row[name], named.decimals) for name in names]
        table.add_row(*cells, *([escape(" ".join(f"[{mark}]" for mark in marks))] if marked else []))
    lines = []
    if same:
        said = ", ".join(f"{heading(name)} {text}" for name, text in same)
        lines.append(f"all rows: {said}")
    lines += [f"[{index}] {note}" for note, index in footnotes.items() if index <= most_notes]
    where = f"{folder / named.name}.csv" if folder else "a folder with --out DIR"
    if len(footnotes) > most_notes:
        lines.append(f"... and {counted(len(footnotes) - most_notes, 'more note')}: {where}")
    if len(rows) > longest:
        lines.append(f"... and {counted(len(rows) - longest, 'more row')}: {where}")
    return table, lines


def _condensed(frame: pd.DataFrame, decimals: int | None) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """The columns that tell rows apart, then results; and what is the same in all rows."""
    # Beside an error the statistic says nothing more; without one it is the test.
    told = "statistic" in frame and "std_error" in frame and bool(frame["std_error"].notna().any())
    rows = frame.drop(columns=["statistic"] if told else [])
    for name, ends in INTERVALS.items():
        if set(ends) <= set(rows):
            place = list(rows).index(ends[0])
            bounds = zip(*(rows.pop(end) for end in ends), strict=True)
            interval = [
                f"{number_text(low, decimals)} to {number_text(high, decimals)}" if is_number(low) else ""
                for low, high in bounds
            ]
            rows.insert(place, name, interval)
    for name, counts in COUNTS.items():
        if set(counts) <= set(rows):
            three = zip(*(rows.pop(column) for column in counts), strict=True)
            rows[name] = ["" if any(map(pd.isna, each)) else "/".join(map(str, each)) for each in three]
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
    labels = [name for name in labels if name not in (*RESULTS, *INTERVALS)]
    results = [name for name in RESULTS if name in names and name != "note"]
    others = [name for name in names if name not in (*labels, *RESULTS)]
    if len(labels) + len(results) + len(others) >= MOST_COLUMNS and "n_missing" in others:
        others.remove("n_missing")
    shown = [*labels, *results, *others][:MOST_COLUMNS]
    return rows[[*shown, *(["note"] if "note" in names else [])]], same


def _fitting(
    rows: pd.DataFrame, decimals: int | None, longest: int, width: int
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Leave out columns until the rest fits: the last that are neither label nor result, then errors.

    Beside an interval also the exact one, with its p value; then counts; at last the p values. Also returns
    the width of each column of words.
    """
    shown = rows.head(longest)
    names = [str(name) for name in rows if name != "note"]
    cells = {name: [_cell(name, value, decimals) for value in shown[name]] for name in names}
    whole = {name: max(map(len, [heading(name), *cells[name]])) for name in names}
    word = {
        name: max(len(word) for text in [heading(name), *cells[name]] for word in [*text.split(), ""])
        for name in names
        if not _is_number_column(rows, name)
    }
    spare = [name for name in names if name not in RESULTS and name not in word]
    if INTERVAL in names:
        spare = [*(name for name in (EXACT_INTERVAL, "p_exact", "std_error") if name in names), *spare]
    spare = [*(name for name in COUNTS if name in names), *spare]
    if {"p_value", "p_adjusted"} <= set(names):
        spare = ["p_value", *spare]
    if "p_blocked_adjusted" in names:
        spare = [*(name for name in ("p_adjusted", "p_blocked") if name in names), *spare]
    marks = 4 * max((note.count("; ") + 1 for note in shown.get("note", ()) if note), default=-1) + 4

    def left(most: int) -> int:
        """What is left of the width if a column of words has its longest word, or so many characters."""
        needed = [min(word[name], most) if name in word else whole[name] for name in names]
        return width - sum(needed) - COLUMN_GAP * len(names) - marks

    while spare and left(NARROW) < 0:
        names.remove(spare.pop())
    most = next((most for most in LONGEST_WORD if left(most) >= 0), LONGEST_WORD[-1])
    words = {name: min(word[name], most) for name in names if name in word}
    for _ in range(left(most)):
        wanting = max(words, key=lambda name: whole[name] - words[name], default="")
        if wanting and words[wanting] < whole[wanting]:
            words[wanting] += 1
    return rows[[name for name in rows if name == "note" or name in names]], words


def _is_number_column(rows: pd.DataFrame, name: str) -> bool:
    return name in INTERVALS or pd.api.types.is_numeric_dtype(rows[name])


def _cell(name: str, value: object, decimals: int | None) -> str:
    if name.startswith("p_") or name == "p":
        return p_value(value)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, Real):
        whole = isinstance(value, int | np.integer)
        return number_text(float(value), None if whole else decimals)
    if value is None or value is pd.NA:
        return ""
    return escape(label(value) if name == "term" else without_code(str(value)))


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
