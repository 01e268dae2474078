"""banner: a line across a page, such as "Free returns until Sunday"."""

import html
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import BaseModel

from interventions.edits.base import Edit, Leftover, Text
from interventions.edits.in_browser import PagePlaces, Verdict, inserted, is_one_of
from interventions.edits.showing import Change, ProductPlace

_STYLES = {
    "info": "background:#e8f0fe;color:#174ea6",
    "offer": "background:#fde7d9;color:#8a3507",
    "warning": "background:#fce8e6;color:#a50e0e",
}
_STYLE = "display:block;padding:10px 16px;text-align:center;font-size:15px;font-weight:600;line-height:1.4;"


class Banner(Edit, BaseModel, frozen=True, extra="forbid"):
    """Puts a line across the top of every page; planned for one product: of this product's own page."""

    leftover: ClassVar[Leftover] = ""

    text: Text
    style: Literal["info", "offer", "warning"] = "info"

    def words(self) -> str:
        return self.text

    def roles(self) -> tuple[str, ...]:
        return ("page.body",)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        return inserted(there, "page.body", "inside", is_one_of([self.text]), self.text)

    def apply(self, showing: ProductPlace) -> Change:
        style = _STYLE + _STYLES[self.style]
        text = html.escape(self.text, quote=False)
        markup = f'<div class="page-banner-details" role="status" style="{style}">{text}</div>'
        showing.insert(showing.main("page.body")[0].node, "prepend", markup, style=style)
        return Change(1, "", self.text)
