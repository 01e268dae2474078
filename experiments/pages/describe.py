"""Describe interventions, and what they did to a page, in words and tables for people."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.text import Text

from experiments.console.terminal import new_table
from experiments.pages.example_products import example_products, shop_categories
from experiments.pages.html_diff import Hunk, shown
from interventions.apply.engine import Receipt
from interventions.apply.plan import compile_treatment
from interventions.authoring.confounds import GROUPS
from interventions.authoring.item_span import item_span
from interventions.edits.base import Edit
from interventions.edits.registry import edit_to_dict
from interventions.errors import UserError
from interventions.files.presets import Preset
from interventions.files.schema import Intervention, InterventionFile
from interventions.yaml.sitemap import SiteMap
from interventions.yaml.yaml_source import Source

_DIRECTIONS = {
    1: "expected to pull towards the product that carries it",
    -1: "expected to push away from the product that carries it",
}
_STYLES = {" ": "dim", "-": "red", "+": "green"}


def intervention_dict(intervention: Intervention) -> dict[str, Any]:
    """Return an intervention as plain data for scripts, with `edits` as in YAML."""
    data = intervention.model_dump(mode="json", exclude={"edits"})
    return data | {"edits": [edit_to_dict(edit) for edit in intervention.edits]}


def print_file(console: Console, name: str, file: InterventionFile) -> None:
    """Print the interventions of a file, a row each."""
    table = new_table(escape(name), "id", "kind", "family", "direction", "edits", "text")
    for item in file.interventions:
        edits = ", ".join(f"{edit.kind()} {_where(edit)}".strip() for edit in item.edits)
        direction = f"{item.direction:+d}" if item.kind in ("nudge", "placebo") else ""
        table.add_row(*map(escape, (item.id, item.kind, item.family, direction, edits, item.text)))
    console.print(table)


def print_preset(console: Console, name: str, preset: Preset) -> None:
    """Print the patterns of a study, a row each: the files and ids that are here, or why none is."""
    table = new_table(escape(f"{name}: {preset.study}, {preset.source}"), "pattern", "file", "ids")
    for pattern, each in preset.patterns.items():
        if isinstance(each, str):
            table.add_row(pattern, "", f"not there: {each}")
        else:
            table.add_row(pattern, "\n".join(each), "\n".join(", ".join(ids) for ids in each.values()))
    console.print(table)


def _where(edit: Edit) -> str:
    """The role that an edit names; nothing where its own name says it all."""
    arguments = edit_to_dict(edit)[edit.kind()]
    named = arguments.values() if isinstance(arguments, dict) else [arguments]
    return edit.roles()[0] if edit.roles()[0] in named else ""


def print_intervention(console: Console, intervention: Intervention, source: Source, site: SiteMap) -> None:
    """Print one intervention: what is changed where, its text, and its YAML.

    The text is that for an example product.
    """
    index = [item["id"] for item in source.data["interventions"]].index(intervention.id)
    lines = Path(source.name).read_text(encoding="utf-8-sig").splitlines()
    first, last = item_span(source, lines, index)
    console.print(Text(intervention.id, "bold"), highlight=False)
    console.print(f"{escape(_summary(intervention))}\n", highlight=False)
    table = new_table("", "edit", "page", "role", "selector")
    table.title = None
    for edit in intervention.edits:
        for row in _places(edit, intervention, site):
            table.add_row(*map(escape, row))
    if intervention.card is None:
        console.print(table)
    else:
        card = intervention.card.example_card(intervention.id)
        shown = "\n\n".join(text for text in (card.system, card.prompt) if text)
        console.print(shown, style="italic", highlight=False, markup=False, soft_wrap=True)
    for line in _filled(intervention) if intervention.card is None else ():
        console.print(line, highlight=False)
    console.print(f"\n{escape(source.name)}:{first}", style="dim", highlight=False, soft_wrap=True)
    code = "\n".join(lines[first - 1 : last])
    console.print(
        Syntax(code, "yaml", theme="ansi_dark", background_color="default", word_wrap=True), soft_wrap=True
    )
    console.print()


def _summary(intervention: Intervention) -> str:
    parts: list[str] = [intervention.kind]
    if intervention.family:
        parts.append(f"family {intervention.family}")
    if intervention.kind in ("nudge", "placebo"):
        parts.append(f"{intervention.direction:+d}: {_DIRECTIONS[intervention.direction]}")
    return ", ".join(parts)


def _places(edit: Edit, intervention: Intervention, site: SiteMap) -> Iterator[tuple[str, str, str, str]]:
    """A row for each page type; where an edit shows, its role there and what the site map selects by it."""
    named = edit.kind()
    for page in edit.stages():
        own = page if page != edit.stages()[0] or not edit.roles()[0].startswith("page.") else "page"
        role = next((each for each in edit.roles() if each.partition(".")[0] == own), "")
        for place in site.role(role)[:1]:
            yield named, page, role, place.css
            named = ""
    for page, group in GROUPS.items() if not edit.stages() else ():
        if page not in site.pages:
            continue
        role = edit.roles()[0]
        if role.startswith("product."):
            role = f"{group}.{role.partition('.')[2]}"
        elif role.partition(".")[0] not in (group, "page") and not (role[:4] == "css:" and page == "product"):
            role = ""
        places = site.role(role)
        if intervention.pages and page not in intervention.pages:
            yield named, page, "-", "not on this page type (pages)"
        elif not places:
            yield named, page, "-", "not there: no such role in the site map"
        else:
            place = places[0]
            yield named, page, role, place.css + (f" @{place.attribute}" if place.attribute else "")
        named = ""


def _filled(intervention: Intervention) -> Iterator[str]:
    """What each edit shows of an example product."""
    tables = [set(table) for table in intervention.tables.values()]
    known = [name for name in shop_categories() if all(name in table for table in tables)]
    categories = known or sorted(set.intersection(*tables) if tables else ()) or ["Example"]
    (product,) = example_products(categories[:1])
    try:
        done = compile_treatment(intervention, product, value=product.price)
    except UserError as error:
        yield f"[yellow]{escape(str(error))}[/yellow]"
        return
    if "${" in str(intervention_dict(intervention)):
        yield f"[dim]filled in for a product of the category {escape(product.category)}:[/dim]"
    for edit in done.edits:
        yield f"[bold]{edit.kind()}[/bold]: {escape(_flow(edit_to_dict(edit)[edit.kind()]))}"
        yield f"  [dim]{escape(' '.join((type(edit).__doc__ or '').split()))}[/dim]"


def _flow(value: object) -> str:
    """A value as YAML has it on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    return str(value) if str(value).replace(".", "").isalnum() else json.dumps(value, ensure_ascii=False)


def print_hunks(console: Console, hunks: Iterable[Hunk]) -> None:
    """Print the changed places of a page, with a little of what is around them."""
    for hunk in hunks:
        console.print(Text(f"line {hunk.number}", "cyan"))
        for sign, line in shown(hunk, console.width - 4):
            console.print(Text(f"{sign} {line}", _STYLES[sign], no_wrap=True, overflow="ellipsis"))


def print_receipts(console: Console, receipts: Iterable[Receipt]) -> None:
    """Print what each edit did, a row each."""
    table = new_table("Receipts", "edit", "role", "product", "places", "before", "after")
    for receipt in receipts:
        row = (receipt.edit, receipt.role, _short(receipt.product), str(receipt.matches))
        table.add_row(*map(escape, (*row, receipt.before, receipt.after)))
    console.print(table)


def _short(key: str) -> str:
    return key if len(key) <= 32 else key[:31] + "…"
