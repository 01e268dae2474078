"""sort_default: the order in which lists stand when nobody has asked for another."""

import html
from collections.abc import Sequence
from decimal import Decimal
from typing import ClassVar, Final, Literal

from pydantic import BaseModel
from selectolax.lexbor import LexborNode

from interventions.edits.base import Edit, Leftover
from interventions.edits.reorder import siblings
from interventions.edits.showing import Change, ProductPlace
from interventions.errors import CannotEdit
from interventions.html.marking import MARK
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
        if any(_selected(each) not in usual for each in controls if usual):
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
        options = [(_value(each), each.text().strip()) for each in control.css("option")]
        mine = [value for value, text in options if self.by in (value.lower(), *text.lower().split())]
        if not mine:
            mine = [self.by]
            options.append((self.by, self.by.capitalize()))
        facts = [(name, value or "") for name, value in control.attributes.items() if name != MARK]
        written = [
            _tag("option", [("value", value), *[("selected", "")][: value == mine[0]]]) + html.escape(text)
            for value, text in options
        ]
        return f"{_tag('select', facts)}{'</option>'.join(written)}</option></select>"


def _tag(name: str, facts: Sequence[tuple[str, str]]) -> str:
    told = "".join(f' {fact}="{html.escape(value)}"' for fact, value in facts)
    return f"<{name}{told}>"


def _value(option: LexborNode) -> str:
    value = option.attributes.get("value")
    return option.text().strip() if value is None else value


def _selected(control: LexborNode) -> str:
    options = control.css("option")
    chosen = [each for each in options if "selected" in each.attributes] or options[:1]
    return _value(chosen[-1]) if chosen else ""
