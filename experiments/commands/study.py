"""souk study: people in the trials that agents have."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.common import DEFAULT_DB, AsJson, Db, open_records
from experiments.runs.interrupts import run_until_stopped
from interventions.errors import UserError

if TYPE_CHECKING:
    from experiments.people.administration import StudyBooks
    from experiments.people.identity import StudyKey

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
    from experiments.people.serving import key_of, key_path, prepared
    from experiments.people.study_file import PeopleStudy
    from experiments.records.store import Records

    found, records = PeopleStudy.load(file), Records(db)
    design, _ = prepared(found, records)
    key_of(records, design.run_id, found)
    key = key_path(records, design.run_id, found)
    people, size = found.file.participants, found.file.block.trials
    blocks = f"{people.blocks:,} blocks of {size} trials for {people.target:,} people"
    typer.echo(
        f"{found.name}: {blocks}, in {design.run_id}"
        f"\n  keep {key} safe: without it nobody can be found, paid or deleted"
    )


@app.command("serve")
def serve(
    file: StudyFile,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 8090,
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
    import asyncio

    from experiments.people.serving import served
    from experiments.people.study_file import PeopleStudy
    from experiments.records.store import Records

    async def serving() -> None:
        async with served(PeopleStudy.load(file), Records(db), port, public_url, reverse) as found:
            typer.echo(f"the study is at {found.address}/.souk/; Ctrl-C ends it", err=True)
            await asyncio.get_running_loop().create_future()

    try:
        run_until_stopped(serving())
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


@app.command("try")
def try_(
    file: StudyFile,
    people: Annotated[int, typer.Option(min=1, max=500, help="How many come.")] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Who comes when, and chooses what.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Send simulated people through the study, in real browsers, and check what must hold.

    They complete it, decline, fail the check, leave in a trial, reload, or open it twice. Everything is in a
    database of its own, which is deleted at the end.

    Examples:

      souk study try docs/people/study.yaml

      souk study try study.yaml --people 50
    """
    import json
    from tempfile import TemporaryDirectory

    from experiments.people.checks import tried
    from experiments.people.study_file import PeopleStudy

    found = PeopleStudy.load(file)
    with TemporaryDirectory(prefix="souk-try-") as folder:
        trying = tried(found, Path(folder), people, seed, lambda line: typer.echo(line, err=True))
        checks = run_until_stopped(trying)
    if as_json:
        typer.echo(json.dumps([{"check": what, "fault": fault} for what, fault in checks], indent=2))
    else:
        for what, fault in checks:
            typer.echo(f"{'no ' if fault else 'ok '} {what}{f': {fault}' if fault else ''}")
    if any(fault for _, fault in checks):
        raise typer.Exit(1)


@app.command("links")
def links(
    file: StudyFile,
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="A text file, a label a line.")],
    public_url: Annotated[
        str, typer.Option(metavar="URL", help="The origin of the study.")
    ] = "http://127.0.0.1:8090",
    db: Db = DEFAULT_DB,
) -> None:
    """Print a signed link for each label; a label is a person, and cannot be guessed from another link.

    Example: souk study links study.yaml labels.txt --public-url https://study.example.org
    """
    from experiments.people.identity import LABEL

    books, key = _books(file, db), _key(file, db)
    if books.study.file.source.kind != "labels":
        raise books.study.source.error(("source",), "links are for labels; write source: {kind: labels}")
    try:
        names = labels.read_text(encoding="utf-8-sig").split()
    except (OSError, UnicodeDecodeError):
        raise UserError(f"{labels}: cannot be read; name a text file, a label a line") from None
    for number, name in enumerate(names, 1):
        if not LABEL.fullmatch(name):
            raise UserError(f"{labels}:{number}: {name[:40]!r} is no label; use letters, digits, - and _")
    for name in names:
        typer.echo(f"{public_url.rstrip('/')}/.souk/?label={name}&sig={key.sign(name)}")


@app.command("status")
def status(file: StudyFile, as_json: AsJson = False, db: Db = DEFAULT_DB) -> None:
    """Show how the study goes: who is here, who has ended and how, the blocks that are left.

    Examples:

      souk study status study.yaml
    """
    import json

    found = _books(file, db).status()
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        said = "not known yet" if value is None else value
        if isinstance(value, dict):
            said = ", ".join(f"{each} {count:,}" for each, count in value.items()) or "none"
        typer.echo(f"{name.replace('_', ' '):>18}  {said}")


