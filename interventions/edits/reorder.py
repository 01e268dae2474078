"""reorder: another order of the products on a listing."""

from decimal import Decimal
from random import Random
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, model_validator
from selectolax.lexbor import LexborNode

from interventions.edits.base import FIGURE_SCHEMA, Edit, Leftover, figure, filled, whole
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit

Rank = Annotated[Decimal | str, figure("a rank", "a whole number from 1", whole(1, 10**6 - 1)), FIGURE_SCHEMA]


class Reorder(Edit, BaseModel, frozen=True, extra="forbid"):
    """Moves a product to a rank in the list that shows it (1: first), or shuffles the lists of a page.

    With the same `shuffle` seed the same products stand in the same order.
    """

    leftover: ClassVar[Leftover] = ""
    orders: ClassVar[bool] = True

    rank: Rank | None = None
    shuffle: int | str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.rank is None) == (self.shuffle is None):
            raise ValueError("write rank with a position, or shuffle with a seed, one of the two")
        return self

    @property
    def one_product(self) -> bool:  # type: ignore[override]
        return self.rank is not None

    @property
    def of_list(self) -> bool:  # type: ignore[override]
        return self.shuffle is not None

    def roles(self) -> tuple[str, ...]:
        return ("item",)

    def apply(self, showing: ProductPlace) -> Change | None:
        card, cards = siblings(showing)
        order = showing.page.order(cards)
        before = order.index(card) + 1
        if self.rank is not None:
            order.remove(card)
            order.insert(int(filled(self.rank)) - 1, card)
        elif card != cards[0]:
            return None  # its list is shuffled already
        else:
            keys = {each.mem_id: key(showing, each) for each in cards}
            order.sort(key=lambda each: keys[each.mem_id])
            Random(f"{self.shuffle}").shuffle(order)  # noqa: S311 - an experiment is to be repeatable
        showing.page.arrange(cards, order)
        return Change(
            len(cards), f"rank {before} of {len(cards)}", f"rank {order.index(card) + 1} of {len(cards)}"
        )


def siblings(showing: ProductPlace) -> tuple[LexborNode, list[LexborNode]]:
    """Return a card, and the cards of the list that holds it. Raises CannotEdit."""
    card = showing.root
    if card is None:
        raise CannotEdit("a product's own page is no list")
    found = (node for place in showing.site.role("item") for node in showing.page.find(place.css))
    return card, [node for node in found if node.parent == card.parent]


def product_of(showing: ProductPlace, card: LexborNode) -> str:
    """Return the key of the product to whose page a card links."""
    return showing.site.key(key(showing, card), showing.page.url)


def key(showing: ProductPlace, card: LexborNode) -> str:
    """Return the address that a card links to."""
    other = ProductPlace(showing.page, showing.site, showing.group, card)
    return next((showing.value(target) for target in other.all("item.link")), "")
