"""souk env: shops to act in."""

from typing import Annotated

import typer

from interventions.errors import UserError

app = typer.Typer(no_args_is_help=True, help="Shops to act in.")


@app.callback()
def _group() -> None:
    """Keeps `up` a command of its own while it is the only one."""


@app.command("up")
def up(
    name: Annotated[str, typer.Argument(help="shop: the embedded shop.")] = "shop",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 7770,
) -> None:
    """Run a shop in the foreground, to look at it or to try an intervention on it.

    Example: souk env up shop --port 7770
    """
    if name != "shop":
        raise UserError(f"unknown environment {name!r}; the environments are: shop")
    from experiments.output import run_shop

    raise typer.Exit(run_shop(port))
