"""souk compare: how far a feature moves one agent, or one version of a model, more than another."""

from typing import Annotated

import typer

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
    margin: Margin = None,
    out: Out = None,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> None:
    """Compare agents, or people, of runs and tables, on the choice sets, texts and orders that both have.

    An agent of several runs is compared with itself, as after a new version of its model; then each two
    agents, of several runs in the same run. The tests are exact, about these choice sets and texts; adjusted
    p values hold the false discovery rate over all comparisons.

    Examples:

      souk compare nudges

      souk compare nudges-may-593302b1 nudges-june-1f0c2b77 --agent openai:gpt-6-luna --margin 5

      souk compare nudges nudges-people

      souk compare nudges people.csv --out comparison/
    """
    from analysis.choice.comparing import compare_agents, comparison_report, differences
    from analysis.reporting.sections import NamedTable
    from analysis.reporting.to_json import to_json
    from analysis.tables.choice_table import read_table
    from experiments.console.terminal import stdout_console
    from experiments.studies.comparing import of_agents, rules_of, stored_tables
    from experiments.studies.printing import frame_table

    files, names = tables_among(runs or ())
    found = []
    with estimating():
        tables = [read_table(path) for path in files]
        if names or not files:
            records = open_records(db)
            found = [records.latest_run(name, "choice") for name in names or (None,)]
            tables += stored_tables(records, found)
        table = of_agents(tables, agent or (), exclude or ())
        frame = compare_agents(table, margin, rules_of(found))
        of_runs = [each["run"] for each in found]
        facts = {"run": ", ".join([*of_runs, *map(str, files)])}
        page = write(comparison_report(frame), "Agents compared", facts, out) if out else None
    if as_json:
        typer.echo(to_json({"answer": list(differences(frame)), "runs": of_runs, "comparison": frame}))
        return
    console = stdout_console()
    pairs = frame.groupby(["group", "less"], sort=False)
    for number, (line, ((one, other), rows)) in enumerate(zip(differences(frame), pairs, strict=True)):
        console.print(line, style="bold", highlight=False, markup=False)
        if number >= MOST_TABLES:
            continue
        shown = rows.drop(columns=["group", "less", "std_error", "statistic", "n_missing", "n", "strata"])
        title = f"{one} less {other} (percentage points)"
        named = NamedTable("comparison", title, shown, 1)
        printed, footnotes = frame_table(named, None, width=console.width)
        console.print(title, highlight=False, markup=False)
        console.print(printed)
        for footnote in footnotes:
            console.print(footnote, style="dim", highlight=False, markup=False)
        console.print()
    if len(pairs) > MOST_TABLES:
        more = f"tables of {len(pairs) - MOST_TABLES:,} more comparisons: --out DIR, or --json"
        console.print(more, highlight=False, markup=False)
    where = f"report: {page}" if page else "a report with --out DIR"
    console.print(where, highlight=False, markup=False, soft_wrap=True)
