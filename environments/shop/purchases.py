"""Carts and checkouts of programs.

A purchase is a session of the shop, as a browser has one, and its id is the session's. So a buyer who goes on
in a browser finds the same cart on the pages, and the order there.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from environments.shop.calls import Json
from environments.shop.catalogue import Product
from environments.shop.commerce import ADDRESS_FIELDS, SHIPPING_CENTS
from environments.shop.sessions import MOST_LINES, MOST_QUANTITY, CartLine, Choices, ShopSession
from environments.shop.storefront import Storefront
from environments.shop.variants import VariantIds

_MOST_PURCHASES: Final = 10_000

_Wanted = dict[tuple[int, Choices], tuple[Product, int]]


@dataclass(frozen=True, slots=True)
class PurchaseProblem:
    """Why something is not in the cart; `line` is its number in the request."""

    code: str
    content: str
    line: int


@dataclass(slots=True)
class ShopPurchase:
    """A cart or checkout, and what its session does not hold.

    `owner`: who began it; nobody else is told of it. `buyer`, `destination`: as the protocol has them.
    `problems`: why lines that were asked for are not in the cart. `canceled`: the lines of a canceled one.
    """

    id: str
    session: ShopSession
    owner: str
    is_checkout: bool = False
    buyer: Json | None = None
    destination: Json | None = None
    problems: list[PurchaseProblem] = field(default_factory=list)
    canceled: tuple[CartLine, ...] | None = None

    @property
    def lines(self) -> tuple[CartLine, ...]:
        """The lines of the cart, or of what it became."""
        if self.canceled is not None:
            return self.canceled
        return self.session.order.lines if self.session.order else tuple(self.session.lines.values())

    @property
    def shipping(self) -> int:
        """In cents, as the cart page counts it."""
        return SHIPPING_CENTS * sum(line.quantity for line in self.lines)

    @property
    def subtotal(self) -> int:
        """In cents."""
        return sum(line.cents for line in self.lines)

    @property
    def end(self) -> str:
        """How a checkout ended; empty for one that goes on."""
        if self.canceled is not None:
            return "canceled"
        return "completed" if self.session.order else ""

    @property
    def order_number(self) -> str:
        """The number of the order; empty when there is none."""
        return self.session.order.number if self.session.order and self.canceled is None else ""

    def missing(self, known: Mapping[str, object]) -> list[str]:
        """Return what the checkout page requires too: fields of its form, and `items`."""
        fields = [name for name in ADDRESS_FIELDS if not str(known.get(name) or "").strip()]
        return [*fields, *(() if self.session.lines else ("items",))]

    def cancel(self) -> None:
        """End the checkout without an order."""
        self.canceled = self.lines
        self.session.lines.clear()

    def fill(self, contents: "CartContent") -> None:
        """Make the cart what is wanted; a line whose variant stays keeps its id."""
        wanted, self.problems = dict(contents.wanted), contents.problems
        for line in [*self.session.lines.values()]:
            _, quantity = wanted.pop((line.product.id, line.choices), (None, 0))
            self.session.set_quantity(line.id, quantity)
        for (_, choices), (product, quantity) in wanted.items():
            self.session.add(product, choices, quantity)


@dataclass(frozen=True, slots=True)
class CartContent:
    """What can be put into a cart, lines of the same variant together; and why the rest can't."""

    wanted: _Wanted
    problems: list[PurchaseProblem]


class Purchases:
    """The purchases by one protocol. Nothing here waits, so operations never mix."""

    def __init__(self, shop: Storefront, ids: VariantIds) -> None:
        self.shop = shop
        self._ids = ids
        self._purchases: OrderedDict[str, ShopPurchase] = OrderedDict()

    def begin(self, owner: str) -> ShopPurchase:
        """Return a new purchase with an empty cart."""
        purchase_id = self.shop.sessions.visitor_id(None)
        purchase = ShopPurchase(purchase_id, self.shop.sessions.open(purchase_id), owner)
        self._purchases = OrderedDict(
            (name, each) for name, each in self._purchases.items() if name in self.shop.sessions
        )
        self._purchases[purchase_id] = purchase
        if len(self._purchases) > _MOST_PURCHASES:
            self._purchases.popitem(last=False)
        return purchase

    def find(self, purchase_id: str, owner: str) -> ShopPurchase | None:
        """Return the purchase of this id, where the same owner began it."""
        known = self._purchases[purchase_id] if self.session(purchase_id) else None
        return known if known and known.owner == owner else None

    def ordered(self, number: str, owner: str) -> ShopPurchase | None:
        """Return the purchase that became this order."""
        known = (each for each in self._purchases.values() if each.order_number == number)
        return next((each for each in known if each.owner == owner and self.session(each.id)), None)

    def forget(self, purchase: ShopPurchase) -> None:
        """Empty a cart, and forget it."""
        purchase.session.lines.clear()
        del self._purchases[purchase.id]

    def session(self, purchase_id: str) -> ShopSession | None:
        """Return the session of a purchase that a buyer continues on the pages."""
        return self.shop.sessions.find(purchase_id) if purchase_id in self._purchases else None

    def totals(self, purchase: ShopPurchase) -> list[Json]:
        """Return the sums of a purchase, in minor units and the words of its page."""
        due = "total", "Order Total", purchase.subtotal + purchase.shipping
        sums = (
            ("subtotal", "Subtotal", purchase.subtotal),
            ("fulfillment", "Shipping", purchase.shipping),
            due,
        )
        return [
            {"type": kind, "display_text": self.shop.word(text), "amount": self.shop.minor(cents)}
            for kind, text, cents in sums
        ]

    def expiry(self) -> str:
        """Return until when a purchase is kept that nobody uses."""
        expires = datetime.now(UTC) + timedelta(seconds=self.shop.sessions.idle)
        return expires.isoformat(timespec="seconds")

    def read(self, items: Iterable[tuple[str, int]]) -> CartContent:
        """Read what is asked for: ids of variants, and how often."""
        wanted: _Wanted = {}
        problems = []
        for number, (item_id, count) in enumerate(items):
            product, choices = self._ids.resolve(item_id)
            if product is None:
                problem = "not_found", f"Item not found: {item_id}"
            elif choices is None:
                problem = "item_unavailable", f"Choose one of the variants of {item_id}"
            elif not product.in_stock:
                problem = "out_of_stock", f"Out of stock: {product.name}"
            else:
                key = product.id, choices
                quantity = count + wanted.get(key, (product, 0))[1]
                if quantity <= MOST_QUANTITY and (key in wanted or len(wanted) < MOST_LINES):
                    wanted[key] = product, quantity
                    continue
                problem = "quantity_exceeded", f"A cart takes {MOST_LINES} lines of {MOST_QUANTITY} items"
            problems.append(PurchaseProblem(*problem, number))
        return CartContent(wanted, problems)
