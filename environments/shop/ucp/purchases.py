"""Carts, checkouts and orders by UCP."""

from collections.abc import Iterable
from typing import Final

from environments.shop.calls import EmptyRequest, Json
from environments.shop.commerce import order_cart
from environments.shop.purchases import CartContent, PurchaseProblem, Purchases, ShopPurchase
from environments.shop.ucp import answers
from environments.shop.ucp import requests as asks
from environments.shop.ucp.answers import HANDLER, UcpCall, error, nothing

_ADDRESS: Final = "$.fulfillment.methods[0].destinations[0]"
_PATHS: Final = {
    "email": "$.buyer.email",
    "firstname": "$.buyer.first_name",
    "lastname": "$.buyer.last_name",
    "telephone": "$.buyer.phone_number",
    "street": f"{_ADDRESS}.street_address",
    "city": f"{_ADDRESS}.address_locality",
    "postcode": f"{_ADDRESS}.postal_code",
    "items": "$.line_items",
}
"""Field of the checkout page -> where UCP has it."""


def _told(problems: Iterable[PurchaseProblem]) -> list[Json]:
    return [error(each.code, each.content, f"$.line_items[{each.line}]") for each in problems]


def _obstacles(purchase: ShopPurchase) -> list[Json]:
    """What stands in the way of an order: items, and what the checkout page requires too."""
    if purchase.end:
        return []
    # Name and telephone number may also stand with the address.
    said = (purchase.destination or {}) | (purchase.buyer or {})
    known = {field: said.get(path.rpartition(".")[2]) for field, path in _PATHS.items()}
    missing = [_PATHS[field] for field in purchase.missing(known)]
    return [*_told(purchase.problems), *(error("missing", f"Required: {path[2:]}", path) for path in missing)]


def _take_address(purchase: ShopPurchase, request: asks.CheckoutContents) -> None:
    """Take the address of a request; a method without one keeps that which was sent before."""
    methods = request.fulfillment.methods if request.fulfillment else []
    if not methods:
        purchase.destination = None
    elif methods[0].destinations is not None:
        wanted = methods[0].selected_destination_id
        sent = sorted(methods[0].destinations, key=lambda each: each.id != wanted)
        address = {"id": "destination"} | sent[0].model_dump(exclude_none=True) if sent else None
        purchase.destination = address


