"""souk run."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from analysis.tables.errors import AnalysisError
from experiments.commands.common import (
    DEFAULT_DB,
    AsJson,
    Db,
    Everything,
    Experiment,
    Out,
    UpstreamCa,
    analyze_stored,
)
from experiments.commands.completion import agent_names
from experiments.console.terminal import stderr_console, stdout_console
from experiments.runs.interrupts import NOTHING_STORED, one_line_when_stopped, run_until_stopped

if TYPE_CHECKING:
    from experiments.executors.workers import Workers
    from experiments.runs.experiment_run import ExperimentRun


@one_line_when_stopped()
def run(
    experiment: Experiment,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            "-a",
            metavar="NAME",
            help="simulated:balanced, openai:gpt-4.1-mini, ...; repeatable.",
            autocompletion=agent_names,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first N trials of each agent (balanced blocks).")
    ] = None,
    mode: Annotated[
        Literal["page", "text", "logprobs"] | None,
        typer.Option(
            help="Cards as pages in a browser, as text in a prompt, or its letters scored without sampling; "
            "the experiment's by default."
        ),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=1_000, help="Processes, each with its own proxy and browser.")
    ] = 1,
    slots: Annotated[
        int | None,
        typer.Option(min=1, max=1_000, help="Trials at the same time in each worker; on pages at most 64."),
    ] = None,
    backend: Annotated[
        Literal["local", "ray"], typer.Option(help="Workers on this machine, or on a Ray cluster.")
    ] = "local",
    address: Annotated[
        str, typer.Option(metavar="ADDR", help="The Ray cluster: auto, HOST:PORT or ray://HOST:PORT.")
    ] = "auto",
    observe: Annotated[
        Literal["page", "viewport", "off"] | None,
        typer.Option(
            help="What must have shown the edits to a program (--agent command:...): the page, wherever it "
            "was scrolled to, or the viewport. off: the pages are not observed. By default page.",
        ),
    ] = None,
    in_batches: Annotated[
        bool,
        typer.Option(
            "--batch", help="Ask models in batches, at half the price and within a day; cards as text only."
        ),
    ] = False,
    budget: Annotated[
        float | None, typer.Option(min=0, metavar="USD", help="Stop before the run costs more than this.")
    ] = None,
    trace: Annotated[
        Literal["full", "light", "none"],
        typer.Option(help="What is kept of each step: all, all but the pages, or nothing."),
    ] = "full",
    detached: Annotated[
        bool, typer.Option("--detach", help="Go on in the background; follow it with souk status.")
    ] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse to start where the catalogue differs from what the shop's pages show."
        ),
    ] = False,
    upstream_ca: UpstreamCa = None,
    db: Db = DEFAULT_DB,
    out: Out = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would run, what it may cost and find; run nothing.")
    ] = False,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment: expand its design, run the trials, print what came out, write the report.

    The same command again resumes: trials that have ended are never repeated.

    Examples:

      souk run nudges --agent simulated:balanced --limit 600

      souk run nudges --agent openai:gpt-4.1-mini --slots 8

      souk run nudges --workers 4

      souk run hotels --mode text

      souk run hotels --mode text --agent openai:gpt-4.1-mini --batch

      souk run anchoring --agent hf:tiny-anchor

      souk run my-experiment.yaml --db sqlite:///study.db --dry-run
    """
    from experiments.console.detach import detach
    from experiments.executors.workers import Workers
    from experiments.runs.experiment_run import ExperimentRun
    from experiments.studies.registering import plan_notes

    console = stderr_console()
    session = ExperimentRun(
        experiment,
        agents=agent,
        limit=limit,
        db=db,
        out=out,
        mode=mode,
        dry=dry_run,
        upstream_ca=upstream_ca,
        observe=observe,
    )
    console.print(session.summary(), highlight=False, markup=False, soft_wrap=True)
    for line in plan_notes(session.records, session.design, experiment, session.total):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    several = Workers(workers, slots, backend, address, in_batches)
    several.check_slots(session.design)
    if in_batches:
        session.check_batches(several)
    if dry_run:
        _show_outlook(session, several, out, as_json=as_json)
        return
    if detached:
        log = session.folder / "log.txt"
        process = detach(log, "choose another folder with --out").pid
        session.begin()
        session.runner(process, budget).beat(session.records)
        name = session.design.run_id + (f" --db {session.records.url}" if db != DEFAULT_DB else "")
        for line in (
            f"runs in the background as process {process}; what it says is in {log}",
            f"souk status --watch {name} follows it, souk pause {name} pauses it",
        ):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        return
    run_until_stopped(session.run(console, several, trace=trace, budget=budget, strict=strict))
    for line in session.stops():
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for line in session.warnings():
        console.print(line, style="yellow", highlight=False, markup=False, soft_wrap=True)
    status = 0
    for line in session.complaints():
        console.print(line, style="red", highlight=False, markup=False, soft_wrap=True)
        status = 1
    try:
        found = session.records.latest_run(session.design.run_id)
        analyze_stored(session.records, found, session.folder, as_json=as_json, everything=everything)
    except AnalysisError as error:
        console.print(f"no effects: {error}", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(status)


@one_line_when_stopped(NOTHING_STORED)
def _show_outlook(session: "ExperimentRun", workers: "Workers", out: Path | None, *, as_json: bool) -> None:
    """Print what a run would show, find and cost; with `out` also how balanced its design is."""
    from experiments.runs.outlook import outlook, print_outlook
    from experiments.studies.power import smallest_effects

    trials = list(session.wanted())
    found = outlook(session, trials, workers)
    planned = sum(trial.agent == session.agents[0] for trial in trials)
    found["smallest_effects"] = smallest_effects(session.design, session.agents, planned)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    print_outlook(stdout_console(), found)
    if (balance := session.design.balance(trials)) is not None:
        from experiments.studies.printing import print_balance

        print_balance(stderr_console(), balance, out)
