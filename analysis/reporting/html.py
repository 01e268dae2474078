"""Write a study's report, one HTML page that needs no other file, and its files, from its sections."""

import base64
import math
import re
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd

from analysis.reporting.answer import steady
from analysis.reporting.plots import save_figure
from analysis.reporting.sections import NamedFigure, NamedTable, Report, Section
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import AFTER, INTERVALS, P_VALUES, heading, label, without_code

FOLDED = 12
"""The most rows of a table that is shown at once; a longer table opens with a click."""

NOTE = "note"
ENDS = tuple(chain(*INTERVALS.values()))
KEPT = ("term", "estimate", *ENDS)
"""Columns of a table with estimates that stay, also where all rows have the same value."""

_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


def write_report(
    path: str | Path,
    title: str,
    facts: Mapping[str, object],
    report: Report,
    trials: str | None = None,
    names: Mapping[str, str] | None = None,
) -> None:
    """Write the report: the answer and its figure, then the contents and the sections.

    facts: what was run, shown as given at the end. trials: the address of pages of the trials, to be linked.
    names: name -> address of the trials of that name, to be linked where a cell of a table is the name.

    Every text is escaped; the page holds no script and asks for nothing over the network. What is undefined
    is an empty cell, with its reason in a footnote; columns that are empty throughout are left out.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("report.html.j2").render(
        title=title,
        facts=facts,
        answer=report.answer,
        problems=report.problems,
        checked=report.checked,
        trials=trials,
        names=names or {},
        figures=[figure_data(each) for section in report.sections[:1] for each in section.figures[:1]],
        sections=[
            {
                "title": section.title,
                "paragraphs": [text for text in section.text.split("\n\n") if text],
                "figures": [figure_data(each) for each in section.figures[0 if place else 1 :]],
                "tables": [table_cells(each) for each in section.tables],
            }
            for place, section in enumerate(report.sections)
        ],
    )
    Path(path).write_text(page, encoding="utf-8")


def write_files(folder: str | Path, sections: Sequence[Section]) -> list[Path]:
    """Write each table as `NAME.csv` and each figure as `NAME.png` and `NAME.svg`; return the paths.

    Raises AnalysisError if two tables or figures share a name, or one is no plain file name.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tables = [table for section in sections for table in section.tables]
    drawn = [figure for section in sections for figure in section.figures]
    for names in ([each.name for each in tables], [each.name for each in drawn]):
        for name in names:
            if not _FILE_NAME.fullmatch(name) or names.count(name) > 1:
                raise AnalysisError(f"section: {name!r} is no file name, or used twice; choose another")
    paths = []
    for table in tables:
        paths.append(folder / f"{table.name}.csv")
        table.frame.replace([np.inf, -np.inf], np.nan).to_csv(paths[-1], index=False)
    for each in drawn:
        paths += [folder / f"{each.name}.png", folder / f"{each.name}.svg"]
        paths[-1].write_text(each.svg, encoding="utf-8")
        save_figure(each.figure, paths[-2])
    return paths


def p_value(value: float) -> str:
    """Write a p value with three decimals, or as below them."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def cell(value: object, column: str = "", decimals: int | None = None) -> str:
    """Write a value for readers: with `decimals`, or four significant digits.

    A small p value is `< 0.001`; an undefined value is empty.
    """
    if value is None or (not isinstance(value, str) and pd.isna(value)):  # type: ignore[call-overload]
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return label(value) if column == "term" else without_code(str(value))
    if math.isinf(value):
        return ""
    if column in P_VALUES:
        return p_value(float(value))
    if decimals is not None and isinstance(value, float):
        return f"{steady(value):z,.{decimals}f}".replace("-", "\N{MINUS SIGN}")
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "\N{MINUS SIGN}")
    digits = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
    return digits.replace("-", "\N{MINUS SIGN}")


def table_cells(table: NamedTable) -> dict[str, object]:
    """Return the text of a table for a template.

    What is the same in all rows is said once, and notes are footnotes, so that the table fits a page.
    """
    frame = table.frame
    shown = [name for name in frame if frame[name].notna().any() and (frame[name] != "").any()]
    # Without an estimate the numbers are what the table is about.
    kept = KEPT if "estimate" in frame else [name for name in frame if _numeric(frame[name])]
    same = [
        name
        for name in shown
        if name not in kept and len(frame) > 1 and frame[name].nunique(dropna=False) == 1
    ]
    left_out = [*same, *ENDS, NOTE, *(["statistic"] if "std_error" in shown else [])]
    columns = [name for name in shown if name not in left_out]
    texts = {str(name): _cells(frame, name, table.decimals) for name in columns}
    for name, ends in INTERVALS.items():
        if set(ends) & set(shown) and set(ends) <= set(frame):
            bounds = zip(*(_cells(frame, end, table.decimals) for end in ends), strict=True)
            interval = [f"{low} to {high}".strip() if low or high else "" for low, high in bounds]
            before = [at for at, column in enumerate(texts, 1) if column in AFTER[name]]
            place = max(before, default=len(texts))
            texts = dict([*list(texts.items())[:place], (name, interval), *list(texts.items())[place:]])
    kinds = ["" if name in frame and not _numeric(frame[name]) else "n" for name in texts]
    footnotes: dict[str, int] = {}
    if NOTE in shown and NOTE not in same:
        texts[""] = [_marks(cell(value), footnotes) for value in frame[NOTE]]
        kinds.append("note")
    said = [f"{heading(str(name))}: {_cells(frame[:1], name, table.decimals)[0]}" for name in same]
    return {
        "caption": table.caption,
        "same": "; ".join(said),
        "columns": list(zip(map(heading, texts), kinds, strict=True)),
        "rows": [list(zip(row, kinds, strict=True)) for row in zip(*texts.values(), strict=True)],
        "footnotes": [f"[{mark}] {note}" for note, mark in footnotes.items()],
        "folded": table.detail or len(frame) > FOLDED,
    }


def _cells(frame: pd.DataFrame, name: Hashable, decimals: int | None) -> list[str]:
    return [cell(value, str(name), decimals) for value in frame[name].astype(object)]


def _marks(notes: str, footnotes: dict[str, int]) -> str:
    """The numbers of a row's notes; new ones are added to the footnotes."""
    each = [note for note in notes.split("; ") if note]
    return " ".join(f"[{footnotes.setdefault(note, len(footnotes) + 1)}]" for note in each)


def _numeric(values: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(values))


def figure_data(figure: NamedFigure) -> tuple[str, str]:
    """Return a figure as a data URI, and its caption."""
    return _data_uri(figure.svg), figure.caption


def _data_uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
