"""replace_text: other words in a text of the page."""

from pydantic import BaseModel, Field

from interventions.edits.base import Change, Edit, RoleName, Showing, Text
from interventions.errors import CannotEdit


class ReplaceText(Edit, BaseModel, frozen=True, extra="forbid"):
    """Replaces words, every time that they stand in a text of a role's element."""

    role: RoleName = Field(alias="in")
    old: Text = Field(alias="from")
    new: str = Field(alias="to")

    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    def apply(self, showing: Showing) -> Change:
        found = (showing.page.replace_text(t.node, self.old, self.new) for t in showing.main(self.role))
        done = [texts for texts in found if texts]
        if not done:
            raise CannotEdit(f'the text "{self.old}" does not stand there in one piece')
        return Change(len(done), *done[0])
