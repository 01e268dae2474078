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
    Settings,
    UpstreamCa,
    Wave,
)
from experiments.commands.completion import agent_names
from experiments.commands.results import analysed, show
from experiments.console.terminal import stderr_console, stdout_console
from experiments.runs.interrupts import NOTHING_STORED, one_line_when_stopped, run_until_stopped
from interventions.errors import UserError

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
            help="simulated:balanced, openai:gpt-6-luna, ...; repeatable.",
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
    ray: Annotated[
        str | None,
        typer.Option(metavar="ADDR", help="Workers on a Ray cluster: auto, HOST:PORT or ray://HOST:PORT."),
    ] = None,
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
    settings: Settings = None,
    wave: Wave = None,
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

      souk run nudges --agent openai:gpt-6-luna --slots 8

      souk run nudges --workers 4

      souk run hotels --mode text

      souk run nudges --agent openai:gpt-6-luna --wave 2026-12

      souk run hotels --mode text --agent openai:gpt-6-luna --batch

      souk run anchoring --agent hf:tiny-anchor

      souk run my-experiment.yaml --db sqlite:///study.db --dry-run

    Other values for keys of the file; a key that is set several times gives a run for each value:

      souk run nudges --set options.sets=40 --set limits.steps=5 --set limits.steps=10
    """
    from experiments.designs.inputs.settings import grid
    from experiments.executors.workers import Workers
    from experiments.runs.experiment_run import ExperimentRun

    several = Workers(workers, slots, ray, in_batches)
    combinations = list(grid(settings or ()))
    if len(combinations) > 1 and (detached or out):
        option = "--detach" if detached else "--out"
        raise UserError(f"{option}: --set gives {len(combinations)} runs, one after the other; leave it out")
    status = 0
    for chosen in combinations:
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
            settings=chosen,
            wave=wave,
        )
        if len(combinations) > 1:
            _say(" ".join(chosen), style="bold")
        _introduce(session, experiment, several)
        if dry_run:
            _show_outlook(session, several, out, as_json=as_json)
        elif detached:
            _detach(session, budget, is_usual=db == DEFAULT_DB)
        else:
            run_until_stopped(
                session.run(stderr_console(), several, trace=trace, budget=budget, strict=strict)
            )
            status = max(status, _conclude(session, as_json=as_json, everything=everything))
    raise typer.Exit(status)


def _say(line: str, style: str = "") -> None:
    stderr_console().print(line, style=style, highlight=False, markup=False, soft_wrap=True)


def _introduce(session: "ExperimentRun", experiment: str, workers: "Workers") -> None:
    """Say what will run, and check that the workers can."""
    from experiments.plans.registering import plan_notes

    _say(session.summary())
    for line in plan_notes(session.records, session.design, experiment, session.total):
        _say(line)
    workers.check_slots(session.design)
    if workers.in_batches:
        session.check_batches(workers)


def _detach(session: "ExperimentRun", budget: float | None, *, is_usual: bool) -> None:
    """Start this command again in the background. is_usual: the database is that by default."""
    from experiments.console.detach import detach

    log = session.folder / "log.txt"
    process = detach(log, "choose another folder with --out").pid
    session.begin()
    session.runner(process, budget).beat(session.records)
    name = session.design.run_id + ("" if is_usual else f" --db {session.records.url}")
    _say(f"runs in the background as process {process}; what it says is in {log}")
    _say(f"souk status --watch {name} follows it, souk pause {name} pauses it")


def _conclude(session: "ExperimentRun", *, as_json: bool, everything: bool) -> int:
    """Say how the run has ended, and show its analysis. Returns the status of the command."""
    from experiments.records.record import kind_of
    from experiments.studies.stored_studies import StoredRun

    for line in session.stops():
        _say(line)
    for line in session.warnings():
        _say(line, style="yellow")
    status = 0
    for line in session.complaints():
        _say(line, style="red")
        status = 1
    try:
        found = session.records.latest_run(session.design.run_id)
        one = StoredRun(session.records, found, session.folder, found["name"])
        show(analysed([one], kind_of(found)), session.folder, as_json=as_json, everything=everything)
    except AnalysisError as error:
        _say(f"no effects: {error}")
    return status


@one_line_when_stopped(NOTHING_STORED)
def _show_outlook(session: "ExperimentRun", workers: "Workers", out: Path | None, *, as_json: bool) -> None:
    """Print what a run would show, find and cost; with `out` also how balanced its design is."""
    from experiments.power.rehearsals import smallest_effects
    from experiments.runs.outlook import outlook, print_outlook

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
