"""souk interventions: write, check and look at intervention files."""

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from experiments.commands.common import AsJson, UpstreamCa
from experiments.commands.sitemap import map_
from experiments.console.terminal import plain
from experiments.runs.interrupts import run_until_stopped
from interventions.errors import UserError

if TYPE_CHECKING:
    from experiments.pages.preview import Preview
    from interventions.apply.plan import ProductFacts
    from interventions.files.schema import InterventionFile
    from interventions.yaml.sitemap import SiteMap
    from interventions.yaml.yaml_source import Problem

app = typer.Typer(no_args_is_help=True, help="Write, check and preview interventions.")

Answer = TypeVar("Answer", str, int)

File = Annotated[str, typer.Argument(help="A shipped file by name (nudges), or a YAML file.")]
Site = Annotated[str, typer.Option("--site", metavar="MAP", help="Site map: a shipped name, or a path.")]
_OwnSite = Annotated[
    str | None,
    typer.Option(
        "--site", metavar="MAP", help="Site map; by default onestopmarket, of patterns of orders embedded."
    ),
]
_Id = Annotated[str, typer.Argument(metavar="ID", help="One intervention of the file.")]


@app.command("new")
def new(
    file: Annotated[
        Path | None, typer.Argument(help="A new file, or one to add to; ID.yaml by default.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="nudge, placebo, price, rating, reviews, stock, title, order, remove, display, "
            "pattern or card."
        ),
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
    site: Annotated[
        str | None,
        typer.Option(
            "--site", metavar="MAP", help="Site map; by default onestopmarket, of a pattern embedded."
        ),
    ] = None,
) -> None:
    """Write a commented intervention that works, or add one to a file; asks for what is missing.

    Examples:

      souk interventions new scarce.yaml --text "Only 2 left in stock" --after product.price_box

      souk interventions new scarce.yaml --kind placebo
    """
    from interventions.authoring.starter import ANALYSED, EXAMPLES, Starter, add, check_kind, slug
    from interventions.yaml.sitemap import load_site_map

    kind = check_kind(kind or _ask("kind", "nudge"))
    site_map = load_site_map(site or ("embedded" if kind == "pattern" else "onestopmarket"))
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
    page = "shop:checkout" if kind == "pattern" else "shop:/"
    typer.echo(f"{path}: {done} {id}; look at it: souk interventions preview {path} {id} {page}")


def _ask(name: str, default: Answer) -> Answer:
    """The user's answer, of the default's type; the default where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return default
    answer: Answer = typer.prompt(name, default=default)
    return answer


@app.command("show")
def show(
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="A shipped file or preset by name, or a YAML file."),
    ] = None,
    id: Annotated[str | None, typer.Argument(metavar="[ID]", help="Only this intervention.")] = None,
    site: _OwnSite = None,
    as_json: AsJson = False,
) -> None:
    """List the shipped interventions and site maps; of a file, say what is changed, where, with which words.

    Examples:

      souk interventions show

      souk interventions show nudges wirecutter

      souk interventions show sus-nine
    """
    from experiments.console.terminal import stdout_console
    from experiments.pages.describe import intervention_dict, print_file, print_intervention, print_preset
    from interventions.authoring.shipped import shipped_interventions, shipped_site_maps
    from interventions.files.presets import presets
    from interventions.files.schema import DEFAULT_SITE, interventions_source, make_interventions
    from interventions.yaml.sitemap import load_site_map

    usual, console = load_site_map(site or DEFAULT_SITE), stdout_console()
    shown = {name: each for name, each in presets().items() if file in (None, name)}
    if file in shown and id:
        raise UserError(f"{id}: a preset is shown as a whole; leave it out, or name its file")
    if file in shown and as_json:
        typer.echo(plain(json.dumps(shown[file]._asdict(), indent=2, ensure_ascii=False)))
        return
    if file in shown:
        print_preset(console, file, shown[file])
        return
    sources = {name: interventions_source(name) for name in ([file] if file else shipped_interventions())}
    loaded = {name: make_interventions(source, usual) for name, source in sources.items()}
    maps = [] if file else [load_site_map(name) for name in shipped_site_maps()]
    chosen = {name: [each[id]] if id else each.interventions for name, each in loaded.items()}
    if as_json:
        content = {
            "files": {name: [*map(intervention_dict, each)] for name, each in chosen.items()},
            "site_maps": {item.name: {"pages": [*item.pages], "roles": [*item.roles]} for item in maps},
            "presets": {name: each._asdict() for name, each in shown.items()},
        }
        typer.echo(plain(json.dumps(content, indent=2, ensure_ascii=False)))
        return
    if file:
        for intervention in chosen[file]:
            print_intervention(console, intervention, sources[file], _map_for(loaded[file], site))
        return
    for name, each in loaded.items():
        print_file(console, name, each)
    described = [f"{item.name} ({len(item.roles)} roles; {', '.join(item.pages)})" for item in maps]
    console.print("[bold]Site maps[/bold]", *described, sep="\n", highlight=False)
    told = [f"{name} ({len(each.patterns)} patterns of {each.study})" for name, each in shown.items()]
    console.print("[bold]Presets[/bold]", *told, sep="\n", highlight=False)


def _map_for(file: "InterventionFile", site: str | None) -> "SiteMap":
    """The site map that is named, else the one for a file: only one shipped map has the way to an order."""
    from interventions.files.schema import DEFAULT_SITE
    from interventions.yaml.sitemap import load_site_map

    of_orders = any(edit.stages() for item in file.interventions for edit in item.edits)
    return load_site_map(site or ("embedded" if of_orders else DEFAULT_SITE))


@app.command("validate")
def validate(
    files: Annotated[
        list[str] | None, typer.Argument(help="Shipped files by name, or YAML files.", show_default=False)
    ] = None,
    site: _OwnSite = None,
    products: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.csv|A,B",
            help="The shop's products (columns category, name, price ...), or its categories; by default "
            "those of the embedded shop.",
        ),
    ] = None,
    schema: Annotated[
        Literal["interventions", "site-map"] | None,
        typer.Option(
            help="Print the JSON Schema of such files instead, for editors that complete and check them."
        ),
    ] = None,
    fill: Annotated[
        str | None,
        typer.Option(metavar="NAME=MODEL", help="First let a model write the table of this variable."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings are errors.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check files: a line for every mistake, with place and remedy; a warning where a design confounds.

    Examples:

      souk interventions validate scarce.yaml

      souk interventions validate mine.yaml --products "Shoes,Hats" --strict

      souk interventions validate mine.yaml --products "Tea,Coffee" --fill expertise=openai:gpt-6-luna

      souk interventions validate --schema interventions > interventions.schema.json
    """
    from interventions.authoring.check import check
    from interventions.files.schema import DEFAULT_SITE
    from interventions.yaml.sitemap import load_site_map

    if schema:
        _print_schema(schema, site or DEFAULT_SITE)
        return
    if not files:
        raise UserError("name a file, such as souk interventions validate scarce.yaml; or --schema")
    site_map, (known, noun) = load_site_map(site or DEFAULT_SITE), _products(products)
    if fill:
        from experiments.pages.table_values import add_table

        name, _, model = fill.partition("=")
        asyncio.run(add_table(Path(files[0]), name, model, (each.category for each in known)))
        typer.echo(f"{files[0]}: {model} wrote the table {name}; read its lines before a run", err=True)
    slow = [Problem(site_map.name, None, None, key, why) for key, why in site_map.slow_expressions()]
    found = [("error" if strict else "warning", problem) for problem in slow]
    placebo = nudge = ""
    for name in files:
        findings = check(name, site_map, known)
        if findings.file and (own := _map_for(findings.file, site)).name != site_map.name:
            findings = check(name, own, known)
        found += [("error", problem) for problem in findings.errors]
        found += [("error" if strict else "warning", problem) for problem in findings.warnings]
        if findings.file is None:
            continue
        kinds = [item.kind for item in findings.file.interventions]
        placebo, nudge = placebo or name * ("placebo" in kinds), nudge or name * ("nudge" in kinds)
        if not as_json:
            counts = [(kinds.count(kind), kind.removesuffix("s")) for kind in dict.fromkeys(kinds)]
            said = ", ".join(f"{count} {each}{'s' * (count > 1)}" for count, each in counts)
            if not products and site_map.name != DEFAULT_SITE:
                noun = "categories of the embedded shop; name yours with --products"
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


def _products(named: str | None) -> "tuple[list[ProductFacts], str]":
    """The products of a CSV file, or an example of each category; and what they are called."""
    from experiments.designs.catalogue.product_list import read_products
    from experiments.pages.example_products import example_products

    if named and named.endswith(".csv"):
        found, unused = read_products(Path(named))
        for line in unused:
            typer.echo(line, err=True)
        return found, "products"
    return example_products([name.strip() for name in (named or "").split(",") if name.strip()]), "categories"


def _print_schema(kind: str, site: str) -> None:
    from interventions.authoring.json_schema import interventions_schema, site_map_schema
    from interventions.yaml.sitemap import load_site_map

    made = site_map_schema() if kind == "site-map" else interventions_schema(load_site_map(site))
    typer.echo(json.dumps(made, indent=2, ensure_ascii=False))


@app.command("preview")
def preview_page(
    file: File,
    id: _Id,
    url: Annotated[
        str,
        typer.Argument(
            help="Any page; of the embedded shop: shop:KEY, shop:/PATH, shop:cart, shop:checkout, "
            "shop:order, or shop:path for all of them; with an experiment's products: FILE.yaml:KEY."
        ),
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

      souk interventions preview checkout service-fee-checkout shop:path

      souk interventions preview nudges wirecutter http://127.0.0.1:7770/ --var category=cookies
    """
    from experiments.console.terminal import stdout_console
    from experiments.pages.describe import print_hunks, print_receipts
    from experiments.pages.html_diff import html_diff
    from experiments.pages.preview import fetched, on_path, preview, site_of
    from interventions.files.schema import load_interventions
    from interventions.yaml.sitemap import load_site_map
    from interventions.yaml.variables import read_values

    site_map = load_site_map(site_of(url, site))
    intervention, values = load_interventions(file, site_map)[id], read_values(var or ())
    console = stdout_console()

    def show(found: "Preview") -> dict[str, Any]:
        page = found.page
        hunks = html_diff(page.text(page.body), page.text(found.after))
        if not as_json:
            told = f"{page.url} ({found.page_type}){'' if hunks else ': unchanged'}"
            console.print(told, markup=False, highlight=False, soft_wrap=True)
            if hunks:
                print_hunks(console, hunks)
                print_receipts(console, found.receipts)
        if found.left:
            typer.echo(f"{page.url}: {plain(found.left)}", err=True)
        receipts = [receipt.to_dict() for receipt in found.receipts]
        edited = [hunk.to_dict() for hunk in hunks]
        return {"url": page.url, "page_type": found.page_type, "hunks": edited, "receipts": receipts}

    async def draw(found: "Preview", picture: Path) -> None:
        from experiments.pages.side_by_side import write_side_by_side

        for line in await write_side_by_side(found, id, picture, upstream_ca):
            typer.echo(plain(line), err=True)
        typer.echo(f"{picture}: before and after", err=True)

    async def run() -> None:
        addresses, shown = on_path(url, product), []
        one = addresses == [url]
        for each in addresses:
            async with fetched(each, product, upstream_ca, drawn=site_map.drawn) as page:
                treated = product if one else None
                found = preview(page, intervention, site_map, product=treated, values=values, must_change=one)
                shown.append(show(found))
                if png and found.receipts:
                    await draw(found, png if one else png.with_stem(f"{png.stem}-{found.page_type}"))
        if as_json:
            content = shown[0] if one else shown
            typer.echo(plain(json.dumps(content, indent=2, ensure_ascii=False)))
        if not any(each["receipts"] for each in shown):
            raise UserError(f"{id} changes no page on the way to an order")

    run_until_stopped(run())


app.command("map")(map_)
