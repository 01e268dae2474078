"""souk interventions: write, check and look at intervention files."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from experiments.commands.common import AsJson, UpstreamCa
from experiments.commands.sitemap import map_
from experiments.console.terminal import plain
from experiments.runs.interrupts import run_until_stopped
from interventions.errors import UserError

if TYPE_CHECKING:
    from interventions.apply.plan import ProductFacts
    from interventions.yaml.yaml_source import Problem

app = typer.Typer(no_args_is_help=True, help="Write, check and preview interventions.")

Answer = TypeVar("Answer", str, int)

File = Annotated[str, typer.Argument(help="A shipped file by name (nudges), or a YAML file.")]
Site = Annotated[str, typer.Option("--site", metavar="MAP", help="Site map: a shipped name, or a path.")]
_Id = Annotated[str, typer.Argument(metavar="ID", help="One intervention of the file.")]


@app.command("new")
def new(
    file: Annotated[
        Path | None, typer.Argument(help="A new file, or one to add to; ID.yaml by default.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="nudge, placebo, price, rating, reviews, stock, title, order, remove or display."),
    ] = None,
    id: Annotated[str | None, typer.Option("--id", help="Its name; made from the text by default.")] = None,
    text: Annotated[
        str | None, typer.Option(help="The text or figure to show; for remove, the role.")
    ] = None,
    after: Annotated[str | None, typer.Option(metavar="ROLE", help="Show the text after this role.")] = None,
    before: Annotated[str | None, typer.Option(metavar="ROLE", help="Or show it before this role.")] = None,
    style: Annotated[str, typer.Option(help="badge, note or plain.")] = "badge",
    family: Annotated[str | None, typer.Option(help="The group that it is analysed with.")] = None,
    direction: Annotated[
        int | None, typer.Option(help="1: should pull towards the product; -1: push away.")
    ] = None,
    pages: Annotated[
        list[str] | None, typer.Option("--page", metavar="TYPE", help="Only on these page types; repeatable.")
    ] = None,
    site: Site = "onestopmarket",
) -> None:
    """Write a commented intervention that works, or add one to a file; asks for what is missing.

    Examples:

      souk interventions new scarce.yaml --text "Only 2 left in stock" --after product.price_box

      souk interventions new scarce.yaml --kind placebo
    """
    from interventions.authoring.starter import ANALYSED, EXAMPLES, Starter, add, check_kind, slug
    from interventions.yaml.sitemap import load_site_map

    site_map = load_site_map(site)
    kind = check_kind(kind or _ask("kind", "nudge"))
    edit, example = EXAMPLES[kind]
    figure = edit != "insert_text"
    text = text or (_ask(edit if figure else "text", example) if example else "")
    id = id or _ask("id", slug(text) if kind == "nudge" else slug(f"{kind} {text if figure else ''}"))
    if kind in ANALYSED:
        family = family or _ask("family", id)
        direction = direction or _ask("direction", 1)
    place = [("after", after), ("before", before)]
    where, role = next(((name, role) for name, role in place if role), ("after", "product.title"))
    starter = Starter(kind, id, text, role, where, style, family or kind, direction or 1, pages or ())
    path = file or Path(f"{id}.yaml")
    done = add(path, starter, site_map)
    typer.echo(f"{path}: {done} {id}; look at it: souk interventions preview {path} {id} shop:/")


def _ask(name: str, default: Answer) -> Answer:
    """The user's answer, of the default's type; the default where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return default
    answer: Answer = typer.prompt(name, default=default)
    return answer


