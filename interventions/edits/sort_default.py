"""sort_default: the order in which lists stand when nobody has asked for another."""

from decimal import Decimal
from typing import ClassVar, Final, Literal

from pydantic import BaseModel
from selectolax.lexbor import LexborNode

from interventions.edits.base import Edit, Leftover
from interventions.edits.reorder import siblings
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit
from interventions.html.marking import unmark
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
    pages: ClassVar[tuple[PageType, ...]] = ("listing",)

    by: By
    descending: bool = False

    def roles(self) -> tuple[str, ...]:
        return ("item", f"item.{self.by}", CONTROL, USUAL, ARROW)

    def needs(self) -> tuple[str, ...]:
        return ("item", f"item.{self.by}", CONTROL)

    def apply(self, showing: ProductPlace) -> Change | None:
        page, card = showing.page, showing.root
        if card is None:
            raise CannotEdit("a product's own page is no list")
        cards = siblings(showing, card)
        if not cards or card != cards[-1]:
            return None  # by then the others show what they are sorted by
        controls = [node for place in showing.site.role(CONTROL) for node in page.find(place.css)]
        usual = [
            page.value(node, place.attribute)
            for place in showing.site.role(USUAL)
            for node in page.find(place.css)
        ]
        if any(_chosen(each) not in usual for each in controls if usual):
            return None
        found = {each.mem_id: self._shown(showing, each) for each in cards}
        known = [each for each in page.order(cards) if found[each.mem_id] is not None]
        rest = [each for each in page.order(cards) if found[each.mem_id] is None]
        known.sort(key=lambda each: found[each.mem_id], reverse=self.descending)  # type: ignore[arg-type,return-value]
        page.arrange(cards, [*known, *rest])
        arrows = [node for place in showing.site.role(ARROW) for node in page.find(place.css)]
        for each in arrows if self.descending else ():
            page.remove(each)
        for each in controls:
            page.insert(each, "after", self._control(each).encode(page.output, "xmlcharrefreplace"))
            page.remove(each)
        return Change(len(cards), "", f"by {self.by}{', descending' if self.descending else ''}")

    def _shown(self, showing: ProductPlace, card: LexborNode) -> Decimal | str | None:
        place, role = ProductPlace(showing.page, showing.site, showing.group, card), f"item.{self.by}"
        target = next(place.all(role), None)
        if target is None:
            return None
        return place.value(target).casefold() if self.by == "name" else place.number(target, role)

    def _control(self, control: LexborNode) -> str:
        """The control with this order chosen; where it does not offer it, with one more option."""
        markup, name = _plain(control), self.by.capitalize()
        for option in control.css("option"):
            if self.by in (option.attributes.get("value"), *option.text().lower().split()):
                return markup.replace(old := _plain(option), old.replace("<option", "<option selected", 1), 1)
        return markup.replace("</select>", f'<option value="{self.by}" selected>{name}</option></select>')


def _plain(node: LexborNode) -> str:
    """The markup of a control, or an option of it, in which nothing is chosen."""
    return unmark(node.html or "").replace(' selected=""', "")


def _chosen(control: LexborNode) -> str | None:
    option = control.css_first("option[selected]") or control.css_first("option")
    return option.attributes.get("value") if option else None
