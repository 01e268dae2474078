"""collapse: what an element holds is seen only when it is opened, as in a tab."""

import html
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import BaseModel

from interventions.edits.base import Edit, Leftover, RoleName, Text
from interventions.edits.in_browser import PagePlaces, Verdict, as_read
from interventions.edits.insert_text import FLOW
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit


class Collapse(Edit, BaseModel, frozen=True, extra="forbid"):
    """Puts what is in the element of a role behind a label that opens it; without a script."""

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True

    role: RoleName
    label: Text

    def words(self) -> str:
        return self.label

    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        elements, label = there.main(self.role), as_read(self.label)
        closed = [each for element in elements for each in element.beside if each.where == "inside"]
        closed = [each for each in closed if each.text.startswith(label)]
        if len(closed) != 1 or elements[0].alone().text or closed[0].text == label:
            return Verdict(f"{self.role} is not all behind {self.label!r}")
        given = closed[0].given.startswith(label)  # and more once it is opened
        return Verdict(given=given, at=(replace(closed[0], given=label if given else ""),))

    def apply(self, showing: ProductPlace) -> Change:
        targets, page = showing.main(self.role), showing.page
        node, before = targets[0].node, page.value(targets[0].node, None)
        if len(targets) > 1:
            raise CannotEdit(f"there are {len(targets)} elements; name one with css: and a selector")
        if targets[0].attribute or node.tag not in FLOW:
            raise CannotEdit(f"<{node.tag}> cannot hold it; name an element around it, such as a <div>")
        if not before:
            raise CannotEdit("there is no text in it that could be put behind a label")
        label = html.escape(self.label, quote=False).encode(page.output, "xmlcharrefreplace")
        part = b"text" if self.role.startswith("css:") else self.role.rpartition(".")[2].encode("ascii")
        opening = b'<details class="product-%b-details"><summary>%b</summary>' % (part, label)
        page.enclose(node, opening, b"</details>")
        return Change(1, before, self.label)