@app.command("list")
def list_files(
    files: Annotated[
        list[str] | None, typer.Argument(help="Files to list; all shipped files by default.")
    ] = None,
    site: Site = "onestopmarket",
    as_json: AsJson = False,
) -> None:
    """List the shipped interventions and site maps, or the interventions of files.

    Example: souk interventions list
    """
    from experiments.console.terminal import stdout_console
    from experiments.pages.describe import intervention_dict, print_file
    from interventions.authoring.shipped import shipped_interventions, shipped_site_maps
    from interventions.files.schema import load_interventions
    from interventions.yaml.sitemap import load_site_map

    names = files or shipped_interventions()
    loaded = {name: load_interventions(name, load_site_map(site)) for name in names}
    maps = [] if files else [load_site_map(name) for name in shipped_site_maps()]
    if as_json:
        content = {
            "files": {name: [*map(intervention_dict, file.interventions)] for name, file in loaded.items()},
            "site_maps": {item.name: {"pages": [*item.pages], "roles": [*item.roles]} for item in maps},
        }
        typer.echo(plain(json.dumps(content, indent=2, ensure_ascii=False)))
        return
    console = stdout_console()
    for name, file in loaded.items():
        print_file(console, name, file)
    if maps:
        described = [f"{item.name} ({len(item.roles)} roles; {', '.join(item.pages)})" for item in maps]
        console.print("[bold]Site maps[/bold]", *described, sep="\n", highlight=False)


@app.command("show")
def show(
    file: File,
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Only this intervention.")] = None,
    site: Site = "onestopmarket",
) -> None:
    """Say what an intervention changes, where, and with which words.

    Example: souk interventions show nudges wirecutter
    """
    from experiments.console.terminal import stdout_console
    from experiments.pages.describe import print_intervention
    from interventions.files.schema import interventions_source, make_interventions
    from interventions.yaml.sitemap import load_site_map

    source, site_map = interventions_source(file), load_site_map(site)
    loaded = make_interventions(source, site_map)
    for intervention in [loaded[id]] if id else loaded.interventions:
        print_intervention(stdout_console(), intervention, source, site_map)


