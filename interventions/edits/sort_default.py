"""sort_default: the order in which lists stand when nobody has asked for another."""

from typing import Any, ClassVar, Final, Literal

from pydantic import BaseModel
from selectolax.lexbor import LexborNode

from interventions.edits.base import Edit, Leftover
from interventions.edits.reorder import siblings
from interventions.edits.showing import Change, ProductPlace
from interventions.html.marking import unmark
from interventions.html.tree import select
from interventions.yaml.sitemap import PageType

By = Literal["price", "rating", "reviews", "name"]
CONTROL: Final = "listing.sort"
ARROW: Final = "listing.sort_direction"
USUAL: Final = "listing.sort_default"
"""What the shop's control shows when nobody has asked for an order."""


class SortDefault(Edit, BaseModel, frozen=True, extra="forbid"):
    """Sorts the cards of a listing by what they show; those without it come last.

    The shop's own control (a <select>) then says so; an arrow for the direction, which would not, is taken
    out where the order is descending. A list that somebody has sorted with it stays.
    """

    leftover: ClassVar[Leftover] = ""
    orders: ClassVar[bool] = True
    of_list: ClassVar[bool] = True
    pages: ClassVar[tuple[PageType, ...]] = ("listing",)

    by: By
    descending: bool = False

    def roles(self) -> tuple[str, ...]:
        return ("item", f"item.{self.by}", CONTROL, USUAL, ARROW)

    def needs(self) -> tuple[str, ...]:
        return ("item", f"item.{self.by}", CONTROL)

    def apply(self, showing: ProductPlace) -> Change | None:
        page, (card, cards) = showing.page, siblings(showing)
        if not cards or card != cards[-1]:
            return None  # by then the others show what they are sorted by
        tools = ProductPlace(page, showing.site, "listing")
        controls, usual = list(tools.all(CONTROL)), [tools.value(each) for each in tools.all(USUAL)]
        if usual and any(_chosen(each.node) not in usual for each in controls):
            return None
        shown = {each.mem_id: self._shown(showing, each) for each in cards}
        known = [each for each in page.order(cards) if shown[each.mem_id] is not None]
        rest = [each for each in page.order(cards) if shown[each.mem_id] is None]
        known.sort(key=lambda each: shown[each.mem_id], reverse=self.descending)
        page.arrange(cards, [*known, *rest])
        for each in tools.all(ARROW) if self.descending else ():
            page.remove(each.node)
        for each in controls:
            page.insert(each.node, "after", self._control(each.node).encode(page.output, "xmlcharrefreplace"))
            page.remove(each.node)
        return Change(len(cards), "", f"by {self.by}{', descending' if self.descending else ''}")

    def _shown(self, showing: ProductPlace, card: LexborNode) -> Any:
        place, role = ProductPlace(showing.page, showing.site, showing.group, card), f"item.{self.by}"
        target = next(place.all(role), None)
        if target is None:
            return None
        return place.value(target).casefold() if self.by == "name" else place.number(target, role)

    def _control(self, control: LexborNode) -> str:
        """The control with this order chosen; where it does not offer it, with one more option."""
        markup, name = _plain(control), self.by.capitalize()
        for option in select(control, "option"):
            if self.by in (option.attributes.get("value"), *option.text().lower().split()):
                return markup.replace(old := _plain(option), old.replace("<option", "<option selected", 1), 1)
        return markup.replace("</select>", f'<option value="{self.by}" selected>{name}</option></select>')


def _plain(node: LexborNode) -> str:
    """The markup of a control, or an option of it, in which nothing is chosen."""
    return unmark(node.html or "").replace(' selected=""', "")


def _chosen(control: LexborNode) -> str | None:
    options = select(control, "option[selected]") or select(control, "option")
    return options[0].attributes.get("value") if options else None
