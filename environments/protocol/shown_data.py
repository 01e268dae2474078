"""Read what the answers of a shop (UCP) show of its products, and of the lines of a cart."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
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
    """A line of a cart, a checkout or an order.

    `id`: of the item. In currency units, `price` is that of one piece and `amount` what all pieces come to.
    """

    id: str
    price: float | None
    name: str = ""
    quantity: int | None = None
    amount: float | None = None


@dataclass(frozen=True, slots=True)
class OrderData:
    """An order that was placed; `sums` are its further lines, such as shipping, each with its label."""

    number: str
    currency: str
    total: float | None
    lines: tuple[LineData, ...]
    sums: tuple[tuple[str, float | None], ...]


@lru_cache(maxsize=64)
def products_in(text: str) -> tuple[ProductData, ...]:
    """Return the products of an answer, in its order; none where it is no JSON."""
    found = _objects(_parsed(text))
    return tuple(_product(each) for each in found if isinstance(each.get("price_range"), dict))


@lru_cache(maxsize=64)
def lines_in(text: str) -> tuple[LineData, ...]:
    """Return the lines of an answer, in its order; none where it is no JSON."""
    answer = _parsed(text)
    currency = _currency(answer)
    return tuple(_line(each, currency) for each in _objects(answer) if isinstance(each.get("item"), dict))


def order_in(text: str) -> OrderData | None:
    """Return the order that an answer says was placed; None where it says so of none."""
    answer = _parsed(text)
    if not isinstance(answer, dict) or not (number := _object(answer, "order").get("id")):
        return None
    currency, sums = _currency(answer), _sums(answer)
    return OrderData(
        str(number),
        currency,
        next((_amount(each, currency) for each in sums if each.get("type") == "total"), None),
        lines_in(text),
        tuple(
            (str(each.get("display_text") or each.get("type")), _amount(each, currency))
            for each in sums
            if each.get("type") not in ("subtotal", "total")
        ),
    )


def checkout_in(text: str) -> str:
    """Return the id of the checkout that an answer shows; empty where it shows none."""
    answer = _parsed(text)
    return cart_in(text) if isinstance(answer, dict) and "status" in answer else ""


def cart_in(text: str) -> str:
    """Return the id of the cart or checkout that an answer shows, with lines or without; empty: of none."""
    answer = _parsed(text)
    return str(answer.get("id") or "") if isinstance(answer, dict) and "line_items" in answer else ""


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


def _line(data: dict[str, Any], currency: str) -> LineData:
    item, quantity = _object(data, "item"), data.get("quantity")
    count = _number(quantity.get("total") if isinstance(quantity, dict) else quantity)
    total = next((each for each in _sums(data) if each.get("type") == "total"), {})
    return LineData(
        str(item.get("id", "")),
        _amount({"amount": item.get("price")}, currency),
        str(item.get("title") or ""),
        None if count is None else round(count),
        _amount(total, currency),
    )


def _sums(data: dict[str, Any]) -> list[dict[str, Any]]:
    found = data.get("totals")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _currency(answer: object) -> str:
    return str(answer.get("currency") or "") if isinstance(answer, dict) else ""


def _object(data: dict[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _amount(price: dict[str, Any], currency: str = "") -> float | None:
    """A price in minor units, in currency units; an unknown currency has hundredths."""
    amount = _number(price.get("amount"))
    currency = str(price.get("currency") or currency)
    return None if amount is None else amount / 10 ** get_currency_precision(currency)


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
