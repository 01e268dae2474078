"""souk status."""

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.common import DEFAULT_DB, AsJson, Db, open_records
from experiments.commands.completion import run_names

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from experiments.runs.status import RunStatus

LOOK_EVERY = 2.0


def status(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="Id or name; all runs by default, with --watch the latest.",
            autocompletion=run_names,
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it again every two seconds while it runs.")
    ] = False,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> None:
    """Show how runs are going: all of them, or one with its outcomes by condition.

    Examples:

      souk status

      souk status nudges --watch

      souk status nudges --json
    """
    from rich.live import Live

    from experiments.console.terminal import stdout_console
    from experiments.records.reading.interventions import warnings
    from experiments.runs.status import run_statuses

    records = open_records(db)
    only = records.latest_run(run)["run"] if run or watch else None
    found = run_statuses(records, only)
    if as_json:
        typer.echo(json.dumps([each.to_dict() for each in found], indent=2))
        return
    console = stdout_console()
    if not found:
        records.latest_run()
    if only is None:
        console.print(_all(found, console))
        for one in found:
            for line in warnings(one.unreceived):
                console.print(f"{one.run}: {line}", markup=False, soft_wrap=True)
        return
    if watch:
        with Live(console=console, auto_refresh=False, transient=True) as live:
            while found[0].state in ("running", "paused"):
                live.update(_one(found[0], console), refresh=console.is_terminal)
                time.sleep(LOOK_EVERY)
                found = run_statuses(records, only)
    console.print(_one(found[0], console))


def _all(found: "list[RunStatus]", console: "Console") -> "RenderableType":
    """A table, or lines where it would be wider than the terminal, so that no id is broken."""
    from rich.markup import escape

    from experiments.console.terminal import new_table

    table = new_table("Runs", "run", "started (UTC)", "state")
    for name in ("trials", "not a choice", "per minute", "left", "USD"):
        table.add_column(name, justify="right", no_wrap=True)
    lines = []
    for one in found:
        others = sum(one.outcomes.values()) - one.outcomes.get("choice", 0)
        pace, left = _pace(one)
        began = one.started_at.removesuffix("+00:00")
        cells = (_label(one), began, one.state, _trials(one), f"{others:,}", pace, left, _cost(one))
        table.add_row(*map(escape, cells))
        flow = f", {pace} per minute, {left} left" if pace else ""
        trials = f"{_trials(one)} trials, {others:,} not a choice{flow}, {_cost(one)} USD"
        lines.append(f"{_label(one)}\n  {one.state}, started {began}\n  {trials}")
    return _fitting(table, lines, console)


def _label(one: "RunStatus") -> str:
    """The id of a run, and its name where the id does not begin with it: it was given later."""
    return one.run if one.run.startswith(f"{one.name}-") else f"{one.run} ({one.name})"


def _fitting(table: "RenderableType", lines: list[str], console: "Console") -> "RenderableType":
    from rich.measure import Measurement
    from rich.text import Text

    fits = Measurement.get(console, console.options.update(width=1_000), table).maximum <= console.width
    return table if fits else Text("\n".join(lines))


def _one(one: "RunStatus", console: "Console") -> "RenderableType":
    from rich.console import Group
    from rich.markup import escape
    from rich.text import Text

    from experiments.console.terminal import new_table
    from experiments.records.reading.interventions import warnings
    from experiments.runs.status import STATES
    from experiments.runs.stopping import sequence_line

    pace, left = _pace(one)
    lines = [f"{_label(one)}, started {one.started_at}: {STATES[one.state]}"]
    flow = f", {one.running} running, {pace} per minute, {left} left" if pace else ""
    lines.append(f"{_trials(one)} trials{flow}")
    saved = f", which saved {one.saved:.4f} USD" if one.saved else ""
    cached = f" ({one.tokens_cached:,} from the provider's cache{saved})" if one.tokens_cached else ""
    tokens = f"{one.tokens_in:,} tokens in{cached}, {one.tokens_out:,} out"
    budget = "" if one.budget_left is None else f" of {one.budget:g}; {one.budget_left:.4f} left"
    at_end = "" if one.cost_at_end is None else f", about {one.cost_at_end:.4f} at the end"
    lines.append(f"{_cost(one)} USD{budget}{at_end}; {tokens}")
    if one.partly_opened:
        lines.append(f"{one.partly_opened:,} choices before which not all options had been opened")
    lines += warnings(one.unreceived)
    lines += [*map(sequence_line, one.sequences), *one.allocation]
    if one.reason and one.state not in ("finished", "decided"):
        lines.append(one.reason)
    if one.paused and one.state in ("stopped", "lost"):
        lines.append("paused: the next souk run waits for souk resume")
    for process in one.runners:
        sign = (
            "ended" if process["ended_at"] else "alive" if process["alive"] else "gone without a word, seen"
        )
        lines.append(f"process {process['pid']} on {process['host']}: {sign} {process['seen_at']}")
    outcomes = sorted(one.outcomes, key=lambda name: (name != "choice", name))
    table = new_table("How the trials ended", "agent", "condition")
    for name in outcomes:
        table.add_column(name.replace("_", " "), justify="right", no_wrap=True)
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for cell in one.cells:
        counts.setdefault((cell["agent"], cell["condition"]), {})[cell["outcome"]] = cell["trials"]
    narrow = []
    for key, cell in counts.items():
        table.add_row(*map(escape, key), *(f"{cell.get(name, 0):,}" for name in outcomes))
        ended = ", ".join(f"{cell[name]:,} {name.replace('_', ' ')}" for name in outcomes if name in cell)
        narrow.append(f"{key[0]}\n  {key[1] or 'all trials'}: {ended}")
    return Group(Text("\n".join(lines)), *([_fitting(table, narrow, console)] if counts else []))


def _trials(one: "RunStatus") -> str:
    return f"{one.done:,}" if one.wanted is None else f"{one.done:,} of {one.wanted:,}"


def _pace(one: "RunStatus") -> tuple[str, str]:
    from experiments.console.progress import duration

    if one.per_minute is None:
        return "", ""
    return f"{one.per_minute:,.0f}", "?" if one.seconds_left is None else duration(one.seconds_left)


def _cost(one: "RunStatus") -> str:
    return f"{one.cost:.4f}" + (f" + {one.unknown_costs:,} unknown" if one.unknown_costs else "")
