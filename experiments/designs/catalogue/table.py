"""Read a catalogue, a CSV file of a shop's products, and find those that can stand in a choice set."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from experiments.designs.inputs.csv_rows import Row, read_rows
from interventions.apply.plan import ProductFacts
from interventions.errors import UserError
from interventions.html.numbers import NumberUsage, read_figure
from interventions.yaml.sitemap import product_key
from interventions.yaml.yaml_source import did_you_mean

_NAMES: Final = {"product_name": "name", "product_url": "url"}
"""The columns of the consumer-choice study's catalogue."""
_COLUMNS: Final = (
    *("key", "url", "list", "category", "name", "price", "rating", "rating_scale", "reviews", "has_options"),
    *_NAMES,
)
_NEEDED: Final = ("category", "name", "price", "rating")
_FLAGS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}
_OUT_OF: Final = re.compile(r"(?:/|\bout of|\bof)\s*(\d+)\s*$", re.ASCII)
_LOW: Final = 10.0
"""Where no rating of a file is higher, it is not known what the ratings are out of."""
_MACHINE: Final = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_PLACEHOLDER: Final = re.compile(r"^\$\{[^}]*\}/?")


@dataclass(frozen=True, slots=True)
class CatalogueFile:
    """The products of a file that can stand in a choice set, and why others cannot.

    `refused` has a (product key, reason) for each row left out; `addresses` those that are whole, by key;
    `lists` the address of the list of each category, where the file says one.
    """

    file: str
    products: tuple[ProductFacts, ...]
    refused: tuple[tuple[str, str], ...]
    addresses: Mapping[str, str]
    lists: Mapping[str, str]
    unused: Sequence[str] = ()
    """A line that names the columns that are not used, where there are some."""

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
    66.99), `rating` ("80%", "4 / 5", or a number out of 100), and if there `rating_scale` (what a number is
    out of), `reviews` (1200 or "1.2k"), `has_options` and `list`, the address of the list that shows the
    product. Others are ignored, and `unused` names them.
    `query`: the parts of an address's query that tell which product it shows.

    Raises:
        UserError: the file cannot be read, a column is missing, it is not told what ratings are out of, or
            only their queries tell addresses apart.
    """
    columns, rows, others = read_rows(str(path), _COLUMNS)
    known = {_NAMES.get(column, column) for column in columns}
    for name in _NEEDED:
        if name not in known:
            raise UserError(f'{path}:1: no column "{name}"; {did_you_mean(name, columns, noun="it has")}')
    if not known & {"key", "url"}:
        raise UserError(f'{path}:1: no column "url" or "key"; add one that says which page is the product\'s')
    check_scale(str(path), (row.cells for row in rows))
    products: dict[str, ProductFacts] = {}
    refused: list[tuple[str, str]] = []
    addresses: dict[str, str] = {}
    lists: dict[str, str] = {}
    for row in rows:
        cells = {_NAMES.get(column, column): text for column, text in row.cells.items()}
        key, url = key_of(cells.get("key") or cells.get("url", ""), query), cells.get("url", "")
        if key in addresses and not cells.get("key") and (part := _other_query(url, addresses[key])):
            message = "the address of another product but for its query"
            raise row.error("url", f"{message}; say in the site map what tells them apart: query: {part}")
        if urlsplit(url).netloc:
            addresses.setdefault(key, url)
        if cells.get("list"):
            lists.setdefault(cells.get("category", ""), cells["list"])
        try:
            if key in products:
                raise Unusable("listed before")
            if _flag(cells.get("has_options", "")):
                raise Unusable("with options")
            products[key] = facts(key, cells)
        except Unusable as reason:
            refused.append((key, str(reason)))
    return CatalogueFile(str(path), tuple(products.values()), tuple(refused), addresses, lists, others)


def facts(key: str, cells: Mapping[str, str]) -> ProductFacts:
    """Read the facts in the cells of a row. Raises Unusable when one is missing or no figure."""
    price, (rating, scale) = figure_in(cells, "price"), rating_in(cells)
    if not key or not cells.get("name"):
        raise Unusable("without an address" if not key else "without a name")
    if not price:
        raise Unusable("without a price")
    if not rating:
        raise Unusable("without a rating")
    if rating > (scale or 100):
        raise Unusable(f"with a rating above {scale or 100:g}")
    return ProductFacts(
        key=key,
        category=cells.get("category", ""),
        name=cells["name"],
        price=price,
        rating=max(1, round(rating * 100 / (scale or 100))),
        reviews=round(figure_in(cells, "reviews") or 0),
    )


def check_scale(file: str, rows: Iterable[Mapping[str, str]], prefixes: Sequence[str] = ("",)) -> None:
    """Raise UserError where ratings may be out of 5 or 10 and the file does not tell.

    Such a rating in percent is nearly none. `prefixes`: of the columns, where a row has several products.
    """
    highest = 0.0
    for cells in rows:
        for prefix in prefixes:
            with suppress(Unusable):
                rating, scale = rating_in(_without(prefix, cells))
                highest = max(highest, math.inf if scale else rating or 0.0)
    if 0 < highest <= _LOW:
        raise UserError(
            f"{file}:1: no rating is above {highest:g}, and it is not said what it is out of; add a column "
            f"{prefixes[0]}rating_scale with the highest rating that there can be: 5, 10 or 100"
        )


def rating_in(cells: Mapping[str, str]) -> tuple[float | None, float | None]:
    """Read a rating, and what it is out of; None: it is not said. Raises Unusable where it is no figure."""
    text, scale = cells.get("rating", ""), figure_in(cells, "rating_scale")
    if "%" in text:
        return figure_in(cells, "rating"), 100
    if out_of := _OUT_OF.search(text):
        text, scale = text[: out_of.start()].strip(), float(out_of[1])
    return figure_in({"rating": text}, "rating"), scale


def _without(prefix: str, cells: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(prefix): text for name, text in cells.items() if name.startswith(prefix)}


def facts_in(row: Row, prefix: str, category: str, query: Sequence[str] = ()) -> ProductFacts:
    """Read the product in the columns that begin with `prefix`. Raises UserError with file and line."""
    cells = _without(prefix, row.cells)
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


def figure_in(cells: Mapping[str, str], name: str) -> float | None:
    """Read the figure in a cell; None where it is empty. Raises Unusable where it is no figure."""
    text = cells.get(name, "")
    if not text:
        return None
    try:
        usage = NumberUsage(whole=name == "reviews")  # 1.2k reviews are 1,200
        figure = float(text) if _MACHINE.fullmatch(text) else float(read_figure(text, usage))
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
