"""souk view."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.common import DEFAULT_DB, Db, OneRun, open_records, open_run
from interventions.errors import UserError

if TYPE_CHECKING:
    from experiments.records.reading.trial_search import Selection
    from experiments.records.store import Records

DEFAULT_PORT = 8090


def view(
    run: OneRun = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", metavar="NAME=VALUE", help="Only such trials, as the table filters them; repeatable."
        ),
    ] = None,
    trial: Annotated[str | None, typer.Option(metavar="ID", help="Only this trial.")] = None,
    static: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Write the pages to a folder, or with --trial to one .html file; serve nothing.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes any that is free.")
    ] = DEFAULT_PORT,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
    db: Db = DEFAULT_DB,
) -> None:
    """Look at runs in the browser, from each number to the trials behind it, and note what you see.

    It answers this machine only. On another one, forward its port: ssh -L 8090:127.0.0.1:8090 MACHINE
    Examples:

      souk view

      souk view nudges --no-open --port 8091

      souk view nudges --where outcome=agent_error --where agent=openai:gpt-6-luna

      souk view nudges --static site/ && python3 -m http.server --directory site

      souk view nudges --trial 3aa2a3c4fa2926ab3fdf54f66d1eb883 --static trial.html

      souk view nudges.zip

      souk view --db postgresql://souk@localhost/souk
    """
    if run:
        records, found, *_ = open_run(run, db)
        run, db = found["run"], records.url
    else:
        records = open_records(db)
    records.read_only()
    wanted = _selection(records, run, where or (), trial) if run or where or trial or static else None
    if static and wanted:
        typer.echo(_write(records, wanted, trial, static))
    else:
        _serve(records, db, wanted, trial, port, no_open=no_open)


def _selection(
    records: "Records", run: str | None, where: list[str] | tuple[()], trial: str | None
) -> "Selection":
    """The trials that the options name. Raises UserError."""
    from experiments.records.reading.trial_search import FACETS, Selection
    from interventions.yaml.yaml_source import did_you_mean

    query = {}
    names = [*FACETS, "set", "q"]
    for text in where:
        name, equals, value = text.partition("=")
        if name not in names or not equals:
            hint = did_you_mean(name, names, noun="names") if equals else "write NAME=VALUE"
            raise UserError(f"--where {text}: there is nothing to filter by that name; {hint}")
        query[name] = value
    if trial and where:
        raise UserError(
            f"--trial {trial}: names one trial, which --where cannot filter; leave one of them out"
        )
    return Selection.of(records.latest_run(run)["run"], query)


def _write(records: "Records", wanted: "Selection", trial: str | None, path: Path) -> str:
    """Write the pages; return what is said of them. Raises UserError."""
    from experiments.console.progress import counting
    from experiments.viewer.site import write_site, write_trial

    if (path.suffix == ".html") is not bool(trial):
        raise UserError(
            f"--static {path}: one trial is written to one file, several to a folder; "
            "write --trial ID --static FILE.html, or --static FOLDER"
        )
    if trial:
        size = write_trial(records, wanted.run, trial, path)
        return f"{path}: {_megabytes(size)}; it needs no other file"
    with counting() as tell:
        trials, files, size = write_site(records, wanted, path, tell)
    number = f"{trials:,} trial{'s' * (trials != 1)} in {files:,} files"
    return (
        f"{path / 'index.html'}: {number}, {_megabytes(size)}\n"
        f"open it, put the folder on any host, or: python3 -m http.server --directory {path}"
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _serve(
    records: "Records", db: str, wanted: "Selection | None", trial: str | None, port: int, *, no_open: bool
) -> None:
    from experiments.console.listener import HOST, listen
    from experiments.viewer.links import Links
    from experiments.viewer.server import serve, show

    to = Links()
    path = to.runs()
    if wanted:
        path = to.trials(wanted) if wanted.query() else to.run(wanted.run)
        path = to.trial(wanted, trial) if trial else path
    with listen(port) as listener:
        address = f"http://{HOST}:{listener.getsockname()[1]}{path}"
        typer.echo(f"{address}\nCtrl-C ends it")
        sys.stdout.flush()
        if not no_open:
            show(address)
        serve(records, db, listener)
