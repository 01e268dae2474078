"""souk db: check, repair, shrink and move a database of runs."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.common import DEFAULT_DB, AsJson, Db, checked_database, open_records
from interventions.errors import UserError

if TYPE_CHECKING:
    from experiments.records.integrity.check import Finding

app = typer.Typer(no_args_is_help=True, help="Check, repair, shrink and move a database of runs.")


@app.command("check")
def check(
    repair: Annotated[bool, typer.Option("--repair", help="Then keep what is as it was stored.")] = False,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Give the space back that deleted runs have left.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Repair without asking; for scripts.")] = False,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> None:
    """Check a database: its structure, its tables, and whether all that is stored is as it was stored.

    Without --repair and --shrink nothing is changed, and runs may go on. The status is 2 if something is
    damaged. --repair says what is lost, and the same souk run runs lost trials again; a damaged SQLite file
    stays beside the new one, as FILE.damaged. --shrink leaves a database alone that a run uses.

    Examples:

      souk db check --db sqlite:///study.db

      souk db check --repair
    """
    if repair:
        _repair(db, yes=yes)
        findings = []
    else:
        findings = _check(db, as_json=as_json)
    if shrink and all(finding.ok for finding in findings):
        _shrink(db)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 2)


def _check(db: str, *, as_json: bool) -> "list[Finding]":
    findings = checked_database(db)
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    return findings


def _repair(db: str, *, yes: bool) -> None:
    from experiments.console.progress import counting
    from experiments.records.integrity.upkeep import repair as repair_database

    findings = checked_database(db)
    _print(findings)
    if all(finding.ok for finding in findings):
        typer.echo("nothing to repair")
        return
    if not yes:
        if not sys.stdin.isatty():
            raise UserError(f"--db {db}: to repair it where nobody can be asked, add --yes")
        typer.confirm("Repair it?", abort=True)
    with counting() as progress:
        done = repair_database(db, progress)
    found = done.found
    typer.echo(
        f"repaired: {found.trials:,} trials kept, {found.lost:,} lost; {found.pages:,} pages kept, "
        f"{len(found.damaged_pages):,} lost, {len(found.unnamed):,} that no trial shows removed"
    )
    for run in found.lost_runs:
        typer.echo(f"the facts of run {run} are lost: the same souk run writes them again")
    for run, names in sorted(found.damaged.items()):
        typer.echo(f"{run}: the same souk run runs {len(names):,} lost trials again")
    if done.old:
        typer.echo(f"the damaged file is now {done.old}")


def _shrink(db: str) -> None:
    from experiments.console.terminal import waiting
    from experiments.records.integrity.upkeep import vacuum as vacuum_database

    with waiting("giving space back ..."):
        before, after = vacuum_database(open_records(db))
    typer.echo(f"{max(0, before - after):,} bytes freed: {before:,} before, {after:,} now")


@app.command("move")
def move(
    to: Annotated[
        str, typer.Argument(metavar="TO", help="The new database, e.g. postgresql://USER@HOST/NAME.")
    ],
    db: Db = DEFAULT_DB,
) -> None:
    """Copy all runs, with their pages, to a new database, and check the copy. The old one stays as it is.

    Example: souk db move postgresql://souk@localhost/souk
    """
    from experiments.console.progress import counting
    from experiments.records.errors import without_password
    from experiments.records.integrity.upkeep import move as move_database

    records = open_records(db)
    with counting() as progress:
        found = move_database(records, to, progress)
    findings = checked_database(to)
    if not all(finding.ok for finding in findings):
        _print(findings)
        raise typer.Exit(2)
    shown = without_password(to)
    counted = f"{len(found.runs):,} runs, {found.trials:,} trials and {found.pages:,} pages"
    typer.echo(f"{shown}: {counted}, checked")
    typer.echo(f"the old database stays: {records.url}; from now on give --db {shown}")


def _print(findings: "list[Finding]") -> None:
    for finding in findings:
        fix = f"; {finding.fix}" if finding.fix else ""
        typer.echo(f"{'ok' if finding.ok else 'no'}  {finding.name}: {finding.found}{fix}")