@app.command("payments")
def payments(
    file: StudyFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="A .csv file, only you can read it.")],
    platform: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The platform's submissions (.csv): who is not in it made up an id."
        ),
    ] = None,
    db: Db = DEFAULT_DB,
) -> None:
    """Write who is paid: the platform's ids, how each visit ended, and its code. Nothing else has these ids.

    Examples:

      souk study payments study.yaml --out payments.csv

      souk study payments study.yaml --platform submissions.csv --out payments.csv
    """
    import csv

    try:
        text = platform.read_text(encoding="utf-8-sig").splitlines() if platform else []
    except (OSError, UnicodeDecodeError):
        raise UserError(
            f"{platform}: cannot be read; name the .csv file that the platform gave you"
        ) from None
    known = {cell for row in csv.reader(text) for cell in row} if platform else None
    people, strange = _books(file, db).payments(out, _key(file, db), known)
    typer.echo(f"{out}: {people:,} people" + (f"; {strange:,} are not in {platform}" if platform else ""))


@app.command("export")
def export(
    file: StudyFile,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="A folder, or a .zip file.")],
    with_text: Annotated[
        bool, typer.Option("--with-text", help="Keep what people wrote; read it before you pass it on.")
    ] = False,
    db: Db = DEFAULT_DB,
) -> None:
    """Write participants, answers and events without what tells who somebody is; choices: souk export.

    Example: souk study export study.yaml --out people/
    """
    import shutil
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as made:
        is_zip = out.suffix == ".zip"
        found = _books(file, db).export(Path(made) if is_zip else out, with_text=with_text)
        if is_zip:
            shutil.make_archive(str(out.with_suffix("")), "zip", made)
    for name, rows in found.items():
        typer.echo(f"{out / name}.csv: {rows:,} rows")


@app.command("forget")
def forget(
    file: StudyFile,
    person: Annotated[str | None, typer.Argument(metavar="[PERSON]", help="A participant, or an id.")] = None,
    asked: Annotated[
        bool, typer.Option("--asked", help="All who asked for it at the end; write the payments before.")
    ] = False,
    all_keys: Annotated[
        bool, typer.Option("--all-keys", help="Delete the key and all ids: the study is anonymous then.")
    ] = False,
    db: Db = DEFAULT_DB,
) -> None:
    """Delete all that is stored of a person; of the trials their places in the design stay.

    Copies of the database, such as backups, are yours to delete.

    Examples:

      souk study forget study.yaml p3f21c09aa

      souk study forget study.yaml --asked

      souk study forget study.yaml --all-keys
    """
    books = _books(file, db)
    if bool(person) + asked + all_keys != 1:
        raise UserError("souk study forget: name a person, or add --asked or --all-keys")
    if not all_keys:
        names = books.asked_to_be_forgotten() if asked else [books.person(str(person), _key(file, db))]
        for name, trials in books.forget(*names).items():
            typer.echo(f"{name}: deleted; {trials:,} trials are withdrawn")
        who = "1 person is" if len(names) == 1 else f"{len(names):,} people are"
        typer.echo(f"{who} forgotten here; delete what your backups have of them too")
        return
    from experiments.people.serving import key_path

    books.anonymise()
    key_path(books.records, books.run, books.study).unlink(missing_ok=True)
    typer.echo(f"{books.study.name}: anonymous; nobody can be found, paid or deleted any more")


@app.command("close")
def close(file: StudyFile, db: Db = DEFAULT_DB) -> None:
    """Let nobody begin any more; who has begun may end.

    Example: souk study close study.yaml
    """
    books = _books(file, db)
    books.register.close()
    typer.echo(f"{books.study.name}: closed; who has begun may end")


def _books(file: Path, db: str) -> "StudyBooks":
    from experiments.people.administration import StudyBooks
    from experiments.people.study_file import PeopleStudy

    return StudyBooks(PeopleStudy.load(file), open_records(db))


def _key(file: Path, db: str) -> "StudyKey":
    from experiments.people.identity import StudyKey
    from experiments.people.serving import key_path

    books = _books(file, db)
    return StudyKey(key_path(books.records, books.run, books.study))
