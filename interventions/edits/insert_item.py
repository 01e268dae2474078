"""insert_item: an advertisement that looks like a result, in a list that shows the product."""

from typing import Annotated, ClassVar

from pydantic import BaseModel, Field

from interventions.edits.badge import Badge
from interventions.edits.base import Edit, Leftover, Text, filled
from interventions.edits.reorder import Rank, siblings
from interventions.edits.showing import Change, ProductPlace
from interventions.yaml.sitemap import PageType


class InsertItem(Edit, BaseModel, frozen=True, extra="forbid"):
    """Puts a copy of the product's card, with its edits, at a rank in the list that shows it (1: first).

    It leads to the product, as the card does. `label`, such as `Sponsored`, says what it is.
    """

    leftover: ClassVar[Leftover] = ""
    orders: ClassVar[bool] = True
    doubles: ClassVar[bool] = True
    one_product: ClassVar[bool] = True
    pages: ClassVar[tuple[PageType, ...]] = ("listing",)

    rank: Rank
    label: Annotated[Text, Field(max_length=60)] | None = None

    def words(self) -> str:
        return self.label or ""

    def roles(self) -> tuple[str, ...]:
        return ("item", "item.title", "item.link")

    def apply(self, showing: ProductPlace) -> Change | None:
        (card, cards), rank = siblings(showing), int(filled(self.rank))
        if card not in cards:
            return None  # it was taken out
        made = showing.page.copied(card)
        if self.label:
            Badge(text=self.label).apply(ProductPlace(made, showing.site, showing.group))
        showing.page.insert_at_rank(cards, rank, made)
        return Change(1, "", f"rank {min(rank, len(cards) + 1)} of {len(cards) + 1}")
