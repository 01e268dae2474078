"""souk runs: delete or rename a stored run, and merge its parts."""

import sys
from typing import Annotated

import typer

from experiments.commands.common import DEFAULT_DB, Db, NamedRun, open_records
from interventions.errors import UserError

app = typer.Typer(no_args_is_help=True, help="Manage stored runs; [bold]souk status[/bold] lists them.")


@app.callback()
def runs() -> None:
    """Manage stored runs."""


@app.command("delete")
def delete(
    run: NamedRun,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; for scripts.")] = False,
    db: Db = DEFAULT_DB,
) -> None:
    """Delete one run from the database: its trials, receipts, calls and pages. There is no way back.

    A run that a process is at work on is never deleted. The folder with its reports stays.

    Example: souk runs delete nudges-my-agent
    """
    from experiments.records.integrity.deletion import delete_run

    records = open_records(db)
    found = records.latest_run(run)
    counts = records.outcomes(found["run"])
    what = f"{found['run']}, started {found['started_at']}, {sum(counts.values()):,} trials"
    if not yes:
        if not sys.stdin.isatty():
            raise UserError(f"{what}: to delete it where nobody can be asked, add --yes")
        typer.confirm(f"{what}: delete it for ever?", abort=True)
    pages = delete_run(records, found["run"])
    typer.echo(f"deleted: {what}, {pages:,} pages that no other run holds")
    folder = records.folder(found["run"])
    if folder.is_dir():
        typer.echo(f"its folder stays: {folder}")


@app.command("rename")
def rename(
    run: NamedRun,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and dashes.")],
    db: Db = DEFAULT_DB,
) -> None:
    """Give a stored run another name, by which commands find it; its id and its folder stay.

    Example: souk runs rename nudges-593302b1 nudges-may
    """
    from experiments.designs.inputs.experiment_file import check_name
    from experiments.records.integrity.upkeep import rename_run
    from experiments.records.reading.queries import run_names

    try:
        check_name(name)
    except ValueError as error:
        raise UserError(str(error)) from None
    records = open_records(db)
    found = records.latest_run(run)["run"]
    if name != found and run_names(records, name):
        raise UserError(f"{name}: the id of another run, which is found by it first; choose another name")
    rename_run(records, found, name)
    typer.echo(f"{found}: named {name}")
    records.latest_run(name)  # which tells of others of this name


@app.command("merge")
def merge(
    run: NamedRun,
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="The database whose trials of the run come along.")
    ],
    db: Db = DEFAULT_DB,
) -> None:
    """Add the trials of the same run in another database to this one, which stays as it is otherwise.

    One experiment gives the same run on any machine: agents, or parts of its trials, may be run on several.

    Example: souk runs merge nudges sqlite:///other-machine.db
    """
    from experiments.commands.common import checked_database
    from experiments.console.progress import counting
    from experiments.records.integrity.merging import merge_run

    records = open_records(db)
    if bad := [finding for finding in checked_database(source) if not finding.ok]:
        raise UserError(f"{source}: {bad[0].name}: {bad[0].found}; {bad[0].fix}")
    with counting() as tell:
        number = merge_run(open_records(source), records, run, tell)
    typer.echo(f"{records.latest_run(run)['run']}: {number:,} trials were added")
