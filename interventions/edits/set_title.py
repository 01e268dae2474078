"""set_title: another name for a product, wherever it shows."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import ClassVar

from pydantic import RootModel

from interventions.edits.base import Edit, Leftover, Text
from interventions.edits.in_browser import PagePlaces, Verdict, as_read, holds
from interventions.edits.showing import Change, ProductPlace


class SetTitle(Edit, RootModel[Text], frozen=True):
    """Shows another name: in the heading, in cards and cart rows, and wherever a page repeats the old one."""

    leftover: ClassVar[Leftover] = "name"
    readable: ClassVar[bool] = True

    def words(self) -> str:
        return self.root

    def roles(self) -> tuple[str, ...]:
        return ("product.name",)

    def values(self) -> Mapping[str, Decimal | str]:
        return {"name": self.root}

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        first, wanted = there.main("product.name")[:1], as_read(self.root)
        if not first or first[0].text != wanted:
            return Verdict(f"product.name shows {[element.text for element in first]}")
        old = {change.before for change in done if not holds(wanted, change.before)}
        for _, element in there.all("product.name"):
            if any(holds(element.text, each) for each in old):
                return Verdict(f"product.name shows {element.text!r}")
        given = any(element.given == wanted for _, element in there.all("product.name"))
        return Verdict(given=given, at=tuple(first))

    def apply(self, showing: ProductPlace) -> Change:
        return showing.write_text("product.name", self.root)
