"""souk study: people in the trials that agents have."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import DEFAULT_DB, Db
from experiments.runs.interrupts import run_until_stopped

app = typer.Typer(no_args_is_help=True, help="Let people take part in the trials that agents have.")
StudyFile = Annotated[Path, typer.Argument(metavar="FILE", help="The study's YAML file.")]


@app.callback()
def study() -> None:
    """Let people take part in the trials that agents have."""


@app.command("prepare")
def prepare(file: StudyFile, db: Db = DEFAULT_DB) -> None:
    """Share the trials among people, a balanced block each, and store the blocks.

    Examples:

      souk study prepare docs/people/study.yaml
    """
    from experiments.people.identity import StudyKey
    from experiments.people.serving import key_file, prepared
    from experiments.people.study_file import Study
    from experiments.records.store import Records

    found, records = Study.load(file), Records(db)
    design, _ = prepared(found, records)
    key = key_file(records, design, found)
    StudyKey.make(key)
    people, size = found.file.participants, found.file.block.trials
    typer.echo(
        f"{found.name}: {people.blocks:,} blocks of {size} trials for {people.target:,} people, in {design.run_id}"
        f"\n  keep {key} safe: without it nobody can be found, paid or deleted"
    )


@app.command("serve")
def serve(
    file: StudyFile,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 8090,
    public_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The https:// origin of the front server, e.g. https://study.example.org."
        ),
    ] = None,
    reverse: Annotated[
        str | None, typer.Option(metavar="URL", help="A shop that runs already; else the embedded one.")
    ] = None,
    db: Db = DEFAULT_DB,
) -> None:
    """Serve the study to people until Ctrl-C. Who has begun goes on after the next start.

    Examples:

      souk study serve docs/people/study.yaml

      souk study serve study.yaml --public-url https://study.example.org
    """
    from experiments.people.serving import serve_study
    from experiments.people.study_file import Study
    from experiments.records.store import Records

    def ready(address: str) -> None:
        typer.echo(f"the study is at {address}/.souk/; Ctrl-C ends it", err=True)

    try:
        run_until_stopped(serve_study(Study.load(file), Records(db), port, public_url, ready, reverse))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
