"""strike_price: an old price, struck through, beside the one that counts."""

import html
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from interventions.edits.base import Edit, Leftover, filled
from interventions.edits.in_browser import PagePlaces, Verdict, inserted, is_one_of
from interventions.edits.set_price import Price
from interventions.edits.showing import Change, ProductPlace, Target
from interventions.errors import CannotEdit
from interventions.html.numbers import one_line
from interventions.html.ranges import prices

_STYLE = "margin-left:8px;color:#6b6b6b;font-weight:400;text-decoration:line-through"


class StrikePrice(Edit, BaseModel, frozen=True, extra="forbid"):
    """Shows `was` (in currency units; left out: the shop's own price) struck through after the price."""

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True

    was: Price | None = None
    label: Annotated[str, Field(max_length=40)] = "was"
    """The word before it, for readers of text; empty: none."""

    def roles(self) -> tuple[str, ...]:
        return ("product.price",)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        texts = [change.after for change in done]
        return inserted(there, "product.price", "after", is_one_of(texts), texts[0])

    def apply(self, showing: ProductPlace) -> Change:
        targets = showing.main("product.price")
        texts = []
        for target in targets:
            text = f"{self.label} {self._old(showing, target)}".strip()
            markup = (
                f'<del class="product-was-details" style="{_STYLE}">{html.escape(text, quote=False)}</del>'
            )
            showing.insert(target.node, "after", markup, style=_STYLE)
            texts.append(text)
        return Change(len(texts), "", texts[0])

    def _old(self, showing: ProductPlace, target: Target) -> str:
        """The price that counts no more, in the format of the one that the shop shows."""
        if target.place.part or showing.has("product.high_price"):
            raise CannotEdit("the price stands in two elements; the map's first place has to hold all of it")
        raw = showing.original(target)
        shown = one_line(raw)
        written = (shown, one_line(showing.page.raw(target.node, target.attribute)))
        if self.was is None and showing.value(target) not in written:
            return shown
        price = showing.earlier.price if self.was is None else filled(self.was)
        if price is None:
            raise CannotEdit("the price is the shop's own; write was, or set_price before this edit")
        found = prices(raw, showing.page.usage)
        if len(found) != 1:
            raise CannotEdit(f'the text "{shown}" does not hold exactly one figure')
        return one_line(raw[: found[0].start] + found[0].write(price) + raw[found[0].end :])
