"""Read the prices of a unit, such as 2,58 €/100 g, that a page shows beside its prices."""

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from interventions.apply.mapped_page import MappedPage
from interventions.edits.showing import Showing, around
from interventions.html.numbers import figures, prices_per_unit, tells_unit


class UnitPrice(NamedTuple):
    """A price, and the price of a unit beside it; `role` is the latter's, or says that it has none."""

    product: str
    role: str
    price: Decimal
    value: Decimal

    def should_be(self, sent: "UnitPrice") -> tuple[Decimal, Decimal]:
        """Return what a unit costs when it follows the price, and how far that may be rounded."""
        factor = self.price / sent.price
        places = Decimal(1).scaleb(_exponent(sent.value))
        value = (sent.value * factor).quantize(places, ROUND_HALF_UP)
        return value, _half(self.value) + _half(sent.value) * (1 + factor)


def unit_prices_on(view: MappedPage) -> list[UnitPrice]:
    """Return the prices of a unit on a page. Raises CannotEdit."""
    return [
        UnitPrice(key, role, price, value)
        for key, showing in view.showings()
        if key and showing.group != "page"
        for role, value in _beside(showing)
        if (price := _price(showing))
    ]


def _price(showing: Showing) -> Decimal | None:
    numbers = (showing.number(each, f"{showing.group}.price") for each in showing.all("product.price"))
    return next((number for number in numbers if number is not None), None)


def _beside(showing: Showing) -> Iterator[tuple[str, Decimal]]:
    """Those with a role, else those in the texts around the price."""
    role = f"{showing.group}.unit_price"
    named = list(showing.all("product.unit_price"))
    for target in named:
        if (value := showing.number(target, role)) is not None:
            yield role, value
    if named:
        return
    for target in showing.all("product.price"):
        if target.attribute is None and (found := _around(target.node, showing)):
            yield from ((f"the text beside {showing.group}.price", value) for value in found)
            return


def _around(node: LexborNode, showing: Showing) -> list[Decimal]:
    for text in (node.text(), *around(node)):
        if tells_unit(text):
            usage = showing.page.usage
            if units := prices_per_unit(figures(text, usage), text)[0]:
                return [each.value for each in units]
    return []


def _half(value: Decimal) -> Decimal:
    return Decimal(5).scaleb(_exponent(value) - 1)


def _exponent(value: Decimal) -> int:
    return min(int(value.as_tuple().exponent), 0)
