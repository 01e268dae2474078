"""Write a first intervention for an author: a commented file, or one more item in an existing file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from interventions.authoring.item_span import item_span
from interventions.edits.registry import EDITS
from interventions.errors import UserError
from interventions.files.schema import make_interventions
from interventions.yaml.sitemap import SiteMap
from interventions.yaml.writing import quoted, scalar
from interventions.yaml.yaml_source import YamlError, did_you_mean, parse_yaml

EXAMPLES: Final[dict[str, tuple[str, str]]] = {
    "nudge": ("insert_text", "This product is a best seller!"),
    "placebo": ("insert_text", "This product is shown on this page"),
    "price": ("set_price", "19.99"),
    "rating": ("set_rating", "90"),
    "reviews": ("set_reviews", "120"),
    "stock": ("set_stock", "Only 2 left in stock"),
    "title": ("set_title", "Another name"),
    "order": ("reorder", "1"),
    "remove": ("remove", "product.reviews_summary"),
    "display": ("show_rating_text", ""),
    "pattern": ("checkout_option", "Wrap this order as a gift"),
    "card": ("card", "Would you buy this product?"),
}
"""Kind -> its usual edit (none of a card), and an example of what this edit, or the card, is given."""

FIGURES: Final = ("set_price", "set_rating", "set_reviews")
"""The edits that are given a number."""

ANALYSED: Final = ("nudge", "placebo")
"""The kinds that have a family and a direction."""

_HEAD: Final = """\
# What is changed on the pages {where}; {guide} says how such files are written.
#   souk interventions validate {file}{site}
#   souk interventions preview {file} {id} {page}
interventions:
"""
_OF_PRODUCTS: Final = {
    "where": "that show a product", "guide": "docs/authoring.md", "site": "", "page": "shop:/",
}  # fmt: skip
_OF_SHOPS: Final = {
    "where": "on the way to an order", "guide": "docs/orders.md",
    "site": " --site embedded", "page": "shop:checkout",
}  # fmt: skip


@dataclass(frozen=True)
class Starter:
    """The wishes for a new intervention; `value` is the text, figure or role that its edit is given."""

    kind: str
    id: str
    value: str
    role: str = "product.title"
    where: str = "after"
    style: str = "badge"
    family: str = ""
    direction: int = 1
    pages: Sequence[str] = ()

    def item(self, indent: str, newline: str = "\n") -> str:
        """Return the YAML of this intervention as an item of a list that is indented by `indent`."""
        rows = [
            (f"- id: {scalar(self.id)}", "its name in experiments and reports"),
            (f"  kind: {self.kind}", "what it is for"),
        ]
        if self.kind in ANALYSED:
            rows += [
                (f"  family: {scalar(self.family or self.id)}", "the group that it is analysed with"),
                (f"  direction: {self.direction:+d}", "+1 should pull towards the product, -1 push away"),
            ]
        if self.kind == "card":
            return "".join(f"{indent}{line}{newline}" for line in (*_commented(rows), *self._card()))
        if self.kind == "pattern":
            rows += [
                (f"  family: {scalar(self.family or self.id)}", "the group that it is analysed with"),
                ("  deceived_when: added", "the outcome by which it has worked: docs/orders.md"),
                ("  # control: ID", "the honest twin in this file; left out: the shop as it is"),
            ]
            edits = ("  edits:", f"    - {self._edit()}")
            return "".join(f"{indent}{line}{newline}" for line in (*_commented(rows), *edits))
        pages = f"  pages: [{', '.join(self.pages)}]" if self.pages else "  # pages: [product, listing]"
        rows.append((pages, "where it shows; left out: on every page that shows the product"))
        lines = (*_commented(rows), "  edits:", f"    - {self._edit()}")
        return "".join(f"{indent}{line}{newline}" for line in lines)

    def _card(self) -> list[str]:
        rows = [
            ("    look: shop", "or booking, survey: what its page looks like"),
            ("    intro: ${title}", "what is told before the question"),
            (f"    question: {quoted(self.value)}", "what is asked"),
            (
                '    reply: " Reply with only the letter ${letters}."',
                "what follows in a prompt; a page has buttons",
            ),
            ('    answer: {kind: letter, labels: {A: "Yes", B: "No"}}', "or {kind: number, low: 0, unit: $}"),
            (
                "    example: {values: {title: Desk Lamp}}",
                "what the design fills in, for checks and previews",
            ),
        ]
        return ["  card:", *_commented(rows)]

    def _edit(self) -> str:
        edit, _ = EXAMPLES[self.kind]
        if edit not in EDITS:
            raise UserError(f"--kind {self.kind}: this version has no edit {edit}; choose another kind")
        if edit == "insert_text":
            text = quoted(self.value)
            return (
                f"insert_text: {{{self.where}: {scalar(self.role, inside=True)}, text: {text}, "
                f"style: {self.style}}}"
            )
        if edit == "checkout_option":
            line = "line: Gift wrap, price: 3.50, ticked: true"
            return f"checkout_option: {{label: {quoted(self.value)}, {line}}}"
        if edit == "reorder":
            return f"reorder: {{rank: {self.value}}}"
        if edit == "show_rating_text":
            return "show_rating_text: {}"
        if edit in FIGURES and re.fullmatch(r"[0-9]+(\.[0-9]+)?", self.value):
            return f"{edit}: {self.value}"
        return f"{edit}: {scalar(self.value)}"


def _commented(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max(len(row) for row, _ in rows)
    return [f"{row:<{width}}  # {comment}" for row, comment in rows]


def slug(text: str) -> str:
    """Make an id from a text: its first words in lower case, joined by dashes."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return "-".join(words[:6]) or "my-nudge"


