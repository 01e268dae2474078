"""Check the sums of a cart on pages that scripts draw: where one is still that at the old prices, it is told.

What such a page would show without edits is not known: its scripts draw it from data that edits have
changed. But its lines tell what they come to at the new prices and at the old ones. A total that is the
latter exactly, and not the former, is one that the new price has not reached. Any other total may be right in
this shop, as it may hold tax or shipping.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NamedTuple

from interventions.apply.consistency import CART, Cart, PageFigure
from interventions.apply.mapped_page import MappedPage
from interventions.apply.sums import ROW, CartSums, sums_on_page
from interventions.errors import CannotEdit


class PriceChange(NamedTuple):
    """The price of a product in currency units, as the shop has it and as an edit has made it."""

    old: Decimal
    new: Decimal


@dataclass(frozen=True)
class _BothSums:
    """What a cart comes to at the old prices and at the new ones; `rounding`: how far each may be rounded."""

    old: Decimal
    new: Decimal
    rounding: Decimal

    def is_old(self, value: Decimal) -> bool:
        """Return whether a figure is the sum at the old prices, and not that at the new ones."""
        return self._is(value, self.old) and not self._is(value, self.new)

    def is_new(self, value: Decimal) -> bool:
        """Return whether a figure is the sum at the new prices."""
        return self._is(value, self.new)

    def _is(self, value: Decimal, wanted: Decimal) -> bool:
        return abs(value - wanted) <= self.rounding


@dataclass
class DrawnSums:
    """The carts of an episode as its pages come, of which some are drawn by scripts."""

    prices: Mapping[str, PriceChange]
    _sent: dict[int, list[_BothSums]] = field(default_factory=dict)
    """How often the cart had changed -> totals that answers in JSON have told, as sent and as edited."""
    _lines: dict[int, _BothSums] = field(default_factory=dict)
    """The same for what the lines of drawn pages come to."""

    def note(self, sighting: PageFigure) -> None:
        """Note a total that an answer in JSON has told."""
        state = sighting.cart.state if sighting.cart else None
        if sighting.role == "data.totals" and state is not None and sighting.sent is not None:
            both = _BothSums(sighting.sent, sighting.value, sighting.tolerance)
            self._sent.setdefault(state, []).append(both)

    def on(self, view: MappedPage, state: int | None) -> Iterator[PageFigure]:
        """Yield the sums of a page as drawn that are those at the old prices, each with the right one.

        state: how often the cart may have changed before; None: it may have changed meanwhile.
        """
        try:
            sums = sums_on_page(view)
        except CannotEdit:
            return
        url, cart = view.page.url, Cart(state, {})
        lines = self._of_lines(sums)
        known = [lines] if lines else []
        if state is not None:
            if lines:
                self._lines[state] = lines
            elif state in self._lines:
                known = [self._lines[state]]
            known += self._sent.get(state, ())
        for total in sums.totals:
            late = next((both for both in known if both.is_old(total.value)), None)
            if late is None or any(both.is_new(total.value) for both in known):
                continue
            right = PageFigure(
                CART, "total", late.new, "the sum at the new prices", url, late.rounding,
                is_sum=True, sent=late.old, cart=cart, is_of_lines=True, is_drawn=True,
            )  # fmt: skip
            yield right
            yield replace(right, value=total.value, role=total.role, is_of_lines=False)
        for line in sums.lines:
            price = self.prices.get(line.product)
            each = line.value / line.pieces
            if price and _BothSums(price.old, price.new, line.rounding).is_old(each):
                role = line.role if line.pieces == 1 else f"{line.role} / {line.pieces.normalize():f}"
                yield PageFigure(line.product, "price", each, role, url, line.rounding, is_sum=True)

    def _of_lines(self, sums: CartSums) -> _BothSums | None:
        """What the lines come to; None where no price of theirs was edited, or they do not tell."""
        worth = next((total for total in sums.of_lines if total.place == ROW), None)
        rows = ((self.prices.get(product), pieces) for product, pieces in sums.content.get(ROW, ()))
        moved = sum(((price.new - price.old) * pieces for price, pieces in rows if price), Decimal(0))
        if worth is None or not moved:
            return None
        return _BothSums(worth.value - moved, worth.value, worth.rounding)
