"""replace_text: other words in a text of the page."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel, Field

from interventions.edits.base import Edit, Leftover, RoleName, Text
from interventions.edits.in_browser import PagePlaces, Verdict, as_read
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit


class ReplaceText(Edit, BaseModel, frozen=True, extra="forbid"):
    """Replaces words, every time that they stand in a text of a role's element."""

    leftover: ClassVar[Leftover] = "sentence"

    role: RoleName = Field(alias="in")
    old: Text = Field(alias="from")
    new: str = Field(alias="to")

    def words(self) -> str:
        return self.new

    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        elements, old, new = there.main(self.role), as_read(self.old), as_read(self.new)
        left = not any(old in change.after.replace(new, "") for change in done)
        for element in elements:
            if left and old in element.text.replace(new, ""):
                return Verdict(f"{self.role} shows {self.old!r}")
        if not any(new in element.text for element in elements):
            return Verdict(f"{self.role} does not show {new!r}")
        given = not new or any(new in (element.given or "") for element in elements)
        return Verdict(given=given, at=elements)

    def apply(self, showing: ProductPlace) -> Change:
        found = (showing.page.replace_text(t.node, self.old, self.new) for t in showing.main(self.role))
        done = [texts for texts in found if texts]
        if not done:
            raise CannotEdit(f'the text "{self.old}" does not stand there in one piece')
        return Change(len(done), *done[0])
