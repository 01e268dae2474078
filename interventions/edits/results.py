"""results: fewer products on listing and search pages."""

from decimal import Decimal
from typing import Annotated, ClassVar

from pydantic import RootModel

from interventions.edits.base import FIGURE_SCHEMA, Edit, Leftover, figure, filled, whole
from interventions.edits.reorder import product_of, siblings
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import PageType

Count = Annotated[
    Decimal | str, figure("a number of products", "a whole number from 1", whole(1, 1_000)), FIGURE_SCHEMA
]


class Results(Edit, RootModel[Count], frozen=True):
    """Leaves that many products in each list of a listing: those to choose from, and the first of the others.

    The page's own counts and pages stay as the shop has them.
    """

    leftover: ClassVar[Leftover] = ""
    orders: ClassVar[bool] = True
    of_list: ClassVar[bool] = True
    pages: ClassVar[tuple[PageType, ...]] = ("listing",)

    def roles(self) -> tuple[str, ...]:
        return ("item",)

    def takes_out(self) -> str:
        return "item"

    def apply(self, showing: ProductPlace) -> Change | None:
        (card, cards), count = siblings(showing), int(filled(self.root))
        order = [each for each in showing.page.order(cards) if each in cards]
        options = [each for each in order if product_of(showing, each) in showing.options]
        if len(options) > count:
            raise CannotEdit(f"{len(options)} products of this list are to choose from; show that many")
        others = [each for each in order if each not in options][: count - len(options)]
        kept = [each for each in cards if each in options or each in others]
        for each in cards if card == kept[0] else [card]:
            if each in cards and each not in kept:
                showing.page.remove(each)
        if card != kept[0]:
            return None  # all is done at the first that stays
        return Change(len(cards), f"{len(cards)} products", f"{len(kept)} products")
