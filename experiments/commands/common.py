"""Options that several commands share, and how what they name is opened."""

import atexit
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.completion import experiment_names, run_names
from interventions.errors import UserError

if TYPE_CHECKING:
    from experiments.records.integrity.check import Finding
    from experiments.records.store import Records
    from experiments.studies.stored_studies import StoredRun, StoredStudy

DEFAULT_DB = "sqlite:///runs/souk.db"

Db = Annotated[str, typer.Option("--db", metavar="URL", help="Database of runs, e.g. sqlite:///t.db.")]
OneRun = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="Id or name; the latest by default.", autocompletion=run_names),
]
NamedRun = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="Id, or the name: the latest run of this name.", autocompletion=run_names
    ),
]
Experiment = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT",
        help="A shipped experiment (nudges) or a YAML file.",
        autocompletion=experiment_names,
    ),
]
RunOrFiles = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RUNS | FILES...]",
        help="Runs (ids or names), their .zip of souk bundle, or tables; the latest run by default.",
        autocompletion=run_names,
    ),
]
Kind = Annotated[
    str | None,
    typer.Option("--as", metavar="KIND", help="How tables are analysed; a run has its own kind of study."),
]
Agents = Annotated[
    list[str] | None,
    typer.Option("--agent", "-a", metavar="NAME", help="Only the trials of this agent; repeatable."),
]
Excluded = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="NAME", help="Leave out the trials of this agent; repeatable."),
]
Margin = Annotated[
    float | None,
    typer.Option(
        min=0.1, max=99, metavar="POINTS", help="Test too whether effects are smaller than this: equivalence."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set a key of the experiment's file, such as limits.steps=5; repeatable.",
    ),
]
Wave = Annotated[
    str | None,
    typer.Option(
        metavar="DATE",
        help="The same study at another date, such as 2026-12: a run of its own, NAME-DATE.",
    ),
]
WHERE = "Where the proxy stands"
Reverse = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Stand for this shop: open the proxy's own address instead of the shop's. "
        "shop: the embedded one, which is started.",
        rich_help_panel=WHERE,
    ),
]
AuthorityFolder = Annotated[
    Path | None,
    typer.Option(
        "--ca",
        metavar="DIR",
        help="Keep the certificate authority in this folder. Default: a new one for each run.",
        rich_help_panel=WHERE,
    ),
]
Detached = Annotated[
    bool,
    typer.Option(
        "--detach",
        help="Go on in the background once it answers; souk proxy stop ends it.",
        rich_help_panel=WHERE,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Everything = Annotated[
    bool,
    typer.Option("--all", help="Print every table of the report, except long tables of details."),
]
UpstreamCa = Annotated[
    Path | None,
    typer.Option(
        "--upstream-ca", metavar="FILE", help="Trust shops with certificates of these authorities too (PEM)."
    ),
]
Site = Annotated[
    str | None,
    typer.Option(
        metavar="DIR|URL",
        help="Link to the pages of trials that souk view --static has written, or to their host.",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for reports and figures.")]


def pair(option: str, text: str) -> tuple[str, str]:
    """Return the two sides of an option's value AGENT=VALUE. Raises UserError."""
    name, _, value = text.rpartition("=")
    if not name or not value:
        raise UserError(f"{option} {text}: write the agent, an equals sign and the value: openai:small=8")
    return name, value


def open_records(db: str) -> "Records":
    """Open the database.

    Raises UserError for one that does not exist, or has no tables: reading must not create any.
    """
    from experiments.records.store import Records

    _require_database(db)
    return Records(db, create=False)


def open_run(name: str | None, db: str) -> "StoredRun":
    """Open the database, and return it with the row of a run.

    name: an id or a name; None: the latest run; else the path of a .zip of `souk bundle`, which is made a
    database for the time of the command. Raises UserError.
    """
    from experiments.studies.stored_studies import StoredRun

    if not (name and _is_bundle(name)):
        records = open_records(db)
        found = records.latest_run(name)
        return StoredRun(records, found, records.folder(found["run"]), found["name"])
    from experiments.bundles.verify import opened_bundle

    opened = ExitStack()
    atexit.register(opened.close)
    with estimating():
        records = opened.enter_context(opened_bundle(Path(name), partial(typer.echo, err=True)))
    found = records.latest_run()
    return StoredRun(records, found, None, found["name"])


def named_studies(words: Sequence[str] | None, db: str, kind: str | None = None) -> "list[StoredStudy]":
    """Open the studies that words name, each once: tables, runs and archives of runs; else the latest run.

    kind: as which runs are analysed that can be of several kinds (see `StoredRun.as_kind`). A name that
    several have is told by the id of the run, and then by the path. Raises UserError.
    """
    from experiments.studies.stored_studies import StoredTable

    found: list[StoredStudy] = []
    names = []
    for word in dict.fromkeys(words or ()):
        path = Path(word)
        if (path.suffix or len(path.parts) > 1 or path.exists()) and not _is_bundle(word):
            found.append(StoredTable(path, path.stem))
            names.append([path.stem, str(path)])
        else:
            found.append(run := open_run(word, db))
            names.append([run.name, run.found["run"], *([word] if _is_bundle(word) else [])])
    known = Counter(name for own in names for name in {*own})
    named = [
        each._replace(name=next((name for name in own if known[name] == 1), own[-1]))
        for each, own in zip(found, names, strict=True)
    ]
    return [each.as_kind(kind) for each in named or [open_run(None, db)]]


def _is_bundle(name: str) -> bool:
    return name.endswith(".zip")


def _require_database(db: str) -> None:
    """Raise UserError for a SQLite file that does not exist."""
    from experiments.records.database import file_of

    file = file_of(db)
    if file and not file.exists() and not file.with_name(f"{file.name}-wal").exists():
        raise UserError(f"--db {db}: no such file; run an experiment first: souk run nudges --db {db}")


def checked_database(db: str) -> "list[Finding]":
    """Check everything in a database of runs, with what is done shown on stderr. Raises UserError."""
    from experiments.console.progress import counting
    from experiments.records.integrity.check import check_database

    _require_database(db)
    with counting() as progress:
        return check_database(db, progress)


@contextmanager
def estimating() -> Iterator[None]:
    """Show on a terminal, within the block, that an analysis is being computed."""
    from experiments.console.terminal import waiting

    with waiting("estimating, and drawing the figures ..."):
        yield
