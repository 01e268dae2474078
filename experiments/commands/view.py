"""souk view."""

import sys
from typing import Annotated

import typer

from experiments.commands.common import DEFAULT_DB, Db, OneRun, open_records

DEFAULT_PORT = 8090


def view(
    run: OneRun = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes any that is free.")
    ] = DEFAULT_PORT,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
    db: Db = DEFAULT_DB,
) -> None:
    """Look at runs in the browser, from each number to the trials behind it. Changes nothing.

    It answers this machine only. On another one, forward its port: ssh -L 8090:127.0.0.1:8090 MACHINE
    Examples:

      souk view

      souk view nudges --no-open --port 8091

      souk view --db postgresql://souk@localhost/souk
    """
    from experiments.viewer.links import Links
    from experiments.viewer.server import HOST, listen, serve, show

    records = open_records(db)
    to = Links()
    path = to.run(records.latest_run(run)["run"]) if run else to.runs()
    records.read_only()
    with listen(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}{path}"
        typer.echo(f"{address}\nCtrl-C ends it")
        sys.stdout.flush()
        if not no_open:
            show(address)
        serve(records, db, listener)
