"""Read a table of a user's products, and make the catalogue that the embedded shop serves in its place."""

import io
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from babel.numbers import get_group_symbol
from PIL import Image, UnidentifiedImageError

from environments.shop.catalogue import LONGEST_KEY, Catalogue, OwnContent, Product
from environments.shop.departments import FIRST_ID, Category, slug
from experiments.designs.catalogue.table import Unusable, check_scale, figure_in, rating_in
from experiments.designs.inputs.csv_rows import Row, read_rows
from experiments.designs.inputs.identity import digest
from interventions.errors import UserError
from interventions.html.currencies import minor_units
from interventions.html.numbers import NumberUsage, figures, one_line
from interventions.yaml.yaml_source import did_you_mean

_PAGES: Final = ("key", "url", "product_url")
_COLUMNS: Final = (
    *("name", "price", "rating", "rating_scale", "reviews", "category", "picture", "description"),
    *_PAGES,
)
_NEEDED: Final = ("name", "price")
_SCALES: Final = (5, 10, 100)
_FORMATS: Final = ("PNG", "JPEG", "WEBP", "GIF")
_MOST_BYTES: Final = 5_000_000
"""The most that a picture may have."""
_MOST_LETTERS: Final = 500
"""The most that a name may have."""
_NO_CATEGORY: Final = "Products"
_OF_THREE: Final = re.compile(r"[1-9]\d{0,2}([.,])\d{3}")
"""A figure whose sign may be of thousands or of decimals."""
_EMPTY: Final = "the cell is empty; fill it in"


def says_pages(path: Path) -> bool:
    """Return whether a catalogue says where its products' pages are: they are those of a shop that runs."""
    return not {*_PAGES}.isdisjoint(read_rows(str(path), _COLUMNS).columns)


def own_catalogue(path: Path, currency: str = "USD", language: str = "en") -> Catalogue:
    """Read the products of a CSV file without a column `key` or `url`, with their pictures.

    Columns: `name` and `price`, and if there `rating` (`80%`, `4 / 5`, or a number out of `rating_scale`),
    `reviews`, `category`, `description` and `picture` (a file's name in the folder of the table). Each other
    column is an attribute.

    Raises:
        UserError: a column is missing, a cell is not what it should be, or a picture cannot be shown.
    """
    columns, rows, _ = read_rows(str(path), _COLUMNS)
    for name in _NEEDED:
        if name not in columns:
            raise UserError(f'{path}:1: no column "{name}"; {did_you_mean(name, columns, noun="it has")}')
    for column in set(columns).difference(_COLUMNS):
        if near := get_close_matches(column.casefold(), _PAGES, 1, 0.8):
            fix = f"write {near[0]}, or give this detail another name"
            raise UserError(f'{path}:1: column "{column}" may say where a shop\'s pages are; {fix}')
    check_scale(str(path), (row.cells for row in rows))
    tree = _tree(row.cells.get("category", _NO_CATEGORY) for row in rows)
    taken = {node.url.removesuffix(".html") for node in tree}
    usage = NumberUsage(language, currency)
    products, lines = list[Product](), dict[str, int]()
    for number, row in enumerate(rows, 1):
        product = _product(
            row, number, taken, usage, [column for column in columns if column not in _COLUMNS]
        )
        if product.name in lines:
            message = f"the name is in line {lines[product.name]} too; make the two differ"
            raise row.error("name", message)
        taken.add(product.key)
        lines[product.name] = row.line
        products.append(product)
    return Catalogue(0, tuple(products), tree, currency=currency, language=language)


def content(catalogue: Catalogue) -> dict[str, Any]:
    """Return all that pages show of a user's products as plain data, with the digests of pictures."""
    products = [asdict(product) for product in catalogue.products]
    for told in products:
        told["own"]["picture"] = digest(told["own"]["picture"])
    return {"currency": catalogue.currency, "language": catalogue.language, "products": products}


def _tree(categories: Iterable[str]) -> tuple[Category, ...]:
    """A department for each category, in the order of the table."""
    nodes, taken = list[Category](), set[str]()
    for number, name in enumerate(dict.fromkeys(map(one_line, categories)), FIRST_ID):
        key = _key(name, "category", number, taken)
        taken.add(key)
        nodes.append(Category(number, (name,), f"{key}.html", (name,), ()))
    return tuple(nodes)


def _key(name: str, kind: str, number: int, taken: set[str]) -> str:
    """The address of a page: its name in Latin letters, with a number where there are none or it is taken."""
    key = slug(name)[: LONGEST_KEY - 20].strip("-") or kind
    while key in taken or key == kind:
        key = f"{key}-{number}"
    return key


