"""souk paper: the figures, the tables and the methods section of a run, for an article."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from experiments.commands.common import (
    DEFAULT_DB,
    Agents,
    Db,
    Excluded,
    OneRun,
    estimating,
    open_records,
    pair,
)
from interventions.errors import UserError

if TYPE_CHECKING:
    from analysis.reporting.sections import Report

MILLIMETRES: Final = {"mm": 1.0, "cm": 10.0, "in": 25.4}
NARROWEST, WIDEST = 40, 500
"""Widths of figures in millimetres."""
_FIGURES, _TABLES, _METHODS = ("pdf", "svg", "png"), ("tex", "docx"), ("tex", "md")


def paper(
    named: OneRun = None,
    formats: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="LIST",
            help="Figures: pdf, svg, png. Tables: tex, docx (Word). Methods: tex, md. With commas between.",
        ),
    ] = "pdf,tex",
    width: Annotated[
        str, typer.Option(metavar="LENGTH", help="Of the journal's column: 85mm, 8.5cm or 3.35in.")
    ] = "85mm",
    rename: Annotated[
        list[str] | None,
        typer.Option("--rename", metavar="AGENT=NAME", help="What an agent is called in them; repeatable."),
    ] = None,
    agent: Agents = None,
    exclude: Excluded = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The folder; paper/ in the run's own.")
    ] = None,
    db: Db = DEFAULT_DB,
) -> None:
    """Write a run's figures, tables and methods section for an article.

    The methods section contains the registered results, and comes with its sources as BibTeX.

    Examples:

      souk paper nudges --out paper/

      souk paper nudges --format svg,docx,md --width 180mm --rename openai:gpt-6-luna="GPT-6 Luna"
    """
    from experiments.plans.methods import write_methods
    from experiments.plans.registered import registered_results
    from experiments.records.reading.queries import agents_of
    from experiments.records.record import kind_of
    from experiments.studies.kinds import analyze_run, new_names, study_of

    suffixes, inches = _formats(formats), _millimetres(width) / 25.4
    records = open_records(db)
    found = records.latest_run(named)
    folder = out or records.folder(found["run"]) / "paper"
    names = new_names(agents_of(records, found["run"]), [pair("--rename", text) for text in rename or ()])
    only, without = agent or (), exclude or ()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with estimating():
            analysis = analyze_run(records, found, only, without)
            known = registered_results(records, found, analysis, only=only, without=without)
            if rename:
                analysis = analyze_run(records, found, only, without, names=names)
            report = study_of(kind_of(found)).report(analysis)
            _write(report, folder, suffixes, inches)
            for suffix in suffixes & {*_METHODS}:
                write_methods(records, found, known, folder / f"methods.{suffix}")
                typer.echo(f"{folder / 'methods'}.{suffix}, .bib: the methods section, and its sources")
    except OSError as error:
        raise UserError(
            f"--out {folder}: cannot be written ({error.strerror}); choose another folder"
        ) from None


def _write(report: "Report", folder: Path, suffixes: Collection[str], inches: float) -> None:
    """Write each figure and each table of a report in each of the formats that is one for it."""
    from analysis.reporting.paper import PAPER_POINTS, save_sized, sized
    from analysis.reporting.paper_tables import save_table

    drawn_as, set_as = [s for s in _FIGURES if s in suffixes], [s for s in _TABLES if s in suffixes]
    for section in report.sections:
        for figure in section.figures if drawn_as else ():
            drawn, fault = sized(figure.draw, inches, PAPER_POINTS)
            for suffix in drawn_as:
                save_sized(drawn, folder / f"{figure.name}.{suffix}")
            typer.echo(f"{folder / figure.name}.{', .'.join(drawn_as)}: {figure.caption}")
            if fault:
                typer.echo(f"{figure.name} {fault}; a larger --width has room for it", err=True)
        for table in section.tables if set_as else ():
            for suffix in set_as:
                save_table(table, folder / f"{table.name}.{suffix}")
            typer.echo(f"{folder / table.name}.{', .'.join(set_as)}: {table.caption}")


def _formats(text: str) -> set[str]:
    found, known = [name.strip().lower() for name in text.split(",")], {*_FIGURES, *_TABLES, *_METHODS}
    if unknown := [name for name in found if name not in known]:
        raise UserError(
            f"--format {text}: {unknown[0]!r} is none of {', '.join(sorted(known))}; write --format pdf,tex"
        )
    return {*found}


def _millimetres(width: str) -> float:
    length = re.fullmatch(r"(\d+(?:\.\d+)?) ?(mm|cm|in)", width.strip())
    found = float(length[1]) * MILLIMETRES[length[2]] if length else 0.0
    if not NARROWEST <= found <= WIDEST:
        raise UserError(
            f"--width {width}: no width from {NARROWEST} to {WIDEST} mm; "
            "write a number and its unit: 85mm, 3.35in"
        )
    return found
