"""souk interventions map: a site map proposed for a shop never seen before."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.common import UpstreamCa


def map_(
    url: Annotated[str, typer.Argument(metavar="URL", help="A product's page.")],
    listing: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A category or search page; else the page's own links are tried."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The map's name; the host by default.")] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The YAML to write; NAME.yaml by default.")
    ] = None,
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The picture to write; beside the YAML by default.")
    ] = None,
    render: Annotated[
        bool, typer.Option("--render", help="Propose from the page as it is after its scripts ran.")
    ] = False,
    follow: Annotated[int, typer.Option(min=0, help="The most links to try to find a listing.")] = 6,
    upstream_ca: UpstreamCa = None,
) -> None:
    """Propose a site map: look at a product's page and a listing, find the roles, write commented YAML.

    Only the hosts of the addresses given are contacted. Files are never overwritten.

    Examples:

      souk interventions map https://shop.example/products/desk-lamp --listing https://shop.example/lamps

      souk interventions map https://shop.example/products/desk-lamp --name example --render
    """
    import asyncio

    from rich.markup import escape

    from experiments.console.terminal import new_table, stdout_console
    from experiments.pages.mapped_picture import picture
    from experiments.pages.site_mapping import default_name, map_site, save
    from interventions.errors import UserError

    name = name or default_name(url)
    file = out or Path(f"{name}.yaml")
    png = png or file.with_suffix(".png")
    for path, option in ((file, "--out"), (png, "--png")):
        if path.exists():
            raise UserError(f"{path}: exists and is not overwritten; choose another with {option}")
    mapped = asyncio.run(
        map_site(url, listing, name=name, render=render, follow=follow, upstream_ca=upstream_ca)
    )
    site, faults = save(mapped, file)
    image, undone = asyncio.run(picture(mapped, site))
    try:
        png.write_bytes(image)
    except OSError as error:
        raise UserError(f"--png {png}: cannot be written ({error.strerror}); choose another file") from None

    console = stdout_console()
    table = new_table(f"Site map {name}", "role", "first place", "found there", "confidence")
    for kind, css in mapped.proposal.pages.items():
        table.add_row(f"pages.{kind}", escape(css), "", "")
    for role in mapped.proposal.roles:
        place = role.places[0]
        where = place.css + (f" @{place.attribute}" if place.attribute else "")
        more = f" (+{len(role.places) - 1})" if len(role.places) > 1 else ""
        text = role.text if len(role.text) <= 40 else role.text[:39] + "…"
        sure = role.confidence + ("; only after scripts" if role.scripted else "")
        table.add_row(role.role, escape(where + more), escape(text), f"{sure}: {escape(role.reason)}")
    for rule in mapped.proposal.data:
        table.add_row("data", escape(rule.rule.css or ""), escape(rule.text), escape(rule.reason))
    console.print(table)
    for missing in mapped.proposal.missing:
        console.print(f"not found: {missing}", style="yellow", highlight=False)
    if render:
        console.print(
            "The proxy edits what the shop sends, before scripts run: roles marked so cannot be edited.",
            style="yellow",
        )
    for fault in (*faults, *undone):
        console.print(f"does not work yet: {escape(fault)}", style="yellow", highlight=False, soft_wrap=True)
    if not faults and not undone:
        console.print(
            "set_price and insert_text work on these pages, also after their scripts ran.", style="green"
        )
    console.print(f"{escape(str(file))}\n{escape(str(png))}", highlight=False, soft_wrap=True)
