"""souk catalogue: the products of a running shop as a table."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.commands.common import UpstreamCa
from experiments.runs.interrupts import run_until_stopped

if TYPE_CHECKING:
    from experiments.designs.catalogue.importer import Importer

app = typer.Typer(no_args_is_help=True, help="Read the products of a shop into a table.")

LINE_EVERY_SECONDS = 15.0


@app.callback()
def catalogue() -> None:
    """Read the products of a shop."""


@app.command("import")
def import_(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="A running shop, such as http://127.0.0.1:7770/.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="The CSV file; an existing file is continued.")],
    category: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this category of the menu; repeatable. Default: all. "
            "NAME=ADDRESS: the page of products at this address, in any shop.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Fetch at most this many pages; the same command goes on later."
        ),
    ] = None,
    site: Annotated[str, typer.Option(metavar="MAP", help="Site map: a shipped name or a path.")] = (
        "onestopmarket"
    ),
    upstream_ca: UpstreamCa = None,
) -> None:
    """Read the listings of a shop, page by page, into a catalogue for `options.catalogue`.

    One connection, one page at a time, no other host. The same command goes on where it was stopped.

    Examples:

      souk catalogue import http://127.0.0.1:7770/ --out catalogue.csv

      souk catalogue import http://127.0.0.1:7770/ --out wine.csv --category Wine --limit 5

      souk catalogue import https://shop.example/ --out lamps.csv --site shop.yaml --category Lamps=/lamps
    """
    from experiments.console.terminal import stdout_console
    from experiments.designs.catalogue.importer import Importer, import_notes
    from interventions.yaml.sitemap import load_site_map

    mapped = load_site_map(site)
    importer = Importer(url if url.endswith("/") else f"{url}/", out, mapped, limit, upstream_ca)
    try:
        run_until_stopped(_show(importer, category or []))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    done = importer.progress
    console = stdout_console()
    console.print(
        f"{done.products:,} products, {done.added:,} of them new, from {done.fetched:,} pages; "
        f"{done.out_of_stock:,} out of stock left out",
        highlight=False,
    )
    for line in import_notes(out, mapped) if done.products else ():
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    if not done.complete:
        console.print(f"stopped after {limit} pages (--limit); the same command goes on", highlight=False)
    console.print(str(out), highlight=False, markup=False, soft_wrap=True)


async def _show(importer: "Importer", wanted: list[str]) -> None:
    """Say how far it is: in place on a terminal, a line now and then elsewhere."""
    from experiments.console.progress import duration
    from experiments.console.terminal import stderr_console

    console = stderr_console()
    began = last = time.monotonic()
    with console.status("reading the menu ...") as status:
        async for progress in importer.run(wanted):
            now = time.monotonic()
            left = (now - began) * (1 - progress.share) / progress.share
            line = (
                f"{progress.category}: page {progress.page} of {progress.pages}; category "
                f"{progress.read + 1} of {progress.categories}; {progress.products:,} products, "
                f"{duration(left)} left"
            )
            if console.is_terminal:
                status.update(line)
            elif now - last >= LINE_EVERY_SECONDS:
                last = now
                console.print(line, highlight=False, markup=False, soft_wrap=True)
