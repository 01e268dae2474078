"""The report and the files of a study, from its sections: one HTML page that needs nothing else."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import jinja2
import pandas as pd

from analysis.errors import AnalysisError
from analysis.figures import save_figure, to_svg
from analysis.report import _data_uri, p_value
from analysis.sections import NamedTable, Section

FOLDED = 12
"""Tables with more rows are folded, to be opened with a click."""

P_VALUES = ("p_value", "p_adjusted")
NOTE = "note"
INTERVAL = ("conf_low", "conf_high")
KEPT = ("term", "group", "estimate", *INTERVAL)
"""Columns that stay, also where all rows have the same value."""

_FILE_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")


def write_study_report(
    path: str | Path, title: str, facts: Mapping[str, object], sections: Sequence[Section]
) -> None:
    """Write the report. facts: what was run, shown as given.

    Every text is escaped; the page holds no script and asks for nothing over the network. What is undefined
    is an empty cell, with its reason in the column `note`; columns that are empty throughout are left out.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("study.html.j2").render(
        title=title,
        facts=facts,
        sections=[
            {
                "title": section.title,
                "text": section.text,
                "figures": [(_data_uri(to_svg(each.figure)), each.caption) for each in section.figures],
                "tables": [_table(each) for each in section.tables],
            }
            for section in sections
        ],
    )
    Path(path).write_text(page, encoding="utf-8")


def write_study_files(folder: str | Path, sections: Sequence[Section]) -> list[Path]:
    """Write each table as `NAME.csv` and each figure as `NAME.png` and `NAME.svg`; returns the paths.

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
        table.frame.to_csv(paths[-1], index=False)
    for each in drawn:
        for suffix in (".png", ".svg"):
            paths.append(folder / f"{each.name}{suffix}")
            save_figure(each.figure, paths[-1])
    return paths


def cell(value: object, column: str = "") -> str:
    """A value for readers: four significant digits, a bound for small p values, nothing if undefined."""
    if value is None or (not isinstance(value, str) and pd.isna(value)):  # type: ignore[call-overload]
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if column in P_VALUES:
        return p_value(float(value))
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "\N{MINUS SIGN}")
    digits = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
    return digits.replace("-", "\N{MINUS SIGN}")


def _table(table: NamedTable) -> dict[str, object]:
    """Text for the template. What is the same in all rows is said once, so that the table fits a page."""
    frame = table.frame
    shown = [name for name in frame if frame[name].notna().any() and (frame[name] != "").any()]
    same = [
        name
        for name in shown
        if name not in KEPT and len(frame) > 1 and frame[name].nunique(dropna=False) == 1
    ]
    columns = [name for name in shown if name not in [*same, *INTERVAL, NOTE]]
    texts = {str(name): [cell(value, str(name)) for value in frame[name].astype(object)] for name in columns}
    if set(INTERVAL) <= set(shown):
        ends = zip(*(frame[name].astype(object) for name in INTERVAL), strict=True)
        place = columns.index("std_error") + 1 if "std_error" in columns else len(columns)
        interval = [f"{cell(low)} to {cell(high)}" if not pd.isna(low) else "" for low, high in ends]
        texts = dict(
            [*list(texts.items())[:place], ("95 % interval", interval), *list(texts.items())[place:]]
        )
    if NOTE in shown and NOTE not in same:
        texts[NOTE] = [cell(value) for value in frame[NOTE]]
    kinds = [
        "note" if name == NOTE else "" if name in frame and not _numeric(frame[name]) else "n"
        for name in texts
    ]
    said = [
        f"{str(name).replace('_', ' ')}: {cell(frame[name].astype(object).iloc[0], str(name))}"
        for name in same
    ]
    return {
        "caption": table.caption,
        "same": "; ".join(said),
        "columns": list(zip([name.replace("_", " ") for name in texts], kinds, strict=True)),
        "rows": [list(zip(row, kinds, strict=True)) for row in zip(*texts.values(), strict=True)],
        "folded": len(frame) > FOLDED,
    }


def _numeric(values: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(values))
