"""souk compare: how far a feature moves one agent, or one version of a model, more than another."""

from typing import TYPE_CHECKING, Final

import typer

from experiments.commands.common import (
    DEFAULT_DB,
    Agents,
    AsJson,
    Db,
    Excluded,
    Kind,
    Margin,
    Out,
    RunOrFiles,
    estimating,
    named_studies,
)
from experiments.commands.results import study_facts, write

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.studies.comparing import ComparedAgents

HIDDEN: Final = ("group", "less", "std_error", "statistic", "n_missing", "n", "strata")
"""The columns that the terminal does not show."""
MOST_TABLES = 6
"""The most pairs of agents whose tables are printed; of all there is a sentence."""


def compare(
    named: RunOrFiles = None,
    agent: Agents = None,
    exclude: Excluded = None,
    kind: Kind = None,
    margin: Margin = None,
    out: Out = None,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> None:
    """Compare agents, or people, of runs and tables of one kind, on what both were shown or asked.

    An agent of several runs is compared with itself, as after a new version of its model; then each two
    agents, of several runs in the same run. Adjusted p values hold the false discovery rate over all
    comparisons. Of choices in shops the tests are exact, about these choice sets and texts.

    Examples:

      souk compare nudges

      souk compare nudges nudges-2026-12 --agent openai:gpt-6-luna --margin 5

      souk compare nudges nudges-people

      souk compare nudges people.csv --out comparison/

      souk compare hotels

      souk compare may.csv june.csv --as montecarlo
    """
    from analysis.reporting.to_json import to_json
    from experiments.studies.comparing import compared
    from experiments.studies.stored_studies import StoredRun

    studies = named_studies(named, db, kind)
    with estimating():
        made = compared(studies, kind, agent or (), exclude or (), margin)
        page = write(made.report, "Agents compared", study_facts(studies), out) if out else None
    if as_json:
        answer = list(made.report.answer)
        runs = [each.found["run"] for each in studies if isinstance(each, StoredRun)]
        told = {"answer": answer, "runs": runs, "comparison": made.frame}
        typer.echo(to_json(told if made.distances is None else told | {"distances": made.distances}))
        return
    _print(made)
    where = f"report: {page}" if page else "a report with --out DIR"
    _stdout().print(where, highlight=False, markup=False, soft_wrap=True)


def _print(made: "ComparedAgents") -> None:
    from analysis.reporting.sections import NamedTable
    from experiments.studies.printing import frame_table

    console = _stdout()
    pairs = made.frame.groupby(["group", "less"], sort=False)
    for number, (line, ((one, other), rows)) in enumerate(zip(made.report.answer, pairs, strict=False)):
        console.print(line, style="bold", highlight=False, markup=False)
        if number >= MOST_TABLES:
            continue
        title = f"{one} less {other}{made.unit}"
        shown = rows.drop(columns=list(HIDDEN), errors="ignore")
        named = NamedTable("comparison", title, shown, made.decimals)
        printed, footnotes = frame_table(named, None, width=console.width)
        console.print(title, highlight=False, markup=False)
        console.print(printed)
        for footnote in footnotes:
            console.print(footnote, style="dim", highlight=False, markup=False)
        console.print()
    if len(pairs) > MOST_TABLES:
        more = f"tables of {len(pairs) - MOST_TABLES:,} more comparisons: --out DIR, or --json"
        console.print(more, highlight=False, markup=False)
    for line in made.report.answer[len(pairs) :]:  # on market shares
        console.print(line, style="bold", highlight=False, markup=False)


def _stdout() -> "Console":
    from experiments.console.terminal import stdout_console

    return stdout_console()
