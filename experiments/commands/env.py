"""souk env: shops to act in, and the servers that runs may need."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.common import AsJson
from experiments.console.terminal import stderr_console
from interventions.errors import UserError

if TYPE_CHECKING:
    from environments.launch.compose import Compose, Progress
    from environments.launch.launchable import Launchable

app = typer.Typer(no_args_is_help=True, help="Launch shops to act in, and the servers that runs may need.")

Name = Annotated[str, typer.Argument(help="shop, onestopmarket, postgres or ray.", show_default=False)]


@app.command("up")
def up(
    name: Name,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port on 127.0.0.1; by default 7770 for shops.", show_default=False
        ),
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help="The embedded shop, without a container, in the foreground.")
    ] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="Bring one that runs back to its first state, on its port.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="Longest wait until it is ready.")
    ] = None,
) -> None:
    """Launch an environment in a container, wait until it is ready, and print its URL.

    --anew keeps what postgres has stored. OneStopMarket takes about two minutes.

    Examples:

      souk env up shop

      souk env up onestopmarket --port 7780

      souk env up onestopmarket --anew

      souk env up shop --local --port 7770
    """
    from environments.launch.launchable import launchable

    target = launchable(name)
    if local:
        if name != "shop":
            raise UserError(f"--local: {name} needs a container; only the shop runs without")
        raise typer.Exit(_run_shop(target.port if port is None else port))
    if anew and port is not None:
        raise UserError("--anew: the port stays; leave out --port")
    if port == 0:
        raise UserError("--port 0: any free port can be had with --local only; choose a port")
    try:
        compose, _ = _compose_for(name)
    except UserError as error:
        hint = "; or run it without a container: souk env up shop --local" if name == "shop" else ""
        raise UserError(f"{error}{hint}") from None
    with waiting(name) as progress:
        start = partial(compose.reset, target) if anew else partial(compose.up, target, port)
        url = start(timeout, progress)
    _print_url(name, url)


@app.command("status")
def status(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print its logs.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with its logs until Ctrl-C.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show which environments run, their health and their addresses; or the logs of one.

    Example: souk env status onestopmarket
    """
    from dataclasses import asdict

    from environments.launch.compose import Compose
    from environments.launch.launchable import LAUNCHABLE
    from experiments.console.terminal import new_table, stdout_console

    if name:
        compose, target = _compose_for(name)
        raise typer.Exit(compose.logs(target, follow=follow))
    compose = Compose.find()
    found = [asdict(compose.status(target)) for target in LAUNCHABLE.values()]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    table = new_table("", "name", "state", "health", "URL")
    for row in found:
        table.add_row(*row.values())
    stdout_console().print(table)


@app.command("down")
def down(name: Name) -> None:
    """Stop an environment and remove its containers. What postgres has stored stays."""
    compose, target = _compose_for(name)
    compose.down(target)


def _compose_for(name: str) -> tuple["Compose", "Launchable"]:
    """Return the compose command, and the environment of this name. Raises UserError."""
    from environments.launch.compose import Compose
    from environments.launch.launchable import launchable

    target = launchable(name)
    return Compose.find(), target


@contextmanager
def waiting(name: str) -> Iterator["Progress"]:
    """Show on stderr what is awaited.

    On a terminal it is shown in place, with the time; else as a line for each change.
    """
    console = stderr_console()
    shown = console.status("")
    told = ""

    def progress(awaited: str, passed: float, limit: float) -> None:
        nonlocal told
        if console.is_terminal:
            shown.update(f"{name}: {awaited}, {passed:.0f} s of at most {limit:.0f} s")
            shown.start()
        elif awaited != told:
            told = awaited
            console.print(f"{name}: {awaited}, waiting at most {limit - passed:.0f} s", highlight=False)

    try:
        yield progress
    except KeyboardInterrupt:
        shown.stop()
        console.print(f"stopped waiting; {name} goes on starting. `souk env down {name}` stops it.")
        raise typer.Exit(130) from None
    finally:
        shown.stop()


def _print_url(name: str, url: str) -> None:
    """Print the URL; for a database, in the form in which the other commands take it."""
    typer.echo(f'--db "{url}"' if name == "postgres" else url)


def _run_shop(port: int) -> int:
    """Run the embedded shop as a child until it ends or Ctrl-C; its exit status."""
    child = subprocess.Popen([sys.executable, "-m", "environments.shop", "--port", str(port)])  # noqa: S603
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            child.terminate()  # unless it got the signal too
