"""souk interventions map: a site map proposed for a shop never seen before."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from experiments.commands.common import UpstreamCa
from experiments.console.terminal import new_table, stdout_console
from experiments.runs.interrupts import run_until_stopped

if TYPE_CHECKING:
    from experiments.pages.whole_map import ProvedMap


def map_(
    url: Annotated[str, typer.Argument(metavar="URL", help="A product's page, or one that lists products.")],
    listing: Annotated[
        str | None,
        typer.Option(metavar="URL", help="A category or search page; else the page's own links are tried."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The YAML to write, and the map's name; by default that of the host."
        ),
    ] = None,
    render: Annotated[
        bool, typer.Option("--render", help="Propose from the page as it is after its scripts ran.")
    ] = False,
    follow: Annotated[int, typer.Option(min=0, help="The most links to try to find a listing.")] = 6,
    buy: Annotated[
        bool,
        typer.Option(
            "--buy/--no-buy",
            help="Press the shop's add-to-cart button, in fresh browser sessions that are then forgotten, to "
            "learn what a choice is and what the cart shows. The checkout is opened only where a plain link "
            "leads there, and nothing is pressed on it.",
        ),
    ] = True,
    upstream_ca: UpstreamCa = None,
    json_: Annotated[bool, typer.Option("--json", help="Print what was found and proved as JSON.")] = False,
) -> None:
    """Propose a site map: look at a shop's pages, put a product into the cart, prove each role, write YAML.

    Beside the YAML comes a picture of the page with its roles.

    URL is a product's page, or a page that lists products. The shop's add-to-cart button is pressed up to
    four times, in two fresh browser sessions; with --no-buy it is not. Nothing is ordered. Only the hosts of
    the addresses given are contacted. Files are never overwritten.

    Examples:

      souk interventions map https://shop.example/products/desk-lamp --listing https://shop.example/lamps

      souk interventions map https://shop.example/products/desk-lamp --out example.yaml --render --no-buy
    """
    import json

    from experiments.pages.site_mapping import default_name
    from experiments.pages.whole_map import map_and_prove
    from interventions.errors import UserError

    file = out or Path(f"{default_name(url)}.yaml")
    name, png = file.stem, file.with_suffix(".png")
    for path in (file, png):
        if path.exists():
            raise UserError(f"{path}: exists and is not overwritten; choose another with --out")
    done = run_until_stopped(
        map_and_prove(
            url, listing, name=name, file=file, png=png, render=render, follow=follow, buys=buy,
            upstream_ca=upstream_ca,
        )
    )  # fmt: skip
    if json_:
        typer.echo(
            json.dumps(done.as_json() | {"file": str(file), "png": str(png)}, ensure_ascii=False, indent=1)
        )
        return
    _print(done, name)
    if not render and {"product.price", "product.add_to_cart"} & {*done.mapped.proposal.missing}:
        stdout_console().print("Scripts may draw these pages: try again with --render", style="yellow")
    for path in (file, png):
        stdout_console().print(escape(str(path)), highlight=False, soft_wrap=True)


def _print(done: "ProvedMap", name: str) -> None:
    console, proposal = stdout_console(), done.mapped.proposal
    table = new_table(f"Site map {name}", "role", "first place", "found there", "confidence", "proved")
    for kind, css in proposal.pages.items():
        proof = done.verdict(f"pages.{kind}") if f"pages.{kind}" in done.proofs else ""
        table.add_row(f"pages.{kind}", escape(css), "", "", proof)
    for role in proposal.roles:
        place = role.places[0]
        where = place.css + (f" @{place.attribute}" if place.attribute else "")
        more = f" (+{len(role.places) - 1})" if len(role.places) > 1 else ""
        text = role.text if len(role.text) <= 40 else role.text[:39] + "…"
        sure = role.confidence + ("; only after scripts" if role.scripted else "")
        table.add_row(
            role.role,
            escape(where + more),
            escape(text),
            f"{sure}: {escape(role.reason)}",
            done.verdict(role.role),
        )
    for rule in proposal.data:
        source = rule.rule.css or rule.rule.url or ""
        table.add_row("data", escape(source), escape(rule.text), escape(rule.reason), "")
    for rule_name, reason in (proposal.learned.reasons if proposal.learned else {}).items():
        table.add_row(f"choice.{rule_name}", "", "", escape(reason), done.verdict(f"choice.{rule_name}"))
    console.print(table)
    for missing in proposal.missing:
        console.print(f"not found: {missing}", style="yellow", highlight=False)
    if proposal.drawn:
        console.print("drawn: true: edits are made in these pages as their scripts have drawn them.")
    for button in proposal.dismiss:
        pressed = "is pressed on each start page; it took a layer away"
        console.print(f"dismiss: {escape(button.css or button.text or '')} {pressed}", highlight=False)
    for left in proposal.learned.by_hand if proposal.learned else ():
        console.print(f"by hand: {escape(left)}", style="yellow", highlight=False, soft_wrap=True)
    for trouble in done.troubles:
        console.print(
            f"does not work yet: {escape(trouble)}", style="yellow", highlight=False, soft_wrap=True
        )
    if not (done.troubles or any(proof.proved is False for proof in done.proofs.values())):
        console.print(
            "set_price and insert_text work on these pages, also after their scripts ran.", style="green"
        )
