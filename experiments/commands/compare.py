"""souk compare: how far a feature moves one agent, or one version of a model, more than another."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from experiments.commands.analyze import Kind
from experiments.commands.common import (
    DEFAULT_DB,
    Agents,
    AsJson,
    Db,
    Excluded,
    Margin,
    Out,
    estimating,
    open_records,
    tables_among,
    write,
)

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.studies.comparing import ComparedAgents

HIDDEN: Final = ("group", "less", "std_error", "statistic", "n_missing", "n", "strata")
"""The columns that the terminal does not show."""
MOST_TABLES = 6
"""The most pairs of agents whose tables are printed; of all there is a sentence."""


def compare(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUNS | FILES...]", help="Runs (ids or names), and tables; the latest run by default."
        ),
    ] = None,
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

      souk compare nudges-may-593302b1 nudges-june-1f0c2b77 --agent openai:gpt-6-luna --margin 5

      souk compare nudges nudges-people

      souk compare nudges people.csv --out comparison/

      souk compare hotels

      souk compare may.csv june.csv --as montecarlo
    """
    from analysis.reporting.to_json import to_json
    from experiments.studies.comparing import compared

    files, names = tables_among(runs or ())
    with estimating():
        wanted: list[str | None] = [*names] or ([] if files else [None])
        records = open_records(db) if wanted else None
        found = [records.latest_run(name) for name in wanted] if records else []
        made = compared(records, found, files, kind, agent or (), exclude or (), margin)
        of_runs = [each["run"] for each in found]
        facts = {"run": ", ".join([*of_runs, *map(str, files)])}
        page = write(made.report, "Agents compared", facts, out) if out else None
    if as_json:
        answer = list(made.report.answer)
        typer.echo(to_json({"answer": answer, "runs": of_runs, "comparison": made.frame}))
        return
    _print(made)
    where = f"report: {page}" if page else "a report with --out DIR"
    _stdout().print(where, highlight=False, markup=False, soft_wrap=True)


def _print(made: "ComparedAgents") -> None:
    from analysis.reporting.sections import NamedTable
    from experiments.studies.printing import frame_table

    console = _stdout()
    pairs = made.frame.groupby(["group", "less"], sort=False)
    for number, (line, ((one, other), rows)) in enumerate(zip(made.report.answer, pairs, strict=True)):
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


def _stdout() -> "Console":
    from experiments.console.terminal import stdout_console

    return stdout_console()
