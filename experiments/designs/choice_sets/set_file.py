"""Read choice sets that somebody has formed: a CSV file, one row per option or one row per pair."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from experiments.designs.catalogue.table import check_scale, facts_in, key_of
from experiments.designs.choice_sets.pairings import ChoiceSet
from experiments.designs.inputs.csv_rows import Row, read_rows
from interventions.apply.plan import ProductFacts
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean

LARGEST: Final = 8

_PARTS: Final = ("url", "name", "price", "rating", "rating_scale", "reviews")
_COLUMNS: Final = (
    *("set", "option", "position", "category"),
    *(f"product{number}_{part}" for number in range(1, LARGEST + 1) for part in _PARTS),
)
_POSITION: Final = re.compile(r"\d{1,3}", re.ASCII)


def read_sets(
    path: Path,
    products: Mapping[str, ProductFacts],
    refused: Mapping[str, str],
    query: Sequence[str] = (),
) -> tuple[list[ChoiceSet], list[str]]:
    """Read the choice sets of a file, and a line for columns that are not used.

    The sets are in the order of the file, their alternatives in order of presentation.

    One row per option: columns `set` and `option` (a product key or address), and if there `position`, by
    which the options of a set are sorted. What is known of an option is looked up in `products`; `refused`
    tells why others are not among them.

    One row per set, as in the consumer-choice study: `category`, and `product1_url`, `product1_name`,
    `product1_price`, `product1_rating`, `product1_reviews`, the same for `product2_` and so on. What is known
    of a product is what the row says.

    `query`: the parts of an address's query that tell which product it shows.

    Raises:
        UserError: a mistake in the file, by line.
    """
    columns, rows, unused = read_rows(str(path), _COLUMNS)
    if "product1_url" in columns:
        prefixes = [prefix for n in range(1, LARGEST + 1) if f"{(prefix := f'product{n}_')}url" in columns]
        check_scale(str(path), (row.cells for row in rows), prefixes)
        read: Iterable[tuple[Row, ChoiceSet]] = (
            (row, tuple(facts_in(row, prefix, row.cells.get("category", ""), query) for prefix in prefixes))
            for row in rows
        )
    elif {"set", "option"} <= set(columns):
        read = _long(rows, products, refused, query)
    else:
        raise UserError(
            f"{path}:1: neither the columns set and option nor product1_url, product2_url ...; "
            "name the columns so"
        )
    return _checked(read), unused


def _long(
    rows: Sequence[Row],
    products: Mapping[str, ProductFacts],
    refused: Mapping[str, str],
    query: Sequence[str],
) -> Iterator[tuple[Row, ChoiceSet]]:
    sets: dict[str, list[tuple[int, int, Row]]] = {}
    for number, row in enumerate(rows):
        for column in ("set", "option"):
            if column not in row.cells:
                raise row.error(column, "the cell is empty; fill it in")
        position = row.cells.get("position", "0")
        if not _POSITION.fullmatch(position):
            raise row.error("position", "not a whole number from 0 on; mend the cell")
        sets.setdefault(row.cells["set"], []).append((int(position), number, row))
    for options in sets.values():
        listed = [row for _, _, row in sorted(options, key=lambda option: option[:2])]
        yield listed[0], tuple(_known(row, products, refused, query) for row in listed)


def _known(
    row: Row, products: Mapping[str, ProductFacts], refused: Mapping[str, str], query: Sequence[str]
) -> ProductFacts:
    key = key_of(row.cells["option"], query)
    if key in products:
        return products[key]
    if key in refused:
        raise row.error("option", f"{key} is a product {refused[key]}; name another")
    hint = did_you_mean(key, products, otherwise="name one of the catalogue")
    raise row.error("option", f'no product "{key}" can be chosen; {hint}')


def _checked(read: Iterable[tuple[Row, ChoiceSet]]) -> list[ChoiceSet]:
    sets: dict[frozenset[str], ChoiceSet] = {}
    size = 0
    for row, products in read:
        keys = frozenset(product.key for product in products)
        size = size or len(products)
        if not 2 <= len(products) <= LARGEST:
            raise _error(row, f"{len(products)} options; give the set 2 to {LARGEST}")
        if len(products) != size:
            raise _error(
                row, f"{len(products)} options, but {size} in the first set; use a file for each size"
            )
        if len(keys) < len(products):
            raise _error(row, "one option stands twice in the set; name another")
        if keys in sets:
            raise _error(row, "another set has the same options; remove one of the two")
        sets[keys] = products
    return list(sets.values())


def _error(row: Row, message: str) -> UserError:
    return row.error(f"set {row.cells['set']}" if "set" in row.cells else "product1_url", message)
