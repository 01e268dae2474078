"""Results of studies that a command names: analysed, shown, and written as a report."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.markup import escape

from experiments.commands.common import estimating
from interventions.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame

    from analysis.reporting.sections import Report
    from experiments.studies.kinds import StudyAnalysis
    from experiments.studies.stored_studies import StoredStudy

REPORT = "report.html"
CONTENTS = ".report-files"
"""The file in a report's folder with the names of the report's files, one a line."""


class StudyResults(NamedTuple):
    """An analysis, its report under a title, what the report says of its studies, and more for JSON."""

    analysis: "StudyAnalysis"
    report: "Report"
    title: str
    facts: Mapping[str, Any]
    more: Mapping[str, Any]


def analysed(
    studies: Sequence["StoredStudy"],
    kind: str,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    models: "DataFrame | None" = None,
    *,
    beside: bool = False,
) -> StudyResults:
    """Analyse one study, or several side by side.

    options: of the kind's analysis. models: facts of the agents' models, for one study. beside: name the
    study in each row also where there is one. Raises UserError and AnalysisError.
    """
    from analysis.reporting.by_model import by_model
    from analysis.reporting.to_json import to_json
    from experiments.plans.registered import registered_data, registered_results, report_of, unregistered
    from experiments.studies.kinds import analyze_run, read_tables, study_of
    from experiments.studies.side_by_side import side_by_side
    from experiments.studies.stored_studies import StoredRun

    study, given = study_of(kind), dict(options or {})
    facts, more = study_facts(studies, only, without), dict[str, Any]()
    with estimating():
        if beside or len(studies) > 1:
            several = side_by_side(kind, [each.of_kind(kind) for each in studies], only, without, **given)
            return StudyResults(several, several.report, study.title, facts, more)
        joined = models is not None and "models" in signature(study.analyze).parameters
        every = given | ({"models": models} if joined else {})
        if isinstance(one := studies[0], StoredRun):
            analysis = analyze_run(one.records, one.found, only, without, **every)
            known = registered_results(
                one.records, one.found, analysis, only=only, without=without, options=given
            )
            report = report_of(kind, analysis, known, unregistered(one.records, one.found))
            more |= {"registered": registered_data(known)} if known else {}
        else:
            analysis = study.analyze(read_tables(kind, [one.path], only, without), **every)
            report = study.report(analysis)
        if models is not None:
            section = by_model(vars(analysis), study.by_agent, models)
            report = replace(report, sections=(*report.sections, section))
            more |= json.loads(to_json({"by_model": section.tables[0].frame}))
    return StudyResults(analysis, report, study.title, facts, more)


def study_facts(
    studies: Sequence["StoredStudy"], only: Sequence[str] = (), without: Sequence[str] = ()
) -> dict[str, Any]:
    """Return what a report says of its studies, and of its agents where these are not all."""
    from experiments.studies.printing import run_facts
    from experiments.studies.stored_studies import StoredRun

    runs = [each.found for each in studies if isinstance(each, StoredRun)]
    files = [str(each.path) for each in studies if not isinstance(each, StoredRun)]
    facts = run_facts(runs[0]) if len(studies) == len(runs) == 1 else {}
    facts |= {"run": ", ".join(run["run"] for run in runs)} if runs else {}
    facts |= {"tables": ", ".join(files)} if files else {}
    words = [*only, *(f"without {name}" for name in without)]
    return facts | ({"agents": ", ".join(words)} if words else {})


def folder_of(studies: Sequence["StoredStudy"]) -> Path | None:
    """Return the folder of the run; None for several studies, tables and archives."""
    from experiments.studies.stored_studies import StoredRun

    one = studies[0]
    return one.folder if len(studies) == 1 and isinstance(one, StoredRun) else None


def show(made: StudyResults, out: Path | None, *, as_json: bool, everything: bool = False) -> None:
    """Print the answer, or everything, and write the report, tables and figures to a folder.

    Raises:
        UserError: the report could not be written; the answer is printed all the same.
    """
    failed: UserError | None = None
    with estimating():
        try:
            path = write(made.report, made.title, made.facts, out) if out else None
        except UserError as error:
            failed, path, out = error, None, None
    if as_json:
        told = {"answer": made.report.answer, "facts": made.facts, "report": str(path) if path else None}
        typer.echo(json.dumps({**json.loads(made.analysis.to_json()), **told, **made.more}, indent=2))
    else:
        _print(made, out, path, everything=everything)
    if failed:
        raise failed


def _print(made: "StudyResults", out: Path | None, path: Path | None, *, everything: bool) -> None:
    from experiments.console.terminal import stdout_console
    from experiments.studies.printing import print_everything, print_report

    console = stdout_console()
    if everything:
        print_everything(console, made.report, out)
        for line in made.analysis.notes:
            console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
    else:
        print_report(console, made.report, out)
    others = sum(not each.detail for section in made.report.sections for each in section.tables) - 1
    more = "" if everything else f"{others} more tables with --all; "
    where = f"report: {escape(str(path))}" if path else "a report with --out DIR"
    console.print(f"{more}{where}", highlight=False, soft_wrap=True)


def write(
    report: "Report",
    title: str,
    facts: Mapping[str, Any],
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
