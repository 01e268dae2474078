"""souk compare: how far a feature moves one agent, or one version of a model, more than another."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import (
    DEFAULT_DB,
    Agents,
    AsJson,
    Db,
    Excluded,
    Margin,
    estimating,
    open_records,
    uncollected,
)


@uncollected()
def compare(
    named: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUNS...]", help="Runs (ids or names); the latest run by default."),
    ] = None,
    agent: Agents = None,
    exclude: Excluded = None,
    margin: Margin = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the table too: .csv or .parquet.")
    ] = None,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> None:
    """Compare agents of a run, or of several runs, on the choice sets, texts and orders that both have.

    Each two agents are compared, and an agent of several runs with itself, as after a new version of its
    model. The tests are exact, about these choice sets and texts; adjusted p values hold the false discovery
    rate over all comparisons.

    Examples:

      souk compare nudges

      souk compare nudges-may-593302b1 nudges-june-1f0c2b77 --agent openai:gpt-4.1-mini --margin 5

      souk compare nudges --json
    """
    from analysis.choice.comparing import compare_agents, differences
    from analysis.reporting.sections import NamedTable
    from analysis.reporting.to_json import to_json
    from experiments.console.terminal import stdout_console
    from experiments.records.tidy_tables import write_table
    from experiments.studies.comparing import rules_of, tables_of
    from experiments.studies.printing import frame_table

    records = open_records(db)
    found = [records.latest_run(name, "choice") for name in (dict.fromkeys(named) if named else (None,))]
    with estimating():
        table = tables_of(records, found, agent or (), exclude or ())
        frame = compare_agents(table, margin, rules_of(found))
    if out:
        write_table(frame, out)
    if as_json:
        answer = list(differences(frame))
        typer.echo(to_json({"answer": answer, "runs": [each["run"] for each in found], "comparison": frame}))
        return
    console = stdout_console()
    for line in differences(frame):
        console.print(line, style="bold", highlight=False, markup=False)
    shown = frame.drop(columns=["std_error", "statistic", "n_missing"])
    shown.insert(0, "group", shown.pop("group"))
    shown.insert(1, "less", shown.pop("less"))
    title = "How many points more each feature moves the first agent than the second"
    printed, footnotes = frame_table(NamedTable("comparison", title, shown, 1), None, width=console.width)
    console.print()
    console.print(title, style="bold")
    console.print(printed)
    for line in footnotes:
        console.print(line, style="dim", highlight=False, markup=False)
