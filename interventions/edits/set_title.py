"""set_title: another name for a product, wherever it shows."""

from collections.abc import Mapping
from decimal import Decimal
from typing import ClassVar

from pydantic import RootModel

from interventions.edits.base import Change, Edit, Showing, Text


class SetTitle(Edit, RootModel[Text], frozen=True):
    """Shows another name: in the heading, in cards and cart rows, and wherever a page repeats the old one."""

    readable: ClassVar[bool] = True

    def roles(self) -> tuple[str, ...]:
        return ("product.name",)

    def values(self) -> Mapping[str, Decimal | str]:
        return {"name": self.root}

    def apply(self, showing: Showing) -> Change:
        return showing.write_text("product.name", self.root)
