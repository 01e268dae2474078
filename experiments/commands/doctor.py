"""souk doctor."""

import asyncio
import json

import typer

from experiments.commands.common import AsJson


def doctor(as_json: AsJson = False) -> None:
    """Check browser, proxy, ports, folder and keys; say how to mend what is missing."""
    from experiments import output
    from experiments.doctor import check_machine
    from experiments.terminal import stdout_console

    checks = asyncio.run(check_machine())
    if as_json:
        typer.echo(json.dumps([output.check_dict(check) for check in checks], indent=2))
    else:
        stdout_console().print(output.checks_table(checks))
    raise typer.Exit(any(check.ok is False for check in checks))
