"""souk figures."""

import re
from typing import Annotated, Literal

import typer

from experiments.commands.common import (
    DEFAULT_DB,
    Agents,
    Db,
    Excluded,
    OneRun,
    Out,
    Renamed,
    estimating,
    files_of,
    formats_in,
    open_records,
    report_for_paper,
)
from interventions.errors import UserError

MILLIMETRES = {"mm": 1.0, "cm": 10.0, "in": 25.4}
NARROWEST, WIDEST = 40, 500
"""Widths of figures in millimetres."""
USUAL = {"screen": 183.0, "paper": 85.0}
"""Widths by style: that of the report, and that of a journal's column."""


def figures(
    named: OneRun = None,
    style: Annotated[
        Literal["screen", "paper"],
        typer.Option(
            help="paper: letters of 7 points, as journals ask for; screen: of 10, as in the report."
        ),
    ] = "screen",
    formats: Annotated[
        str, typer.Option("--format", metavar="LIST", help="pdf, svg, png; several with commas between.")
    ] = "pdf",
    width: Annotated[
        str | None,
        typer.Option(metavar="LENGTH", help="85mm, 8.5cm or 3.35in; 85mm on paper, 183mm on the screen."),
    ] = None,
    rename: Renamed = None,
    agent: Agents = None,
    exclude: Excluded = None,
    out: Out = None,
    db: Db = DEFAULT_DB,
) -> None:
    """Write the figures of a run's report for a paper: of the width of its column.

    Examples:

      souk figures nudges --style paper --format pdf --width 85mm

      souk figures nudges --style paper --format pdf,svg,png --rename openai:gpt-4.1-mini="GPT-4.1 mini"
    """
    from analysis.reporting.paper import FORMATS, PAPER_POINTS, SCREEN_POINTS, save_sized, sized

    suffixes = formats_in(formats, FORMATS, "--format pdf,svg")
    inches = _millimetres(width, style) / 25.4
    records = open_records(db)
    found = records.latest_run(named)
    folder = out or records.folder(found["run"]) / "figures"
    report = report_for_paper(records, found, agent, exclude, rename)
    try:
        with estimating():
            folder.mkdir(parents=True, exist_ok=True)
            for each in (figure for section in report.sections for figure in section.figures):
                drawn, fault = sized(each.draw, inches, PAPER_POINTS if style == "paper" else SCREEN_POINTS)
                for suffix in suffixes:
                    save_sized(drawn, folder / f"{each.name}.{suffix}")
                typer.echo(f"{files_of(folder / each.name, suffixes)}: {each.caption}")
                if fault:
                    typer.echo(f"{each.name} {fault}; a larger --width has room for it", err=True)
    except OSError as error:
        raise UserError(
            f"--out {folder}: cannot be written ({error.strerror}); choose another folder"
        ) from None


def _millimetres(width: str | None, style: str) -> float:
    if width is None:
        return USUAL[style]
    length = re.fullmatch(r"(\d+(?:\.\d+)?) ?(mm|cm|in)", width.strip())
    found = float(length[1]) * MILLIMETRES[length[2]] if length else 0.0
    if not NARROWEST <= found <= WIDEST:
        raise UserError(
            f"--width {width}: no width from {NARROWEST} to {WIDEST} mm; "
            "write a number and its unit: 85mm, 3.35in"
        )
    return found
