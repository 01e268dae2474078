"""souk analyze, souk report and souk export: from stored runs, or any tidy tables, to effects."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import (
    DEFAULT_DB,
    AsJson,
    Db,
    Out,
    Run,
    analyze_run,
    open_records,
    read_all,
    show,
    write,
)

app = typer.Typer(no_args_is_help=True, help="Estimate effects from a run or from any tidy table.")


@app.command("choice")
def choice(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Tidy tables (CSV or Parquet); a stored run by default.")
    ] = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """What moves the choices: linear probability model with trial fixed effects, in percentage points.

    Examples:

      souk analyze choice

      souk analyze choice --db sqlite:///t.db --run nudges --json

      souk analyze choice other-study.csv --out report/
    """
    from analysis.choice import analyze_choice

    if files:
        analysis = analyze_choice(read_all(files))
        show(analysis, {"tables": ", ".join(map(str, files))}, out, as_json=as_json)
        return
    records = open_records(db)
    found = records.latest_run(run)
    analyze_run(records, found["run"], out, as_json=as_json)


def report(
    files: Annotated[list[Path] | None, typer.Argument(help="Tidy tables; a stored run by default.")] = None,
    db: Db = DEFAULT_DB,
    run: Run = None,
    out: Out = None,
) -> None:
    """Write the HTML report and the figures of a run, or of any tidy tables.

    Example: souk report --run nudges --out report/
    """
    from analysis.choice import analyze_choice
    from experiments.output import run_facts, run_folder
    from experiments.tidy import receipts_table, tidy_table

    if files:
        analysis = analyze_choice(read_all(files))
        path = write(analysis, {"tables": ", ".join(map(str, files))}, out or Path("report"))
    else:
        records = open_records(db)
        found = records.latest_run(run)
        table = tidy_table(records, found["run"])
        analysis = analyze_choice(table, receipts_table(records, found["run"]))
        path = write(analysis, run_facts(found), out or run_folder(found["run"]))
    typer.echo(path)


def export(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="A .parquet or .csv file.")],
    db: Db = DEFAULT_DB,
    run: Run = None,
) -> None:
    """Write the tidy table: one row per option shown in a trial.

    Example: souk export --db sqlite:///t.db --out t.parquet
    """
    from experiments.tidy import tidy_table, write_table

    records = open_records(db)
    found = records.latest_run(run)
    table = tidy_table(records, found["run"])
    write_table(table, out)
    typer.echo(f"{out}: {len(table):,} rows, {table['trial'].nunique():,} trials of run {found['run']}")
