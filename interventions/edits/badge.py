"""badge: a small coloured label on a product, such as "Best seller"."""

import html
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import BaseModel

from interventions.edits.base import Edit, Leftover, RoleName, Text
from interventions.edits.in_browser import PagePlaces, Verdict, inserted, is_one_of
from interventions.edits.showing import Change, ProductPlace

_COLOURS = {
    "blue": "#174ea6",
    "green": "#0d652d",
    "orange": "#b3470c",
    "red": "#b3261e",
    "black": "#202124",
}
_STYLE = (
    "display:inline-block;margin:2px 6px 2px 0;padding:2px 8px;border-radius:4px;color:#fff;"
    "font-size:12px;font-weight:700;line-height:1.5;vertical-align:middle;"
    # Where the card is a flex or grid box.
    "align-self:flex-start;justify-self:start;background:"
)


class Badge(Edit, BaseModel, frozen=True, extra="forbid"):
    """Puts a coloured label before a role's element: the product's title, unless another is named."""

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True
    told: ClassVar[bool] = True

    text: Text
    before: RoleName = "product.title"
    colour: Literal["blue", "green", "orange", "red", "black"] = "orange"

    def words(self) -> str:
        return self.text

    def roles(self) -> tuple[str, ...]:
        return (self.before,)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        return inserted(there, self.before, "before", is_one_of([self.text]), self.text)

    def apply(self, showing: ProductPlace) -> Change:
        style = _STYLE + _COLOURS[self.colour]
        text = html.escape(self.text, quote=False)
        markup = f'<span class="product-badge-details" style="{style}">{text}</span>'
        return showing.insert_at(self.before, "before", self.text, markup, style=style)
