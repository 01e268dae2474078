"""unit_price: the price of a unit, such as `$2.40 per 100 g`, after the price."""

import html
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, ClassVar, Final, Literal

from pydantic import BaseModel, Field

from interventions.edits.base import FIGURE_SCHEMA, Edit, Leftover, figure, filled
from interventions.edits.in_browser import PagePlaces, Verdict, inserted, is_one_of
from interventions.edits.showing import Change, ProductPlace, Target
from interventions.errors import CannotEdit
from interventions.html.numbers import one_line
from interventions.html.ranges import PriceSpan, prices

_STYLE: Final = "display:block;margin:2px 0;font-size:13px;font-weight:400;line-height:1.4"
_SMALL: Final = frozenset({"g", "ml"})
"""Units of which a price is told by the hundred."""
Content = Annotated[
    Decimal | str,
    figure("a content", "how much it holds, such as 500", lambda number: number if number > 0 else None),
    FIGURE_SCHEMA,
]


class UnitPrice(Edit, BaseModel, frozen=True, extra="forbid"):
    """Adds a line with the price of a unit after the price, which is as the edits before have left it."""

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True

    content: Content
    unit: Literal["g", "kg", "oz", "lb", "ml", "l", "fl oz", "piece"]
    per: Annotated[int, Field(gt=0)] | None = None

    def roles(self) -> tuple[str, ...]:
        return ("product.price",)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        texts = [change.after for change in done]
        told = [found[0] for text in texts if (found := prices(text, spaced=True))]
        for element in there.main("product.price"):
            price = prices(element.alone().text, spaced=True)
            if price and not any(
                abs(self._of(price[0].value) - each.value) <= Decimal(1).scaleb(-each.decimals)
                for each in told
            ):
                return Verdict(f"{texts[0]!r} does not follow from {element.text!r}")
        return inserted(there, "product.price", "after", is_one_of(texts), texts[0])

    def apply(self, showing: ProductPlace) -> Change:
        if showing.has("product.unit_price"):
            raise CannotEdit("the page has a price of a unit of its own")
        texts = []
        for target in showing.main("product.price"):
            text = self._line(showing, target)
            shown = html.escape(text, quote=False)
            markup = f'<span class="product-unit-price-details" style="{_STYLE}">{shown}</span>'
            showing.insert(target.node, "after", markup, style=_STYLE)
            texts.append(text)
        return Change(len(texts), "", texts[0])

    def _line(self, showing: ProductPlace, target: Target) -> str:
        price, raw = showing.number(target, "product.price"), showing.original(target)
        found = prices(raw, showing.page.usage)
        if target.place.part or price is None or len(found) != 1 or isinstance(found[0], PriceSpan):
            raise CannotEdit(f'"{one_line(raw)}" is not one price')
        if not (found[0].is_alone and found[0].sign):
            raise CannotEdit(f'"{one_line(raw)}" is not a price with its currency, and nothing else')
        of_unit = found[0].write(self._of(price))
        if not prices(of_unit)[0].value:
            raise CannotEdit(f"the price of {self._unit} is too small to be written")
        return f"{one_line(raw[: found[0].start] + of_unit + raw[found[0].end :])} per {self._unit}"

    @property
    def _amount(self) -> int:
        return self.per or (100 if self.unit in _SMALL else 1)

    @property
    def _unit(self) -> str:
        return f"{self._amount} {self.unit}" if self._amount > 1 else self.unit

    def _of(self, price: Decimal) -> Decimal:
        """The price of a unit."""
        return price * self._amount / filled(self.content)
