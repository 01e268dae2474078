"""souk export: the tidy table of a run, or a trace of its trials."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments.commands.common import DEFAULT_DB, Db, OneRun, Site, open_run
from interventions.errors import UserError


def export(
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="A .parquet or .csv file; of a trace .jsonl, .zip or .har."
        ),
    ],
    named: OneRun = None,
    trace: Annotated[
        Literal["otlp", "playwright", "har"] | None,
        typer.Option(help="Write what happened when: spans, a trace of Playwright, or the pages seen."),
    ] = None,
    trial: Annotated[str | None, typer.Option(metavar="ID", help="Only the trace of this trial.")] = None,
    codebook: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what each column is to this .csv, or to .md with a data sheet.",
        ),
    ] = None,
    db: Db = DEFAULT_DB,
    site: Site = None,
) -> None:
    """Write the tidy table: a row per option shown in a trial, question that was asked, or scored target.

    Examples:

      souk export nudges --out nudges.parquet

      souk export nudges --out nudges.csv --site site/

      souk export nudges --out nudges.csv --codebook nudges.md

      souk export nudges --trace otlp --out nudges.jsonl

      souk export nudges --trace playwright --trial 3aa2a3c4fa2926ab3fdf54f66d1eb883 --out trial.zip
    """
    from experiments.commands.traces import write_trace

    if trace:
        if site or codebook:
            raise UserError(f"--trace {trace}: a trace has no columns; leave out --site and --codebook")
        run = open_run(named, db)
        typer.echo(write_trace(run.records, run.found, trace, trial, out))
        return
    if trial:
        raise UserError(f"--trial {trial}: a table is of all trials; write --trace too, or leave it out")
    _export_table(out, named, db, site, codebook)


def _export_table(out: Path, run: str | None, db: str, site: str | None, codebook: Path | None) -> None:
    from experiments.plans.codebook import check_suffix, write_codebook
    from experiments.records.reading.notes import with_notes
    from experiments.records.reading.tidy_tables import write_table
    from experiments.records.record import kind_of
    from experiments.studies.kinds import study_of
    from experiments.viewer.site_address import SiteAddress

    if codebook:
        check_suffix(codebook)
    pages = SiteAddress(site, out.parent) if site else None
    records, found, *_ = open_run(run, db)
    with records.reading():  # one state of a run that goes on
        table = study_of(kind_of(found)).table(records, found["run"])
        table = with_notes(records, found["run"], table)
    if pages:
        table["trial_url"] = pages.of_trials(table["trial"])
    write_table(table, out)
    if codebook:
        write_codebook(records, found, table, codebook)
    typer.echo(f"{out}: {len(table):,} rows, {table['trial'].nunique():,} trials of run {found['run']}")
