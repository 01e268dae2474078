"""set_stock: another text about the stock."""

from typing import ClassVar

from pydantic import RootModel

from interventions.edits.base import Change, Edit, Showing, Text


class SetStock(Edit, RootModel[Text], frozen=True):
    """Replaces the text about the stock, such as `In stock`."""

    readable: ClassVar[bool] = True

    def roles(self) -> tuple[str, ...]:
        return ("product.stock",)

    def apply(self, showing: Showing) -> Change:
        texts = [showing.page.set_text(target.node, self.root) for target in showing.main("product.stock")]
        return Change(len(texts), *texts[0])
