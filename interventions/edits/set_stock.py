"""set_stock: another text about the stock."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic import RootModel

from interventions.edits.base import Edit, Text
from interventions.edits.in_browser import PagePlaces, Verdict, as_read
from interventions.edits.showing import Change, ProductPlace


class SetStock(Edit, RootModel[Text], frozen=True):
    """Replaces the text about the stock, such as `In stock`."""

    readable: ClassVar[bool] = True

    def words(self) -> str:
        return self.root

    def roles(self) -> tuple[str, ...]:
        return ("product.stock",)

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        texts, wanted = there.main("product.stock"), as_read(self.root)
        if not texts or any(element.text != wanted for element in texts):
            return Verdict(f"product.stock shows {[element.text for element in texts]}")
        return Verdict(given=any(element.given == wanted for element in texts), at=tuple(texts))

    def apply(self, showing: ProductPlace) -> Change:
        texts = [showing.page.set_text(target.node, self.root) for target in showing.main("product.stock")]
        return Change(len(texts), *texts[0])
