"""swap: two products change places on a listing."""

from typing import ClassVar

from pydantic import RootModel

from interventions.edits.base import Edit, Leftover, Text
from interventions.edits.reorder import product_of, siblings
from interventions.edits.showing import Change, ProductPlace
from interventions.yaml.sitemap import SiteMap


class Swap(Edit, RootModel[Text], frozen=True):
    """Changes places with the product of this key, in lists that show both."""

    leftover: ClassVar[Leftover] = ""
    orders: ClassVar[bool] = True
    one_product: ClassVar[bool] = True

    def roles(self) -> tuple[str, ...]:
        return ("item",)

    def moved(self, site: SiteMap) -> frozenset[str]:
        return frozenset({site.key(self.root)})

    def apply(self, showing: ProductPlace) -> Change | None:
        card, cards = siblings(showing)
        wanted = showing.site.key(self.root)
        others = [node for node in cards if product_of(showing, node) == wanted]
        if not others:
            return None
        order = showing.page.order(cards)
        here, there = order.index(card), order.index(others[0])
        order[here], order[there] = order[there], order[here]
        showing.page.arrange(cards, order)
        return Change(2, f"rank {here + 1} of {len(cards)}", f"rank {there + 1} of {len(cards)}")
