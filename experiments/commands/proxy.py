"""souk proxy: the rewriting proxy on its own."""

import asyncio
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="The rewriting proxy on its own.")


@app.callback()
def _group() -> None:
    """Keeps `serve` a command of its own while it is the only one."""


@app.command("serve")
def serve(
    interventions: Annotated[
        str, typer.Option("-i", "--interventions", metavar="FILE", help="A shipped file by name, or a path.")
    ],
    only: Annotated[list[str] | None, typer.Option(help="Only this intervention; repeatable.")] = None,
    site: Annotated[str, typer.Option(help="Site map: a shipped one by name, or a path.")] = "onestopmarket",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0: any free one.")] = 8080,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Reach only these hosts; repeatable. Default: all."),
    ] = None,
    var: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Value of a variable for every product; repeatable."),
    ] = None,
) -> None:
    """Rewrite pages for any browser, any program or a person.

    Example:

      souk env up shop --port 7770 &

      souk proxy serve -i nudges --only wirecutter --port 8080 &

      curl -x http://127.0.0.1:8080 http://127.0.0.1:7770/
    """
    from experiments.experiment_run import shop_products
    from proxy.serve import serve as run_proxy

    try:
        asyncio.run(
            run_proxy(interventions, only or (), site, port, allow, var or (), products=shop_products())
        )
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
