"""Carts, checkouts and orders by UCP.

A cart or checkout is a session of the shop, as a browser has one, and its id is the session's. So a buyer
who follows `continue_url` finds the same cart on the pages, and the order there.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from environments.shop.catalogue import Product
from environments.shop.commerce import SHIPPING_CENTS, order_cart
from environments.shop.sessions import MOST_LINES, MOST_QUANTITY, CartLine, Choices, ShopSession
from environments.shop.storefront import Storefront
from environments.shop.ucp import answers
from environments.shop.ucp import requests as asks
from environments.shop.ucp.answers import HANDLER, Json, UcpCall, error, nothing
from environments.shop.ucp.catalog import UcpCatalog

_MOST_PURCHASES: Final = 10_000
_BUYER: Final = [f"$.buyer.{name}" for name in ("email", "first_name", "last_name", "phone_number")]
_ADDRESS: Final = "$.fulfillment.methods[0].destinations[0]"
_PLACE: Final = [f"{_ADDRESS}.{name}" for name in ("street_address", "address_locality", "postal_code")]

_Wanted = dict[tuple[int, Choices], tuple[Product, int]]


@dataclass(slots=True)
class _Purchase:
    """A cart or checkout, and what its session does not hold.

    `problems`: why lines that were asked for are not in the cart. `canceled`: the lines of a canceled
    checkout.
    """

    id: str
    session: ShopSession
    platform: str
    is_checkout: bool = False
    buyer: Json | None = None
    destination: Json | None = None
    problems: list[Json] = field(default_factory=list)
    canceled: tuple[CartLine, ...] | None = None

    @property
    def lines(self) -> tuple[CartLine, ...]:
        if self.canceled is not None:
            return self.canceled
        return self.session.order.lines if self.session.order else tuple(self.session.lines.values())

    @property
    def shipping(self) -> int:
        """In cents, as the cart page counts it."""
        return SHIPPING_CENTS * sum(line.quantity for line in self.lines)

    @property
    def end(self) -> str:
        """How a checkout ended; empty for one that goes on."""
        if self.canceled is not None:
            return "canceled"
        return "completed" if self.session.order else ""

    @property
    def status(self) -> str:
        return self.end or ("incomplete" if self.obstacles else "ready_for_complete")

    @property
    def obstacles(self) -> list[Json]:
        """What stands in the way of an order: items, and what the checkout page requires too."""
        if self.end:
            return []
        # Name and telephone number may also stand with the address.
        known = (self.destination or {}) | (self.buyer or {})
        needed = [*_BUYER, *_PLACE, *(() if self.session.lines else ("$.line_items",))]
        missing = [path for path in needed if not str(known.get(path.rpartition(".")[2], "")).strip()]
        return [*self.problems, *(error("missing", f"Required: {path[2:]}", path) for path in missing)]

    def address(self, request: asks.CheckoutContents) -> None:
        """Take the address of a request; a method without one keeps that which was sent before."""
        methods = request.fulfillment.methods if request.fulfillment else []
        if not methods:
            self.destination = None
        elif methods[0].destinations is not None:
            wanted = methods[0].selected_destination_id
            sent = sorted(methods[0].destinations, key=lambda each: each.id != wanted)
            self.destination = {"id": "destination"} | sent[0].model_dump(exclude_none=True) if sent else None


class UcpPurchases:
    """The ten operations on carts, checkouts and orders. Nothing here waits, so operations never mix."""

    def __init__(self, shop: Storefront, catalog: UcpCatalog) -> None:
        self._shop = shop
        self._catalog = catalog
        self._purchases: OrderedDict[str, _Purchase] = OrderedDict()

    def create_cart(self, call: UcpCall, request: asks.CartContents) -> Json:
        """Create a cart."""
        return self._cart(call, self._begin(call, request, "cart"))

    def get_cart(self, call: UcpCall, request: asks.EmptyRequest) -> Json:
        """Get a cart."""
        return self._cart(call, self._open_cart(call, call.target))

    def update_cart(self, call: UcpCall, request: asks.CartContents) -> Json:
        """Replace the contents of a cart."""
        purchase = self._open_cart(call, call.target)
        self._replace(purchase, request)
        return self._cart(call, purchase)

    def cancel_cart(self, call: UcpCall, request: asks.EmptyRequest) -> Json:
        """Cancel a cart."""
        purchase = self._open_cart(call, call.target)
        answer = self._cart(call, purchase)
        purchase.session.lines.clear()
        del self._purchases[purchase.id]
        return answer

    def create_checkout(self, call: UcpCall, request: asks.NewCheckout) -> Json:
        """Create a checkout, or go on with that of a cart."""
        if request.cart_id is None:
            purchase = self._begin(call, request, "checkout")
        else:
            purchase = self._open_cart(call, request.cart_id)
        if not purchase.is_checkout:
            purchase.address(request)
            purchase.is_checkout = True
        return self._checkout(call, purchase)

    def get_checkout(self, call: UcpCall, request: asks.EmptyRequest) -> Json:
        """Get a checkout."""
        return self._checkout(call, self._find_checkout(call))

    def update_checkout(self, call: UcpCall, request: asks.CheckoutContents) -> Json:
        """Replace the contents of a checkout."""
        purchase = self._open_checkout(call)
        self._replace(purchase, request)
        purchase.address(request)
        return self._checkout(call, purchase)

    def complete_checkout(self, call: UcpCall, request: asks.CheckoutPayment) -> Json:
        """Place the order of a checkout."""
        purchase = self._open_checkout(call)
        if purchase.obstacles:
            return self._checkout(call, purchase)
        if not any(each.handler_id == HANDLER["id"] for each in request.payment.instruments):
            content = f"Choose an instrument of the handler {HANDLER['id']}"
            return self._checkout(call, purchase, error("payment_failed", content, "$.payment.instruments"))
        order_cart(purchase.session)
        return self._checkout(call, purchase)

    def cancel_checkout(self, call: UcpCall, request: asks.EmptyRequest) -> Json:
        """Cancel a checkout, and the cart that it came from."""
        purchase = self._open_checkout(call)
        purchase.canceled = purchase.lines
        purchase.session.lines.clear()
        return self._checkout(call, purchase)

    def get_order(self, call: UcpCall, request: asks.EmptyRequest) -> Json:
        """Get an order that this platform placed."""
        for purchase in self._purchases.values():
            order = purchase.session.order
            is_meant = order and order.number == call.target and purchase.platform == call.platform
            if order and is_meant and self.session(purchase.id):
                return self._order(call, purchase, order.number)
        raise nothing("order", error("not_found", "Order not found"))

    def session(self, purchase_id: str) -> ShopSession | None:
        """Return the session of a cart or checkout that a buyer continues on the pages."""
        return self._shop.sessions.find(purchase_id) if purchase_id in self._purchases else None

    def _begin(self, call: UcpCall, request: asks.CartContents, capability: str) -> _Purchase:
        wanted, problems = self._read(request)
        if problems and not wanted:
            raise nothing(capability, *problems)
        purchase_id = self._shop.sessions.visitor_id(None)
        purchase = _Purchase(purchase_id, self._shop.sessions.open(purchase_id), call.platform)
        self._purchases = OrderedDict(
            (name, each) for name, each in self._purchases.items() if name in self._shop.sessions
        )
        self._purchases[purchase_id] = purchase
        if len(self._purchases) > _MOST_PURCHASES:
            self._purchases.popitem(last=False)
        self._replace(purchase, request)
        return purchase

    def _known(self, call: UcpCall, purchase_id: str) -> _Purchase | None:
        """The cart or checkout of this id, where the same platform began it."""
        known = self._purchases[purchase_id] if self.session(purchase_id) else None
        return known if known and known.platform == call.platform else None

    def _open_cart(self, call: UcpCall, purchase_id: str) -> _Purchase:
        purchase = self._known(call, purchase_id)
        if purchase is None or purchase.end:
            raise nothing("cart", error("not_found", "Cart not found or has expired"))
        return purchase

    def _find_checkout(self, call: UcpCall) -> _Purchase:
        purchase = self._known(call, call.target)
        if purchase is None or not purchase.is_checkout:
            raise nothing("checkout", error("not_found", "Checkout not found or has expired"))
        return purchase

    def _open_checkout(self, call: UcpCall) -> _Purchase:
        purchase = self._find_checkout(call)
        if how := purchase.end:
            message = error(f"checkout_{how}", f"The checkout is {how}", severity="unrecoverable")
            raise answers.BusinessOutcome(self._checkout(call, purchase, message))
        return purchase

    def _read(self, request: asks.CartContents) -> tuple[_Wanted, list[Json]]:
        """What can be put into a cart, lines of the same variant together; and why the rest can't."""
        wanted: _Wanted = {}
        problems = []
        for number, line in enumerate(request.line_items):
            product, choices = self._catalog.resolve(line.item.id)
            if product is None:
                problem = error("not_found", f"Item not found: {line.item.id}")
            elif choices is None:
                problem = error("item_unavailable", f"Choose one of the variants of {line.item.id}")
            elif not product.in_stock:
                problem = error("out_of_stock", f"Out of stock: {product.name}")
            else:
                key = product.id, choices
                quantity = line.quantity + wanted.get(key, (product, 0))[1]
                if quantity <= MOST_QUANTITY and (key in wanted or len(wanted) < MOST_LINES):
                    wanted[key] = product, quantity
                    continue
                content = f"A cart takes {MOST_LINES} lines of {MOST_QUANTITY} items"
                problem = error("quantity_exceeded", content)
            problems.append(problem | {"path": f"$.line_items[{number}]"})
        return wanted, problems

    def _replace(self, purchase: _Purchase, request: asks.CartContents) -> None:
        """Make the cart what is wanted; a line whose variant stays keeps its id."""
        session = purchase.session
        wanted, purchase.problems = self._read(request)
        purchase.buyer = request.buyer.model_dump(exclude_none=True) if request.buyer else None
        for line in [*session.lines.values()]:
            _, quantity = wanted.pop((line.product.id, line.choices), (None, 0))
            session.set_quantity(line.id, quantity)
        for (_, choices), (product, quantity) in wanted.items():
            session.add(product, choices, quantity)

    def _cart(self, call: UcpCall, purchase: _Purchase) -> Json:
        ucp = {"ucp": answers.envelope("cart", "checkout")}
        return ucp | self._contents(call, purchase) | answers.said(purchase.problems)

    def _checkout(self, call: UcpCall, purchase: _Purchase, *messages: Json) -> Json:
        order = purchase.session.order
        policy = f"{call.base}privacy-policy-cookie-restriction-mode/"
        answer = {
            "ucp": answers.envelope("checkout", "fulfillment", "cart", payment_handlers=answers.HANDLERS),
            "status": purchase.status,
            **self._contents(call, purchase),
            "fulfillment": call.fulfillment(purchase.lines, purchase.shipping, purchase.destination),
            "links": [{"type": "privacy_policy", "url": policy}],
        }
        if order and purchase.canceled is None:
            answer["order"] = {"id": order.number, "permalink_url": _on_the_pages(call, purchase)}
        return answer | answers.said([*purchase.obstacles, *messages])

    def _contents(self, call: UcpCall, purchase: _Purchase) -> Json:
        """What a cart and a checkout have in common."""
        form: Json = {
            "id": purchase.id,
            "line_items": [call.line_item(line) for line in purchase.lines],
            "currency": self._shop.catalogue.currency,
            "totals": call.totals(sum(line.cents for line in purchase.lines), purchase.shipping),
        }
        if purchase.buyer:
            form["buyer"] = purchase.buyer
        if not purchase.end:
            expires = datetime.now(UTC) + timedelta(seconds=self._shop.sessions.idle)
            form["continue_url"] = _on_the_pages(call, purchase)
            form["expires_at"] = expires.isoformat(timespec="seconds")
        return form

    def _order(self, call: UcpCall, purchase: _Purchase, number: str) -> Json:
        contents = self._contents(call, purchase)
        contents.pop("buyer", None)  # an order has none
        for line in contents["line_items"]:
            line["quantity"] = {"original": line["quantity"], "total": line["quantity"], "fulfilled": 0}
            line["status"] = "processing"
        more = {"checkout_id": purchase.id, "permalink_url": _on_the_pages(call, purchase), "fulfillment": {}}
        return {"ucp": answers.envelope("order")} | contents | {"id": number} | more


def _on_the_pages(call: UcpCall, purchase: _Purchase) -> str:
    return f"{call.base}ucp/continue/{purchase.id}"
