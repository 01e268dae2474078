"""Make products to check interventions against: one of each category, or those of a list."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from environments.shop.departments import LEAF_PATHS
from interventions.apply.plan import ProductFacts
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean

SHOP_CATEGORIES: Final = tuple(path[-1] for path in LEAF_PATHS)
"""The categories of the embedded shop, and of the consumer-choice study."""

_COLUMNS: Final = ("key", "category", "name", "price", "rating", "reviews")


def example_products(categories: Iterable[str] = SHOP_CATEGORIES) -> list[ProductFacts]:
    """Return a product of each category with all its facts."""
    return [
        ProductFacts(f"example-{number}", category, "Example product", 19.99, 84, 12)
        for number, category in enumerate(categories)
    ]


def read_products(path: Path) -> list[ProductFacts]:
    """Read products from a CSV file with a column `category`.

    Optional columns are `key`, `name`, `price`, `rating` and `reviews`. Raises UserError.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            names = rows.fieldnames or ()
            if "category" not in names:
                hint = did_you_mean("category", names, noun="its columns are")
                raise UserError(f'{path}:1: no column "category"; {hint}')
            return [_product(row, f"{path}:{rows.line_num}") for row in rows]
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; check the path") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read ({error}); save it as CSV in UTF-8") from None


def _product(row: dict[str, str], place: str) -> ProductFacts:
    texts = {name: (row.get(name) or "").strip() for name in _COLUMNS}
    try:
        return ProductFacts(
            key=texts["key"] or texts["name"] or place,
            category=texts["category"],
            name=texts["name"],
            price=float(texts["price"]) if texts["price"] else None,
            rating=round(float(texts["rating"])) if texts["rating"] else None,
            reviews=round(float(texts["reviews"])) if texts["reviews"] else None,
        )
    except (ValueError, OverflowError):
        raise UserError(f"{place}: price, rating and reviews must be figures; mend this row") from None
