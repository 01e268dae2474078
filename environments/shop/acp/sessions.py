"""Checkout sessions by ACP."""

from environments.shop.acp.answers import HANDLER, OPTION, AcpCall, message
from environments.shop.acp.requests import NewCheckoutSession, SessionPayment, SessionUpdate
from environments.shop.calls import EmptyRequest, Json, ProtocolError
from environments.shop.commerce import order_cart
from environments.shop.purchases import ShopPurchase


def create(call: AcpCall, asked: NewCheckoutSession) -> Json:
    """Begin a session."""
    currency = call.purchases.shop.catalogue.currency
    if asked.currency.upper() != currency:
        said = f"the shop sells for {currency.lower()}"
        raise ProtocolError(400, "unsupported_currency", said, param="$.currency")
    return _change(call, call.purchases.begin(call.owner), asked)


def get(call: AcpCall, asked: EmptyRequest) -> Json:
    """Say what is in a session."""
    return call.session(_find(call))


def update(call: AcpCall, asked: SessionUpdate) -> Json:
    """Change what a request names, and leave the rest."""
    return _change(call, _find_open(call), asked)


def complete(call: AcpCall, asked: SessionPayment) -> Json:
    """Place the order of a session."""
    purchase = _find_open(call)
    _take_buyer(purchase, asked)
    answer = call.session(purchase)
    if answer["messages"]:
        return answer
    if asked.payment_data.handler_id != HANDLER["id"]:
        said = f"Choose the handler {HANDLER['id']}"
        return call.session(purchase, message("payment_declined", said, "$.payment_data.handler_id"))
    order_cart(purchase.session)
    return call.session(purchase)


def cancel(call: AcpCall, asked: EmptyRequest) -> Json:
    """End a session without an order."""
    purchase = _find_open(call)
    purchase.cancel()
    return call.session(purchase)


def _find(call: AcpCall) -> ShopPurchase:
    purchase = call.purchases.find(call.target, call.owner)
    if purchase is None:
        raise ProtocolError(404, "session_not_found", "Checkout session not found or has expired")
    return purchase


def _find_open(call: AcpCall) -> ShopPurchase:
    purchase = _find(call)
    if how := purchase.end:
        raise ProtocolError(405, f"session_{how}", f"The checkout session is {how}")
    return purchase


def _change(call: AcpCall, purchase: ShopPurchase, asked: SessionUpdate) -> Json:
    if "line_items" in asked.model_fields_set:
        items = asked.line_items or []
        purchase.fill(call.purchases.read((item.id, item.quantity) for item in items))
    _take_buyer(purchase, asked)
    if "fulfillment_details" in asked.model_fields_set:
        details = asked.fulfillment_details
        purchase.destination = details.model_dump(exclude_none=True) if details else None
    others = [
        message(
            "invalid", "The shop has no such option", f"$.selected_fulfillment_options[{number}].option_id"
        )
        for number, option in enumerate(asked.selected_fulfillment_options or ())
        if option.option_id != OPTION
    ]
    return call.session(purchase, *others)


def _take_buyer(purchase: ShopPurchase, asked: SessionUpdate | SessionPayment) -> None:
    if "buyer" in asked.model_fields_set:
        purchase.buyer = asked.buyer.model_dump(exclude_none=True) if asked.buyer else None
