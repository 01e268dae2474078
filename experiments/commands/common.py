"""Options that several commands share, and how an analysis is shown and written."""

import atexit
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from experiments.commands.completion import experiment_names, run_names
from interventions.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame

    from analysis.reporting.registered import Registration
    from analysis.reporting.sections import Report
    from experiments.records.integrity.check import Finding
    from experiments.records.store import Records
    from experiments.studies.kinds import StudyAnalysis

DEFAULT_DB = "sqlite:///runs/souk.db"
REPORT = "report.html"
CONTENTS = ".report-files"
"""The file in a report's folder with the names of the report's files, one a line."""

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
    bool, typer.Option("--all", help="Print every table of the report, not only the answer.")
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


def open_run(name: str | None, db: str) -> "tuple[Records, dict[str, Any], bool]":
    """Open the database, and return it with the row of a run, and whether it was made of an archive.

    name: an id or a name; None: the latest run; else the path of a .zip of `souk bundle`, which is made a
    database for the time of the command. Raises UserError.
    """
    if not (name and is_bundle(name)):
        records = open_records(db)
        return records, records.latest_run(name), False
    from experiments.bundles.verify import opened_bundle

    opened = ExitStack()
    atexit.register(opened.close)
    with estimating():
        made = opened.enter_context(opened_bundle(Path(name), partial(typer.echo, err=True)))
    return made, made.latest_run(), True


def is_bundle(name: str) -> bool:
    """Return whether a word names an archive of a run."""
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


def run_or_files(named: list[str] | None) -> tuple[str | None, list[Path]]:
    """Return what arguments name: a stored run (None: the latest), or tables.

    A word that is no path names a run, and so does the path of an archive.

    Raises:
        UserError: two runs are named, or one together with tables.
    """
    files, runs = tables_among(named or ())
    if len(runs) + bool(files) > 1:
        raise UserError(f"{' '.join(map(str, [*files, *runs]))}: name one run, or tables, and not both")
    return (runs[0] if runs else None), files


def tables_among(words: Iterable[str]) -> tuple[list[Path], list[str]]:
    """Return the words that are paths of tables, and those that name runs, each once."""
    paths = [Path(word) for word in dict.fromkeys(words)]
    files = [
        path
        for path in paths
        if (path.suffix or len(path.parts) > 1 or path.exists()) and not is_bundle(path.name)
    ]
    return files, [str(path) for path in paths if path not in files]


def analyze_stored(
    records: "Records", found: dict[str, Any], out: Path | None, *, as_json: bool, everything: bool = False
) -> None:
    """Analyse a stored run by its kind of study, and show the analysis."""
    from experiments.plans.registered import registered_results, unregistered
    from experiments.records.record import kind_of
    from experiments.studies.kinds import analyze_run
    from experiments.studies.printing import run_facts

    with estimating():
        analysis = analyze_run(records, found)
        known = registered_results(records, found, analysis)
    folder = out or records.folder(found["run"])
    show(
        analysis,
        kind_of(found),
        run_facts(found),
        folder,
        as_json=as_json,
        everything=everything,
        known=known,
        note=unregistered(records, found),
    )


@contextmanager
def estimating() -> Iterator[None]:
    """Show on a terminal, within the block, that an analysis is being computed."""
    from experiments.console.terminal import waiting

    with waiting("estimating, and drawing the figures ..."):
        yield


def show(
    analysis: "StudyAnalysis",
    kind: str,
    facts: dict[str, Any],
    out: Path | None,
    *,
    as_json: bool,
    everything: bool = False,
    known: "tuple[Registration, DataFrame] | None" = None,
    note: str = "",
    models: "DataFrame | None" = None,
    made: "Report | None" = None,
) -> None:
    """Print the answer of an analysis, or everything, and write its report, tables and figures.

    known, note: the registered results, or why there are none, for `report_of`. models: a table of facts of
    the agents' models, which gives the report a section. made: the report, where the analysis is of several
    studies.

    Raises:
        UserError: the report could not be written; the answer is printed all the same.
    """
    from analysis.reporting.by_model import by_model
    from analysis.reporting.to_json import to_json
    from experiments.plans.registered import registered_data, report_of
    from experiments.studies.kinds import study_of

    failed: UserError | None = None
    with estimating():
        report = made or report_of(kind, analysis, known, note)
        if models is not None:
            more = by_model(vars(analysis), study_of(kind).by_agent, models)
            report = replace(report, sections=(*report.sections, more))
        try:
            path = write(report, study_of(kind).title, facts, out) if out else None
        except UserError as error:
            failed, path, out = error, None, None
    if as_json:
        told = {"answer": report.answer, "facts": facts, "report": str(path) if path else None}
        told |= {"registered": registered_data(known)} if known else {}
        told |= json.loads(to_json({"by_model": more.tables[0].frame})) if models is not None else {}
        typer.echo(json.dumps({**json.loads(analysis.to_json()), **told}, indent=2))
    else:
        _print(report, analysis.notes, out, path, everything=everything)
    if failed:
        raise failed


def _print(
    report: "Report", notes: Sequence[str], out: Path | None, path: Path | None, *, everything: bool
) -> None:
    from experiments.console.terminal import stdout_console
    from experiments.studies.printing import print_everything, print_report

    console = stdout_console()
    if everything:
        print_everything(console, report, out)
        for line in notes:
            console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
    else:
        print_report(console, report, out)
    others = sum(not each.detail for section in report.sections for each in section.tables) - 1
    more = "" if everything else f"{others} more tables with --all; "
    where = f"report: {escape(str(path))}" if path else "a report with --out DIR"
    console.print(f"{more}{where}", highlight=False, soft_wrap=True)


def write(
    report: "Report",
    title: str,
    facts: dict[str, Any],
    folder: Path,
    trials: str | None = None,
    names: Mapping[str, str] | None = None,
) -> Path:
    """Write the report, and each table and figure as a file, in the place of those written before.

    trials, names: the addresses of pages of the trials, and of those that a cell of a table names.

    They are made in another folder first, so that a failure leaves the folder as it was.
    """
    from analysis.reporting.html import write_files, write_report

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".new-report-", dir=folder) as aside:
            whole = f"{title}: {facts.get('run', 'tables')}"
            write_report(Path(aside, REPORT), whole, facts, report, trials, names)
            write_files(aside, report.sections)
            _replace(folder, Path(aside))
    except OSError as error:
        raise UserError(
            f"--out {folder}: the report cannot be written ({error.strerror}); make room, or choose another "
            "folder"
        ) from None
    return folder / REPORT


def _replace(folder: Path, aside: Path) -> None:
    """Move the files to their folder, and remove those of an earlier report that this one does not have."""
    names = {path.name for path in aside.iterdir()}
    contents = folder / CONTENTS
    before = contents.read_text(encoding="utf-8", errors="replace").splitlines() if contents.exists() else []
    # All of both are ours until the move is over: what is cut short is put right by the next report.
    contents.write_text("\n".join(sorted({*names, *before})) + "\n", encoding="utf-8")
    for name in sorted(names):
        (aside / name).replace(folder / name)
    for name in before:  # a stranger may have written the list
        if name not in names and Path(name).name == name and (folder / name).is_file():
            (folder / name).unlink()
    contents.write_text("\n".join(sorted(names)) + "\n", encoding="utf-8")
