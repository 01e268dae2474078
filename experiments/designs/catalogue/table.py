"""Read a catalogue, a CSV file of a shop's products, and find those that can stand in a choice set."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from experiments.designs.inputs.csv_rows import Row, read_rows
from interventions.apply.plan import ProductFacts
from interventions.errors import UserError
from interventions.html.numbers import read_figure
from interventions.yaml.sitemap import product_key
from interventions.yaml.yaml_source import did_you_mean

_NAMES: Final = {"product_name": "name", "product_url": "url"}
"""The columns of the consumer-choice study's catalogue."""
_NEEDED: Final = ("category", "name", "price", "rating")
_FLAGS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}
_MACHINE: Final = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_PLACEHOLDER: Final = re.compile(r"^\$\{[^}]*\}/?")


@dataclass(frozen=True, slots=True)
class CatalogueFile:
    """The products of a file that can stand in a choice set, and why others cannot.

    `refused` has a (product key, reason) for each row left out; `addresses` those that are whole, by key.
    """

    file: str
    products: tuple[ProductFacts, ...]
    refused: tuple[tuple[str, str], ...]
    addresses: Mapping[str, str]

    def note(self) -> str:
        """Describe how many rows were kept, and how many were left out for which reason."""
        reasons = Counter(reason for _, reason in self.refused).most_common()
        left_out = ", ".join(f"{count:,} {reason}" for reason, count in reasons)
        kept = f"{self.file}: {len(self.products):,} products kept"
        return f"{kept}; left out: {left_out}" if left_out else kept


class Unusable(ValueError):
    """A row cannot stand in a choice set; the message is the reason."""


def read_catalogue(path: Path, query: Sequence[str] = ()) -> CatalogueFile:
    """Read the products of a CSV file that have a price, a rating above 0 and no options, each once.

    Columns: `key` or `url` (or `product_url`), `category`, `name` (or `product_name`), `price` ("$66.99" or
    66.99), `rating` in percent ("80%" or 80), and if there `reviews` and `has_options`. Others are ignored.
    `query`: the parts of an address's query that tell which product it shows.

    Raises:
        UserError: the file cannot be read, a column is missing, or only their queries tell addresses apart.
    """
    columns, rows = read_rows(str(path))
    known = {_NAMES.get(column, column) for column in columns}
    for name in _NEEDED:
        if name not in known:
            raise UserError(f'{path}:1: no column "{name}"; {did_you_mean(name, columns, noun="it has")}')
    if not known & {"key", "url"}:
        raise UserError(f'{path}:1: no column "url" or "key"; add one that says which page is the product\'s')
    products: dict[str, ProductFacts] = {}
    refused: list[tuple[str, str]] = []
    addresses: dict[str, str] = {}
    for row in rows:
        cells = {_NAMES.get(column, column): text for column, text in row.cells.items()}
        key, url = key_of(cells.get("key") or cells.get("url", ""), query), cells.get("url", "")
        if key in addresses and not cells.get("key") and (part := _other_query(url, addresses[key])):
            message = "the address of another product but for its query"
            raise row.error("url", f"{message}; say in the site map what tells them apart: query: {part}")
        if urlsplit(url).netloc:
            addresses.setdefault(key, url)
        try:
            if key in products:
                raise Unusable("listed before")
            if _flag(cells.get("has_options", "")):
                raise Unusable("with options")
            products[key] = facts(key, cells)
        except Unusable as reason:
            refused.append((key, str(reason)))
    return CatalogueFile(str(path), tuple(products.values()), tuple(refused), addresses)


def facts(key: str, cells: Mapping[str, str]) -> ProductFacts:
    """Read the facts in the cells of a row. Raises Unusable when one is missing or no figure."""
    price, rating = _figure(cells, "price"), _figure(cells, "rating")
    if not key or not cells.get("name"):
        raise Unusable("without an address" if not key else "without a name")
    if not price:
        raise Unusable("without a price")
    if not rating:
        raise Unusable("without a rating")
    if rating > 100:
        raise Unusable("with a rating above 100")
    return ProductFacts(
        key=key,
        category=cells.get("category", ""),
        name=cells["name"],
        price=price,
        rating=max(1, round(rating)),
        reviews=round(_figure(cells, "reviews") or 0),
    )


def facts_in(row: Row, prefix: str, category: str, query: Sequence[str] = ()) -> ProductFacts:
    """Read the product in the columns that begin with `prefix`. Raises UserError with file and line."""
    cells = {
        column.removeprefix(prefix): text for column, text in row.cells.items() if column.startswith(prefix)
    }
    try:
        return facts(key_of(cells.get("url", ""), query), {**cells, "category": category})
    except Unusable as reason:
        raise row.error(f"{prefix}url", f"a product {reason}; mend the row or remove it") from None


def key_of(text: str, query: Sequence[str] = ()) -> str:
    """Return the product key of an address or a key.

    A variable in front, as `${base}`, stands for the shop. `query`: see `product_key`.
    """
    return product_key(_PLACEHOLDER.sub("/", text.strip()), query=query)


def _other_query(url: str, before: str) -> str:
    """The part of the query in which two addresses differ that are the same else; empty where none does."""
    one, other = (dict(parse_qsl(urlsplit(each).query)) for each in (url, before))
    return next((name for name in one if name in other and one[name] != other[name]), "")


def _figure(cells: Mapping[str, str], name: str) -> float | None:
    text = cells.get(name, "")
    if not text:
        return None
    try:
        figure = float(text) if _MACHINE.fullmatch(text) else float(read_figure(text))
    except ValueError:
        figure = math.inf
    if not math.isfinite(figure):
        raise Unusable(f"with an unreadable {name}")
    return figure


def _flag(text: str) -> bool:
    try:
        return _FLAGS[text.lower()]
    except KeyError:
        raise Unusable("with an unreadable has_options") from None
