"""souk replay."""

import json
import logging
from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import DEFAULT_DB, AsJson, Db, UpstreamCa, open_records
from experiments.runs.interrupts import run_until_stopped

SHOWN_LINES = 40
"""The most lines of the first difference that are shown."""


def replay(
    run: Annotated[str | None, typer.Argument(help="Run (id or name); the latest by default.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N trials of the design.")] = None,
    trial: Annotated[str | None, typer.Option(metavar="ID", help="Only this trial.")] = None,
    experiment: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The run's experiment file, if it names files that lie beside it."),
    ] = None,
    upstream: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A recording of the shop that answers in the shop's place."),
    ] = None,
    slots: Annotated[
        int | None, typer.Option(min=1, max=64, help="Episodes at the same time; as many as cores.")
    ] = None,
    upstream_ca: UpstreamCa = None,
    db: Db = DEFAULT_DB,
    as_json: AsJson = False,
) -> None:
    """Repeat stored episodes, and report where a page or an outcome differs from the stored one.

    Asks no model.
    Examples:

      souk replay nudges --limit 60

      souk replay nudges --trial 3aa2a3c4fa2926ab3fdf54f66d1eb883

      souk replay nudges --upstream recording/ --json
    """
    from rich.markup import escape

    from experiments.console.progress import RunProgress
    from experiments.console.terminal import stderr_console, stdout_console
    from experiments.pages.html_diff import shown
    from experiments.replay.replay import Replay

    records, console = open_records(db), stderr_console()
    again = Replay(records, records.latest_run(run), experiment=experiment, trial=trial, limit=limit)

    def say(notes: list[str]) -> None:
        for line in notes:
            console.print(line, style="yellow", highlight=False, markup=False, soft_wrap=True)

    say(again.notes)
    before = len(again.notes)
    try:
        with RunProgress(console, len(again.trials)) as progress:
            found = run_until_stopped(
                again.run(progress.note, slots=slots, upstream=upstream, upstream_ca=upstream_ca)
            )
    except KeyboardInterrupt:
        logging.getLogger("asyncio").disabled = True  # an interrupted Playwright leaves futures behind
        raise typer.Exit(130) from None
    say(again.notes[before:])
    total = len(again.trials) + len(again.missing)
    if as_json:
        summary = {"run": again.run_id, "notes": again.notes, "trials": total, "same": total - len(found)}
        typer.echo(json.dumps({**summary, "differences": [each.to_dict() for each in found]}, indent=2))
        raise typer.Exit(1 if found else 0)
    out = stdout_console()
    for difference in found:
        out.print(str(difference), highlight=False, markup=False, soft_wrap=True)
    example = next((difference for difference in found if difference.diff), None)
    if example:
        out.print(f"\nstored (-) and now (+), step {example.step} of {example.trial}:", highlight=False)
        lines = [(sign, text) for hunk in example.diff for sign, text in shown(hunk, out.width - 2)]
        for sign, text in lines[:SHOWN_LINES]:
            style = {"-": "red", "+": "green"}.get(sign, "dim")
            out.print(f"[{style}]{sign} {escape(text)}[/{style}]", highlight=False, soft_wrap=True)
        if len(lines) > SHOWN_LINES:
            out.print(f"... and {len(lines) - SHOWN_LINES:,} more lines; --json has the whole", style="dim")
        out.print()
    out.print(f"{total - len(found):,} of {total:,} episodes are the same", highlight=False)
    raise typer.Exit(1 if found else 0)
