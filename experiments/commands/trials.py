"""souk trials: the trials of an experiment for subjects that Souk does not start."""

from typing import Annotated, Final, Literal

import typer

from experiments.commands.common import (
    DEFAULT_DB,
    WHERE,
    AuthorityFolder,
    Db,
    Detached,
    Experiment,
    Reverse,
    UpstreamCa,
)
from experiments.runs.interrupts import run_until_stopped
from interventions.errors import UserError

app = typer.Typer(no_args_is_help=True, help="Give trials to any agent, or to people.")

OF_PROXY: Final = ("trial", "subjects", "observe", "reverse", "shop", "ca", "detached")
"""The options that have no meaning together with --mcp."""
USUAL_PORT: Final = 8080


@app.callback()
def trials() -> None:
    """Give trials to any agent, or to people."""


@app.command("serve")
def serve(
    ctx: typer.Context,
    experiment: Experiment,
    label: Annotated[
        str, typer.Option("--as", metavar="NAME", help="The subject's name in the analysis.")
    ] = "guest",
    mcp: Annotated[
        bool,
        typer.Option(
            "--mcp", help="Serve an MCP host: on standard input and output, or at --port as streamable HTTP."
        ),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, show_default=False, help="Port on 127.0.0.1, 8080 for a proxy; 0: any free one."
        ),
    ] = None,
    trial: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Only this trial; repeatable. Default: all that have not ended.",
            rich_help_panel=WHERE,
        ),
    ] = None,
    subjects: Annotated[
        int,
        typer.Option(
            min=1, max=64, help="Ports, each for one subject, from --port on.", rich_help_panel=WHERE
        ),
    ] = 1,
    observe: Annotated[
        Literal["page", "viewport", "off"],
        typer.Option(
            help="What must have shown the edits: the page, wherever it was scrolled to, or the viewport. "
            "off: the pages are not observed.",
            rich_help_panel=WHERE,
        ),
    ] = "page",
    reverse: Reverse = None,
    shop: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="A shop that runs already; shop: the embedded one is started.",
            rich_help_panel=WHERE,
        ),
    ] = "shop",
    ca: AuthorityFolder = None,
    detached: Detached = False,
    upstream_ca: UpstreamCa = None,
    db: Db = DEFAULT_DB,
) -> None:
    """Give the trials of an experiment to whoever connects, judge and record them, until Ctrl-C.

    A subject begins a trial, and reads its task, under /.souk/ of the proxy. An MCP host calls next_trial,
    then observe and act (or give_up) until the trial has ended; this needs the package mcp.

    Examples:

      souk trials serve nudges --as my-agent

      curl --proxy http://127.0.0.1:8080 --request POST http://souk.test/.souk/next

      curl --proxy http://127.0.0.1:8080 http://souk.test/.souk/trial

    For people, whose browsers need no setting; then open http://127.0.0.1:8080/.souk/:

      souk trials serve nudges --as people --reverse shop --subjects 4

    For an MCP host:

      souk trials serve nudges --as my-agent --mcp

      souk trials serve nudges --as my-agent --mcp --port 8765
    """
    if mcp:
        for parameter in ctx.command.params:
            source = ctx.get_parameter_source(str(parameter.name))
            if parameter.name in OF_PROXY and source and source.name == "COMMANDLINE":
                raise UserError(f"{parameter.opts[0]}: an MCP host meets no proxy; leave it out")
        from experiments.subjects.mcp_server import Offer, serve_hosts

        offer = Offer(experiment=experiment, label=label, db=db, port=port, upstream_ca=upstream_ca)
        served = serve_hosts(offer)
    elif detached:
        from experiments.console.background import start

        typer.echo(start().replace("Ctrl-C ends it", "souk proxy stop ends it"), err=True)
        return
    else:
        from experiments.subjects.guests import GuestSettings, serve_guests

        guests = GuestSettings(
            experiment=experiment,
            label=label,
            trial=tuple(trial or ()),
            db=db,
            port=USUAL_PORT if port is None else port,
            subjects=subjects,
            reverse=reverse,
            at=shop,
            observe=observe,
            ca=ca,
            upstream_ca=upstream_ca,
        )
        served = serve_guests(guests)
    try:
        run_until_stopped(served)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