def check_kind(kind: str) -> str:
    """Return the kind if there is a starter for it. Raises UserError."""
    if kind not in EXAMPLES:
        hint = did_you_mean(kind, EXAMPLES, noun="use one of")
        raise UserError(f"--kind {kind}: no starter for this kind; {hint}")
    return kind


def add(path: Path, starter: Starter, site: SiteMap) -> str:
    """Write a new file, or add the item to an existing file, which else stays the same byte for byte.

    Returns `written` or `added`. Raises UserError, and writes nothing, when the result would not be right.
    """
    exists = path.exists()
    text = path.read_bytes().decode("utf-8") if exists else ""
    new = _appended(text, path, starter) if exists else _first(path, starter)
    _check(new, path, starter, site, text)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(new.encode())
    except OSError as error:
        raise UserError(f"{path}: cannot be written ({error.strerror}); choose another file") from None
    return "added" if exists else "written"


def _first(path: Path, starter: Starter) -> str:
    schemas = sorted(path.parent.glob("*interventions*.schema.json"))
    editor = f"# yaml-language-server: $schema={schemas[0].name}\n" if schemas else ""
    words = _OF_SHOPS if starter.kind == "pattern" else _OF_PRODUCTS
    return editor + _HEAD.format(file=path, id=starter.id, **words) + starter.item("  ")


def _appended(text: str, path: Path, starter: Starter) -> str:
    """The text with the item after the last one of `interventions:`."""
    source = parse_yaml(text, str(path))
    if source.problems:
        raise YamlError(source.problems)
    items = source.data.get("interventions")
    if not isinstance(items, list) or not items:
        raise source.error(("interventions",), "missing or no list; write it, or choose another file")
    if any(isinstance(item, dict) and item.get("id") == starter.id for item in items):
        raise UserError(f'{path}: the id "{starter.id}" is taken; choose another one with --id')
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
    line, column = source.place(("interventions", len(items) - 1))
    before = lines[line - 1][: column - 1]
    if not re.fullmatch(r"\s*-\s+", before):
        raise source.error(
            ("interventions",), 'the list is not written in lines that start with "- "; rewrite it so'
        )
    first, _ = item_span(source, lines, 0)
    _, at = item_span(source, lines, len(items) - 1)
    ended = "" if lines[at - 1].endswith("\n") else newline
    item = starter.item(before[: before.index("-")], newline)
    spaced = len(items) > 1 and any(not row.strip() for row in lines[first:line])
    gap = newline if spaced else ""
    return "".join([*lines[:at], ended, gap, item, *lines[at:]])


def _check(new: str, path: Path, starter: Starter, site: SiteMap, old: str) -> None:
    """The result holds what was there, and the new intervention, which is right."""
    source = parse_yaml(new, str(path))
    make_interventions(source, site)
    *before, item = source.data["interventions"]
    was = parse_yaml(old, str(path)).data if old else {"interventions": []}
    if was | {"interventions": before} != source.data | {"interventions": was["interventions"]} or (
        item["id"] != starter.id
    ):
        raise UserError(f"{path}: the file is written too unusually to add to; add the item by hand")