def _product(row: Row, number: int, taken: set[str], usage: NumberUsage, others: Iterable[str]) -> Product:
    cells = row.cells
    name = one_line(cells.get("name", ""))
    if not 0 < len(name) <= _MOST_LETTERS:
        message = f"the name is longer than {_MOST_LETTERS} letters; shorten it" if name else _EMPTY
        raise row.error("name", message)
    category = one_line(cells.get("category", _NO_CATEGORY))
    if len(category) > _MOST_LETTERS:
        raise row.error("category", f"the category is longer than {_MOST_LETTERS} letters; shorten it")
    picture, media = _picture(row)
    return Product(
        id=number,
        key=_key(name, "product", number, taken),
        sku=str(number),
        name=name,
        brand="",
        category=category,
        path=(category,),
        cents=_cents(row, usage),
        rating=_percent(row, cells),
        reviews=_reviews(row, cells),
        stars=0,
        options=(),
        in_stock=True,
        words={},
        seed=0,
        own=OwnContent(
            tuple(filter(None, map(one_line, cells.get("description", "").splitlines()))),
            tuple((column, one_line(cells[column])) for column in others if column in cells),
            picture,
            media,
        ),
    )


def _cents(row: Row, usage: NumberUsage) -> int:
    text = row.cells.get("price", "")
    if not text:
        raise row.error("price", _EMPTY)
    found = figures(text, usage, spaced=True)
    if len(found) != 1 or not found[0].is_alone or found[0].signed <= 0:
        raise row.error("price", f'"{text}" is no price; write one above 0, such as 4.50')
    figure = found[0]
    if figure.currency != usage.currency:
        other = f"name it under options, as currency: {figure.currency}" if figure.currency else "remove it"
        raise row.error("price", f'"{figure.sign}" is not the currency {usage.currency}; {other}')
    groups = get_group_symbol(usage.language.replace("-", "_"))
    if (point := _OF_THREE.fullmatch(figure.text)) and point[1] != groups:
        message = f'"{text}" is {figure.value} or a thousandth of it; write it with two decimals'
        raise row.error("price", message)
    units = min(2, minor_units(usage.currency))
    if figure.value != round(figure.value, units):
        raise row.error("price", f'"{text}" has more than {units} decimals; round it')
    return int(figure.value * 100)


def _percent(row: Row, cells: Mapping[str, str]) -> int | None:
    try:
        rating, scale = rating_in(cells)
    except Unusable:
        raise row.error("rating", f'"{cells["rating"]}" is no rating; write one such as 4.5 / 5') from None
    if scale not in _SCALES and cells.get("rating_scale"):
        raise row.error("rating_scale", f"{cells['rating_scale']} is not 5, 10 or 100; write one of them")
    if rating is None:
        return None
    if not 0 < rating <= (scale or 100):
        fix = "leave the cell empty where a product has none"
        raise row.error("rating", f"{rating:g} is not above 0 and up to {scale or 100:g}; mend it, or {fix}")
    return max(1, round(rating * 100 / (scale or 100)))


def _reviews(row: Row, cells: Mapping[str, str]) -> int:
    try:
        found = figure_in(cells, "reviews") or 0
        if cells.get("reviews", "").startswith(("-", "−")) or found != round(found):
            raise Unusable
        return round(found)
    except Unusable:
        raise row.error("reviews", f'"{cells["reviews"]}" is no number; write one such as 120') from None


def _picture(row: Row) -> tuple[str, str]:
    """The picture's content in Base64 and its media type; both empty where the row names none."""
    name = row.cells.get("picture", "")
    if not name:
        return "", ""
    folder = Path(row.file).resolve().parent
    try:
        file = (folder / name).resolve()
        if not file.is_relative_to(folder):
            raise row.error("picture", f"{name} is not in the folder of the table; copy it there")
        if not file.is_file():
            raise row.error("picture", f"{name}: no such file beside the table; check the name")
        if file.stat().st_size > _MOST_BYTES:
            raise row.error("picture", f"{name} has more than {_MOST_BYTES // 10**6} MB; make it smaller")
        data = file.read_bytes()
        with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
            image.verify()
            return b64encode(data).decode(), f"image/{str(image.format).lower()}"
    except UnidentifiedImageError:
        raise row.error("picture", f"{name} is no picture that pages show; save it as PNG or JPEG") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise row.error("picture", f"{name} cannot be read; check the file") from None
