"""set_price: another price, wherever the product shows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from functools import partial
from typing import Annotated, ClassVar

from pydantic import RootModel

from interventions.edits.base import FIGURE_SCHEMA, Edit, Leftover, figure, filled
from interventions.edits.in_browser import PagePlaces, Verdict, figure_stands
from interventions.edits.place_values import figures_at
from interventions.edits.showing import FOLLOWERS, Change, ProductPlace, Target
from interventions.errors import CannotEdit


def _rounded(amount: Decimal) -> Decimal:
    """To cents; to thousandths where these say more, as amounts in dinars do."""
    cents, finer = (amount.quantize(Decimal(unit), ROUND_HALF_UP) for unit in ("0.01", "0.001"))
    return cents if cents == finer else finer


Price = Annotated[
    Decimal | str,
    figure("a price", "an amount such as 19.99", lambda n: _rounded(n) if 0 <= n < 10**9 else None),
    FIGURE_SCHEMA,
]


class SetPrice(Edit, RootModel[Price], frozen=True):
    """Shows a price, in currency units, in the page's own format; sums, instalments and the like follow.

    Of a range of prices it is the lower end; the upper one moves by the same factor. It is the price that the
    product shows first in an episode; a dearer variant stays as much dearer.
    """

    leftover: ClassVar[Leftover] = "price"
    readable: ClassVar[bool] = True

    def roles(self) -> tuple[str, ...]:
        return ("product.price", "product.subtotal", "product.total", *FOLLOWERS, "cart.total")

    def values(self) -> Mapping[str, Decimal | str]:
        return {"price": filled(self.root)}

    def stands(self, there: PagePlaces, done: Sequence[Change]) -> Verdict | None:
        return figure_stands(there, "product.price", filled(self.root), done)

    def role_at(self, showing: ProductPlace) -> str:
        """Return the sum of the line where a cart shows no price of one piece."""
        price, subtotal = "product.price", "product.subtotal"
        return subtotal if showing.role(subtotal) and not showing.role(price) else price

    def apply(self, showing: ProductPlace) -> Change:
        price = filled(self.root)
        role, subtotal = self.role_at(showing), "product.subtotal"
        quantity = _shown(showing, "product.quantity") if showing.has("product.quantity") else Decimal(1)
        target = showing.main(role)[0]
        if role != subtotal:
            price = showing.moved(target, role, price)
        worth = price * quantity if role == subtotal else price
        old = showing.number(target, role)
        change = showing.write(role, worth)
        if old != worth and (old or any(map(showing.has, FOLLOWERS))):
            if not old:
                raise CannotEdit(f'what follows the price cannot be told from "{change.before}"')
            highest = _highest(showing)
            showing.follow(role, old, worth)
            main = showing.main(role)[0]
            if main.place.part is None:
                change = replace(change, after=showing.value(main))
            if highest:
                after = f"{change.after} – {_highest(showing)}"
                change = replace(change, before=f"{change.before} – {highest}", after=after)
        if showing.has("product.quantity") or showing.group == "row":
            delta = worth - _known(old, change.before)
            if role != subtotal:
                delta *= quantity
                if showing.has(subtotal):
                    delta = price * quantity - _shown(showing, subtotal)
                    showing.write(subtotal, price * quantity)
            moved: set[int] = set()
            for role in _totals(showing):
                for place in showing.site.role(role):
                    for node in showing.page.find(place.css):
                        if node.mem_id not in moved:
                            usage = showing.usage(role, Target(node, place))
                            showing.page.shift(node, delta, partial(figures_at, place, usage=usage))
                        moved.add(node.mem_id)
        return change


def _highest(showing: ProductPlace) -> str:
    """The upper end of a range where it is shown in an element of its own; empty where there is none."""
    found = (each for each in showing.all("product.high_price") if each.attribute is None)
    return next(map(showing.value, found), "")


def _totals(showing: ProductPlace) -> tuple[str, ...]:
    """The totals that follow a line; where a page shows lines twice, the cart's total follows its rows."""
    own = f"{showing.group}.total"
    rows = (place.css for place in showing.site.role("row"))
    if showing.group != "row" and any(map(showing.page.has, rows)):
        return (own,)
    return "cart.total", own


def _shown(showing: ProductPlace, role: str) -> Decimal:
    target = showing.main(role)[0]
    return _known(showing.number(target, role), showing.value(target))


def _known(value: Decimal | None, text: str) -> Decimal:
    if value is None:
        raise CannotEdit(f'the text "{text}" does not hold exactly one figure')
    return value