class UcpPurchases:
    """The ten operations on carts, checkouts and orders."""

    def __init__(self, purchases: Purchases) -> None:
        self._purchases = purchases

    def create_cart(self, call: UcpCall, request: asks.CartContents) -> Json:
        """Create a cart."""
        return self._cart(call, self._begin(call, request, "cart"))

    def get_cart(self, call: UcpCall, request: EmptyRequest) -> Json:
        """Get a cart."""
        return self._cart(call, self._open_cart(call, call.target))

    def update_cart(self, call: UcpCall, request: asks.CartContents) -> Json:
        """Replace the contents of a cart."""
        purchase = self._open_cart(call, call.target)
        self._replace(purchase, request, self._read(request))
        return self._cart(call, purchase)

    def cancel_cart(self, call: UcpCall, request: EmptyRequest) -> Json:
        """Cancel a cart."""
        purchase = self._open_cart(call, call.target)
        answer = self._cart(call, purchase)
        self._purchases.forget(purchase)
        return answer

    def create_checkout(self, call: UcpCall, request: asks.NewCheckout) -> Json:
        """Create a checkout, or go on with that of a cart."""
        if request.cart_id is None:
            purchase = self._begin(call, request, "checkout")
        else:
            purchase = self._open_cart(call, request.cart_id)
        if not purchase.is_checkout:
            _take_address(purchase, request)
            purchase.is_checkout = True
        return self._checkout(call, purchase)

    def get_checkout(self, call: UcpCall, request: EmptyRequest) -> Json:
        """Get a checkout."""
        return self._checkout(call, self._find_checkout(call))

    def update_checkout(self, call: UcpCall, request: asks.CheckoutContents) -> Json:
        """Replace the contents of a checkout."""
        purchase = self._open_checkout(call)
        self._replace(purchase, request, self._read(request))
        _take_address(purchase, request)
        return self._checkout(call, purchase)

    def complete_checkout(self, call: UcpCall, request: asks.CheckoutPayment) -> Json:
        """Place the order of a checkout."""
        purchase = self._open_checkout(call)
        if _obstacles(purchase):
            return self._checkout(call, purchase)
        if not any(each.handler_id == HANDLER["id"] for each in request.payment.instruments):
            content = f"Choose an instrument of the handler {HANDLER['id']}"
            return self._checkout(call, purchase, error("payment_failed", content, "$.payment.instruments"))
        order_cart(purchase.session)
        return self._checkout(call, purchase)

    def cancel_checkout(self, call: UcpCall, request: EmptyRequest) -> Json:
        """Cancel a checkout, and the cart that it came from."""
        purchase = self._open_checkout(call)
        purchase.cancel()
        return self._checkout(call, purchase)

    def get_order(self, call: UcpCall, request: EmptyRequest) -> Json:
        """Get an order that this platform placed."""
        purchase = self._purchases.ordered(call.target, call.platform)
        if purchase is None:
            raise nothing("order", error("not_found", "Order not found"))
        return self._order(call, purchase)

    def _begin(self, call: UcpCall, request: asks.CartContents, capability: str) -> ShopPurchase:
        content = self._read(request)
        if content.problems and not content.wanted:
            raise nothing(capability, *_told(content.problems))
        purchase = self._purchases.begin(call.platform)
        self._replace(purchase, request, content)
        return purchase

    def _open_cart(self, call: UcpCall, purchase_id: str) -> ShopPurchase:
        purchase = self._purchases.find(purchase_id, call.platform)
        if purchase is None or purchase.end:
            raise nothing("cart", error("not_found", "Cart not found or has expired"))
        return purchase

    def _find_checkout(self, call: UcpCall) -> ShopPurchase:
        purchase = self._purchases.find(call.target, call.platform)
        if purchase is None or not purchase.is_checkout:
            raise nothing("checkout", error("not_found", "Checkout not found or has expired"))
        return purchase

    def _open_checkout(self, call: UcpCall) -> ShopPurchase:
        purchase = self._find_checkout(call)
        if how := purchase.end:
            message = error(f"checkout_{how}", f"The checkout is {how}", severity="unrecoverable")
            raise answers.BusinessOutcome(self._checkout(call, purchase, message))
        return purchase

    def _read(self, request: asks.CartContents) -> CartContent:
        return self._purchases.read((line.item.id, line.quantity) for line in request.line_items)

    def _replace(self, purchase: ShopPurchase, request: asks.CartContents, content: CartContent) -> None:
        purchase.fill(content)
        purchase.buyer = request.buyer.model_dump(exclude_none=True) if request.buyer else None

    def _cart(self, call: UcpCall, purchase: ShopPurchase) -> Json:
        ucp = {"ucp": answers.envelope("cart", "checkout")}
        return ucp | self._contents(call, purchase) | answers.said(_told(purchase.problems))

    def _checkout(self, call: UcpCall, purchase: ShopPurchase, *messages: Json) -> Json:
        obstacles = _obstacles(purchase)
        policy = f"{call.base}privacy-policy-cookie-restriction-mode/"
        answer = {
            "ucp": answers.envelope("checkout", "fulfillment", "cart", payment_handlers=answers.HANDLERS),
            "status": purchase.end or ("incomplete" if obstacles else "ready_for_complete"),
            **self._contents(call, purchase),
            "fulfillment": call.fulfillment(purchase.lines, purchase.shipping, purchase.destination),
            "links": [{"type": "privacy_policy", "url": policy}],
        }
        if number := purchase.order_number:
            answer["order"] = {"id": number, "permalink_url": _on_the_pages(call, purchase)}
        return answer | answers.said([*obstacles, *messages])

    def _contents(self, call: UcpCall, purchase: ShopPurchase) -> Json:
        """What a cart and a checkout have in common."""
        form: Json = {
            "id": purchase.id,
            "line_items": [call.line_item(line) for line in purchase.lines],
            "currency": call.shop.catalogue.currency,
            "totals": self._purchases.totals(purchase),
        }
        if purchase.buyer:
            form["buyer"] = purchase.buyer
        if not purchase.end:
            form["continue_url"] = _on_the_pages(call, purchase)
            form["expires_at"] = self._purchases.expiry()
        return form

    def _order(self, call: UcpCall, purchase: ShopPurchase) -> Json:
        contents = self._contents(call, purchase)
        contents.pop("buyer", None)  # an order has none
        for line in contents["line_items"]:
            line["quantity"] = {"original": line["quantity"], "total": line["quantity"], "fulfilled": 0}
            line["status"] = "processing"
        more = {"checkout_id": purchase.id, "permalink_url": _on_the_pages(call, purchase), "fulfillment": {}}
        return {"ucp": answers.envelope("order")} | contents | {"id": purchase.order_number} | more


def _on_the_pages(call: UcpCall, purchase: ShopPurchase) -> str:
    return f"{call.base}continue/{purchase.id}"
