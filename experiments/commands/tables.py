"""souk tables."""

from typing import Annotated

import typer

from experiments.commands.common import (
    DEFAULT_DB,
    Agents,
    Db,
    Excluded,
    OneRun,
    Out,
    Renamed,
    files_of,
    formats_in,
    open_records,
    report_for_paper,
)
from interventions.errors import UserError


def tables(
    named: OneRun = None,
    formats: Annotated[
        str,
        typer.Option("--format", metavar="LIST", help="tex, docx (Word); both with a comma between."),
    ] = "tex",
    rename: Renamed = None,
    agent: Agents = None,
    exclude: Excluded = None,
    out: Out = None,
    db: Db = DEFAULT_DB,
) -> None:
    """Write the tables of a run's report for a paper, one file each.

    Examples:

      souk tables nudges

      souk tables nudges --format tex,docx --rename openai:gpt-4.1-mini="GPT-4.1 mini"
    """
    from analysis.reporting.paper_tables import FORMATS, save_table

    suffixes = formats_in(formats, FORMATS, "--format tex,docx")
    records = open_records(db)
    found = records.latest_run(named)
    folder = out or records.folder(found["run"]) / "tables"
    report = report_for_paper(records, found, agent, exclude, rename)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for each in (table for section in report.sections for table in section.tables):
            for suffix in suffixes:
                save_table(each, folder / f"{each.name}.{suffix}")
            typer.echo(f"{files_of(folder / each.name, suffixes)}: {each.caption}")
    except OSError as error:
        raise UserError(
            f"--out {folder}: cannot be written ({error.strerror}); choose another folder"
        ) from None
