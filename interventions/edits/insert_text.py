"""insert_text: a line of text by an element, such as a nudge under the title."""

import html
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import BaseModel, model_validator

from interventions.edits.base import Edit, Leftover, RoleName, Text
from interventions.edits.in_browser import PagePlaces, Verdict, inserted, is_one_of
from interventions.edits.showing import Change, ProductPlace
from interventions.html.page import Where

_STYLES = {
    "plain": "display:block;margin:4px 0",
    "note": "display:block;margin:4px 0 8px;font-size:14px;font-weight:400;line-height:1.4",
    "badge": "display:block;width:fit-content;margin:4px 0 8px;padding:2px 12px;border-radius:12px;"
    "background:#e8f0fe;color:#174ea6;font-size:14px;font-weight:600;line-height:1.5",
}
# Elements in which a heading or a form may stand.
FLOW = frozenset([
    "article", "aside", "body", "dd", "div", "fieldset", "footer", "form", "header", "li", "main",
    "section", "td",
])  # fmt: skip


class InsertText(Edit, BaseModel, frozen=True, extra="forbid"):
    """Adds visible text after, before, first in or last in the element of a role, wherever it shows."""

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True
    told: ClassVar[bool] = True

    after: RoleName | None = None
    before: RoleName | None = None
    prepend: RoleName | None = None
    append: RoleName | None = None
    text: Text
    style: Literal["plain", "badge", "note"] = "plain"

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if len(self._places()) != 1:
            raise ValueError("name exactly one place; write after, before, prepend or append with a role")
        return self

    def _places(self) -> list[tuple[Where, str]]:
        wheres: tuple[Where, ...] = ("after", "before", "prepend", "append")
        return [(where, role) for where in wheres if (role := getattr(self, where)) is not None]

    def words(self) -> str:
        return self.text

    def roles(self) -> tuple[str, ...]:
        return (self._places()[0][1],)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        ((where, role),) = self._places()
        place: Literal["before", "after", "inside"] = where if where in ("before", "after") else "inside"
        return inserted(there, role, place, is_one_of([self.text]), self.text)

    def apply(self, showing: ProductPlace) -> Change:
        ((where, role),) = self._places()
        part = "text" if role.startswith("css:") else role.rpartition(".")[2]
        targets = showing.main(role)
        for target in targets:
            parent = target.node.parent if where in ("after", "before") else target.node
            # By the title of a product's page the line is a heading, where a heading can stand.
            heading = showing.group == "product" and part == "title" and parent and parent.tag in FLOW
            tag = "h2" if heading else "span"
            style = _STYLES[self.style]
            text = html.escape(self.text, quote=False)
            markup = f'<{tag} class="product-{html.escape(part)}-details" style="{style}">{text}</{tag}>'
            showing.insert(target.node, where, markup, style=style)
        return Change(len(targets), "", self.text)
