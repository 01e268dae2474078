"""set_default: one of a product's options is chosen from the start."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel
from selectolax.lexbor import LexborNode

from interventions.edits.base import Edit, Leftover, RoleName, Text
from interventions.edits.in_browser import PagePlaces, Verdict, as_read
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit
from interventions.html.tree import select
from interventions.yaml.sitemap import Place


class SetDefault(Edit, BaseModel, frozen=True, extra="forbid"):
    """Chooses the option with this label beforehand, where the shop itself chooses none.

    The elements of the role are options of a list, or hold a radio button and its label each.
    """

    leftover: ClassVar[Leftover] = ""
    readable: ClassVar[bool] = True

    role: RoleName = "product.option"
    value: Text

    def words(self) -> str:
        return self.value

    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    def attribute(self, place: Place) -> str | None:
        return "#default"

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        chosen = [element for element in there.main(self.role, "#default") if element.text]
        mine = [each for each in chosen if each.text.casefold() == as_read(self.value).casefold()]
        if len(mine) != 1 or [each for each in chosen if each.in_list == mine[0].in_list] != mine:
            return Verdict(f"{self.role} has the defaults {[each.text for each in chosen]}")
        return Verdict(given=bool(mine[0].given), at=tuple(mine))

    def apply(self, showing: ProductPlace) -> Change:
        page, options = showing.page, [each.node for each in showing.main(self.role)]
        labels = [page.value(node, None) for node in options]
        mine = [
            node
            for node, label in zip(options, labels, strict=True)
            if label.casefold() == self.value.casefold()
        ]
        if len(mine) != 1:
            raise CannotEdit(f'{len(mine)} options are "{self.value}"; there are: {", ".join(labels)}')
        list_of = {node.mem_id: _control(node) for node in options if node.parent == mine[0].parent}
        if any(name in each.attributes for each in list_of.values() for name in ("checked", "selected")):
            raise CannotEdit("the shop has a default of its own there")
        control = list_of[mine[0].mem_id]
        page.set_attribute(control, "selected" if control.tag == "option" else "checked", "")
        return Change(1, "", self.value)


def _control(option: LexborNode) -> LexborNode:
    """The `<option>`, or the radio button in it, that is chosen. Raises CannotEdit."""
    found = [option] if option.tag == "option" else select(option, "input[type=radio i]")
    if len(found) != 1 or "disabled" in found[0].attributes:
        raise CannotEdit(f"<{option.tag}> is no option that can be chosen, nor holds one radio button")
    return found[0]
