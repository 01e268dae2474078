"""souk doctor."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.common import AsJson, checked_database
from experiments.runs.interrupts import run_until_stopped

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.commands.checks import CheckResult


def doctor(
    db: Annotated[
        str | None,
        typer.Option("--db", metavar="URL", help="Check this database of runs, too, as souk db check does."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check browser, proxy, ports, folder, programs and keys; say how to fix what is missing.

    Example: souk doctor --db sqlite:///runs/souk.db
    """
    from experiments.commands.checks import CheckResult, check_machine
    from experiments.console.terminal import stdout_console

    of_database = checked_database(db) if db else []
    checks = run_until_stopped(check_machine())
    checks += [CheckResult(f"database {each.name}", each.ok, each.found, each.fix) for each in of_database]
    if as_json:
        typer.echo(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        stdout_console().print(_table(checks))
    raise typer.Exit(any(check.ok is False for check in checks))


def _table(checks: Sequence["CheckResult"]) -> "Table":
    """The doctor's findings."""
    from rich.markup import escape

    from experiments.console.terminal import new_table

    table = new_table("", "", "check", "found", "fix")
    marks = {True: "[green]ok[/green]", False: "[red]no[/red]", None: "[yellow]--[/yellow]"}
    for check in checks:
        table.add_row(marks[check.ok], check.name, escape(check.found), escape(check.fix))
    return table
