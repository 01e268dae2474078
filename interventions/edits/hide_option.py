"""hide_option: one value less to choose from, such as a colour."""

from collections.abc import Sequence

from pydantic import RootModel

from interventions.edits.base import Change, Edit, Showing, Text
from interventions.edits.in_browser import There, Verdict, as_read
from interventions.errors import CannotEdit


class HideOption(Edit, RootModel[Text], frozen=True):
    """Takes away the value with this label from a product's options."""

    def roles(self) -> tuple[str, ...]:
        return ("product.option",)

    def stands(self, there: There, done: Sequence[Change]) -> Verdict | None:
        labels = [element.text.casefold() for element in there.main("product.option")]
        shown = as_read(self.root).casefold() in labels
        return Verdict(f"product.option shows {self.root!r}" if shown else "")

    def apply(self, showing: Showing) -> Change:
        options = showing.main("product.option")
        found = [target for target in options if showing.value(target).casefold() == self.root.casefold()]
        if not found:
            labels = ", ".join(showing.value(target) for target in options)
            raise CannotEdit(f'no option "{self.root}"; there are: {labels}')
        for target in found:
            showing.page.remove(target.node)
        return Change(len(found), self.root, "")
