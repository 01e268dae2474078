"""strike_price: an old price, struck through, beside the one that counts."""

import html
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from interventions.edits.base import Change, Edit, Showing, filled
from interventions.edits.set_price import Price
from interventions.errors import CannotEdit
from interventions.figures import find_figure, write_like

_STYLE = "margin-left:8px;color:#6b6b6b;font-weight:400;text-decoration:line-through"


class StrikePrice(Edit, BaseModel, frozen=True, extra="forbid"):
    """Shows `was` (in currency units; left out: the shop's own price) struck through after the price."""

    readable: ClassVar[bool] = True

    was: Price | None = None
    label: Annotated[str, Field(max_length=40)] = "was"
    """The word before it, for readers of text; empty: none."""

    def roles(self) -> tuple[str, ...]:
        return ("product.price",)

    def apply(self, showing: Showing) -> Change:
        targets = showing.main("product.price")
        texts = []
        for target in targets:
            shown = " ".join(showing.page.raw(target.node, target.attribute).split())
            figure = find_figure(shown)
            if not figure:
                raise CannotEdit(f'no figure in "{shown}"')
            old = figure if self.was is None else write_like(figure, filled(self.was))
            text = f"{self.label} {shown.replace(figure, old, 1)}".strip()
            markup = (
                f'<del class="product-was-details" style="{_STYLE}">{html.escape(text, quote=False)}</del>'
            )
            showing.insert(target.node, "after", markup, style=_STYLE)
            texts.append(text)
        return Change(len(texts), "", texts[0])
