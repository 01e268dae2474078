"""Read what the answers of a shop (UCP) show of its products, and of the lines of a cart."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from babel.numbers import get_currency_precision

LONGEST_PATH = 20
"""How deep an answer may be nested before products are no longer looked for."""


@dataclass(frozen=True, slots=True)
class ProductData:
    """A product as an answer shows it; a field that it does not have is None or empty.

    `ids`: its own first, then those of its variants. `price` is in currency units, `rating` in percent, and
    `prices` are all that the answer has of it: the ends of its range, and those of its variants. `text` is
    its description.
    """

    ids: tuple[str, ...]
    name: str = ""
    price: float | None = None
    rating: float | None = None
    reviews: int | None = None
    text: str = ""
    in_stock: bool = True
    prices: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class LineData:
    """A line of a cart, a checkout or an order: the item's id, and its price in currency units."""

    id: str
    price: float | None


def products_in(text: str) -> list[ProductData]:
    """Return the products of an answer, in its order; none where it is no JSON."""
    return [_product(each) for each in _objects(_parsed(text)) if isinstance(each.get("price_range"), dict)]


def lines_in(text: str) -> list[LineData]:
    """Return the lines of an answer, in its order; none where it is no JSON."""
    answer = _parsed(text)
    currency = answer.get("currency") if isinstance(answer, dict) else None
    return [
        LineData(
            str(item.get("id", "")),
            _amount({"amount": item.get("price"), "currency": currency}),
        )
        for each in _objects(answer)
        if isinstance(item := each.get("item"), dict)
    ]


def passing(text: str) -> list[str]:
    """Return what an answer says of a cart that is another each time: its id, and when it expires."""
    answer = _parsed(text) if '"line_items"' in text else None
    found = [answer.get(name) for name in ("id", "expires_at")] if isinstance(answer, dict) else []
    return [each for each in found if isinstance(each, str) and each]


def _parsed(text: str) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _objects(value: object, depth: int = 0) -> Iterator[dict[str, Any]]:
    """All objects, the outer ones first."""
    if depth > LONGEST_PATH:
        return
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(each, depth + 1)


def _product(data: dict[str, Any]) -> ProductData:
    listed = data.get("variants")
    variants = [each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, dict)]
    rating, metadata = _object(data, "rating"), _object(data, "metadata")
    scale, value = _number(rating.get("scale_max")) or 5.0, _number(rating.get("value"))
    count = _number(rating.get("count", metadata.get("reviews")))
    span = _object(data, "price_range")
    own = [_object(span, end) for end in ("min", "max")]
    prices = [_amount(each) for each in (*own, *(_object(each, "price") for each in variants))]
    stock = [_object(each, "availability").get("available") for each in variants]
    return ProductData(
        tuple(str(each["id"]) for each in (data, *variants) if each.get("id")),
        str(data.get("title") or ""),
        prices[0],
        None if value is None else _number(round(value * 100 / scale, 6)),
        None if count is None else round(count),
        str(_object(data, "description").get("plain") or ""),
        not stock or any(each is not False for each in stock),
        tuple(prices),
    )


def _object(data: dict[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _amount(price: dict[str, Any]) -> float | None:
    """A price in minor units, in currency units; an unknown currency has hundredths."""
    amount = _number(price.get("amount"))
    currency = str(price.get("currency") or "")
    return None if amount is None else amount / 10 ** get_currency_precision(currency)


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