@app.command("validate")
def validate(
    files: Annotated[list[str], typer.Argument(help="Shipped files by name, or YAML files.")],
    site: Site = "onestopmarket",
    categories: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="The shop's categories; by default those of the embedded shop."),
    ] = None,
    products: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv", help="Or a CSV file of the shop's products: category, name, price ..."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings are errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check files: a line for every mistake, with place and remedy; a warning where a design confounds.

    Examples:

      souk interventions validate scarce.yaml

      souk interventions validate mine.yaml --categories "Shoes,Hats" --strict
    """
    from interventions.authoring.check import check
    from interventions.files.schema import DEFAULT_SITE
    from interventions.yaml.sitemap import load_site_map

    site_map, known = load_site_map(site), _products(categories, products)
    slow = [Problem(site, None, None, key, why) for key, why in site_map.slow_expressions()]
    found = [("error" if strict else "warning", problem) for problem in slow]
    placebo = nudge = ""
    for name in files:
        findings = check(name, site_map, known)
        found += [("error", problem) for problem in findings.errors]
        found += [("error" if strict else "warning", problem) for problem in findings.warnings]
        if findings.file is None:
            continue
        kinds = [item.kind for item in findings.file.interventions]
        placebo, nudge = placebo or name * ("placebo" in kinds), nudge or name * ("nudge" in kinds)
        if not as_json:
            counts = [(kinds.count(kind), kind.removesuffix("s")) for kind in dict.fromkeys(kinds)]
            said = ", ".join(f"{count} {noun}{'s' * (count > 1)}" for count, noun in counts)
            noun = "products" if products else "categories"
            if not products and not categories and site_map.name != DEFAULT_SITE:
                noun = "categories of the embedded shop; name yours with --categories or --products"
            typer.echo(f"{name}: ok: {said}; every variable is known for {len(known)} {noun}")
    if as_json:
        rows = [{"severity": severity, **problem.to_dict()} for severity, problem in found]
        typer.echo(plain(json.dumps(rows, indent=2, ensure_ascii=False)))
    else:
        for severity, problem in found:
            mark = typer.style(f"{severity}:", fg="red" if severity == "error" else "yellow", bold=True)
            typer.echo(f"{mark} {plain(str(problem))}", err=True)
        if nudge and not placebo:
            typer.echo(f"hint: {nudge} has no placebo; run it beside the shipped file placebo", err=True)
    raise typer.Exit(2 if any(severity == "error" for severity, _ in found) else 0)


def _products(categories: str | None, products: Path | None) -> "list[ProductFacts]":
    from experiments.designs.catalogue.product_list import read_products
    from experiments.pages.example_products import example_products

    if categories and products:
        raise UserError("--categories and --products say the same thing; give one of the two")
    if products:
        found, unused = read_products(products)
        for line in unused:
            typer.echo(line, err=True)
        return found
    names = [name.strip() for name in (categories or "").split(",") if name.strip()]
    return example_products(names)


@app.command("preview")
def preview_page(
    file: File,
    id: _Id,
    url: Annotated[
        str, typer.Argument(help="Any page; of the embedded shop: shop:KEY, shop:/path, shop:cart.")
    ],
    png: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also a picture, before and after side by side.")
    ] = None,
    product: Annotated[str | None, typer.Option(metavar="KEY", help="Treat only this product.")] = None,
    site: Site = "onestopmarket",
    var: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A variable, or a fact: product.category=Cookies."),
    ] = None,
    upstream_ca: UpstreamCa = None,
    as_json: AsJson = False,
) -> None:
    """Show what one intervention changes on a page: the difference, and the receipts.

    Examples:

      souk interventions preview scarce.yaml only-2-left-in-stock shop:/ --png scarce.png

      souk interventions preview nudges wirecutter http://127.0.0.1:7770/ --var category=cookies
    """
    from experiments.console.terminal import stdout_console
    from experiments.pages.describe import print_hunks, print_receipts
    from experiments.pages.html_diff import html_diff
    from experiments.pages.preview import fetched, preview
    from interventions.files.schema import load_interventions
    from interventions.yaml.sitemap import load_site_map
    from interventions.yaml.variables import read_values

    site_map = load_site_map(site)
    intervention, values = load_interventions(file, site_map)[id], read_values(var or ())
    console = stdout_console()

    async def run() -> None:
        async with fetched(url, product, upstream_ca, drawn=site_map.drawn) as page:
            found = preview(page, intervention, site_map, product=product, values=values)
            hunks = html_diff(page.text(page.body), page.text(found.after))
            if as_json:
                content = {
                    "url": page.url,
                    "page_type": found.page_type,
                    "hunks": [hunk.to_dict() for hunk in hunks],
                    "receipts": [receipt.to_dict() for receipt in found.receipts],
                }
                typer.echo(plain(json.dumps(content, indent=2, ensure_ascii=False)))
            else:
                console.print(
                    f"{page.url} ({found.page_type})", markup=False, highlight=False, soft_wrap=True
                )
                print_hunks(console, hunks)
                print_receipts(console, found.receipts)
            if found.left:
                typer.echo(f"{page.url}: {plain(found.left)}", err=True)
            if png:
                from experiments.pages.side_by_side import write_side_by_side

                for line in await write_side_by_side(found, id, png, upstream_ca):
                    typer.echo(plain(line), err=True)
                typer.echo(f"{png}: before and after", err=True)

    run_until_stopped(run())


@app.command("schema")
def schema(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the schema to a file.")
    ] = None,
    site_map: Annotated[
        bool, typer.Option("--site-map", help="Print the schema of site maps instead.")
    ] = False,
    site: Site = "onestopmarket",
) -> None:
    """Print the JSON Schema of intervention files, so that editors complete, explain and check them.

    Example: souk interventions schema --out interventions.schema.json
    """
    from interventions.authoring.json_schema import interventions_schema, site_map_schema
    from interventions.yaml.sitemap import load_site_map

    made = site_map_schema() if site_map else interventions_schema(load_site_map(site))
    text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"--out {out}: cannot be written ({error.strerror}); choose another file") from None
    typer.echo(f"{out}: written; files beside it can start with: # yaml-language-server: $schema={out.name}")


app.command("map")(map_)
