"""souk mcp."""

from typing import Annotated

import typer

from experiments.commands.common import DEFAULT_DB, Db, UpstreamCa
from experiments.runs.interrupts import run_until_stopped


def mcp(
    experiment: Annotated[
        str, typer.Option(metavar="FILE", help="Give the trials of this experiment in a shop.")
    ],
    label: Annotated[
        str, typer.Option("--as", metavar="NAME", help="The subject's name in the analysis.")
    ] = "mcp-host",
    http: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            metavar="PORT",
            help="Serve streamable HTTP at this port of 127.0.0.1 (0: any free one), not standard input.",
        ),
    ] = None,
    upstream_ca: UpstreamCa = None,
    db: Db = DEFAULT_DB,
) -> None:
    """Give the trials of an experiment to an MCP host: any agent that can use MCP servers is a subject.

    The host calls next_trial, then observe and act (or give_up) until the trial has ended. Its trials are a
    run of their own, judged and recorded like those of souk run. It needs the package mcp.

    Examples:

      souk mcp --experiment nudges --as my-agent

      souk mcp --experiment nudges --as my-agent --http 8765
    """
    from experiments.subjects.mcp_server import Offer, serve_hosts

    offer = Offer(experiment=experiment, label=label, db=db, port=http, upstream_ca=upstream_ca)
    try:
        run_until_stopped(serve_hosts(offer))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
