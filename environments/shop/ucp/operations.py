"""The thirteen operations of UCP: what each takes, and how it is carried out over either transport."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from environments.shop.calls import EmptyRequest, IdempotencyKeys, Json, ProtocolError, first_mistake
from environments.shop.purchases import Purchases
from environments.shop.storefront import Storefront
from environments.shop.ucp import requests as asks
from environments.shop.ucp.answers import BusinessOutcome, UcpCall
from environments.shop.ucp.catalog import UcpCatalog
from environments.shop.ucp.purchases import UcpPurchases
from environments.shop.variants import VariantIds

_NEED_KEY: Final = ("complete_checkout", "cancel_checkout")


@dataclass(frozen=True, slots=True)
class UcpOperation:
    """An operation: its address by REST, and what it takes.

    `argument`: the tool's argument by MCP that has what is the body by REST; empty where there is none.
    """

    verb: str
    path: str
    argument: str
    request: type[BaseModel]
    run: Callable[[UcpCall, Any], Json]

    @property
    def name(self) -> str:
        """The protocol's name of the operation, and that of the tool by MCP."""
        return self.run.__name__

    @property
    def about(self) -> str:
        """The description of the tool by MCP."""
        return self.run.__doc__ or ""

    @property
    def has_id(self) -> bool:
        """Whether it is about one cart, checkout or order."""
        return "{id}" in self.path

    @property
    def only_reads(self) -> bool:
        """Whether it leaves all as it is."""
        return self.verb == "GET" or self.argument == "catalog"


class UcpDesk:
    """The operations of one shop, and what each was answered."""

    def __init__(self, shop: Storefront, ids: VariantIds, purchases: Purchases) -> None:
        self.shop = shop
        goods = UcpCatalog(shop, ids)
        sales = UcpPurchases(purchases)
        cart, checkout, nothing = "/carts/{id}", "/checkout-sessions/{id}", EmptyRequest
        self.operations = [
            UcpOperation(*row)
            for row in (
                ("POST", "/catalog/search", "catalog", asks.SearchRequest, goods.search_catalog),
                ("POST", "/catalog/lookup", "catalog", asks.LookupRequest, goods.lookup_catalog),
                ("POST", "/catalog/product", "catalog", asks.ProductRequest, goods.get_product),
                ("POST", "/carts", "cart", asks.CartContents, sales.create_cart),
                ("GET", cart, "", nothing, sales.get_cart),
                ("PUT", cart, "cart", asks.CartContents, sales.update_cart),
                ("POST", cart + "/cancel", "", nothing, sales.cancel_cart),
                ("POST", "/checkout-sessions", "checkout", asks.NewCheckout, sales.create_checkout),
                ("GET", checkout, "", nothing, sales.get_checkout),
                ("PUT", checkout, "checkout", asks.CheckoutContents, sales.update_checkout),
                ("POST", checkout + "/complete", "checkout", asks.CheckoutPayment, sales.complete_checkout),
                ("POST", checkout + "/cancel", "", nothing, sales.cancel_checkout),
                ("GET", "/orders/{id}", "", nothing, sales.get_order),
            )
        ]
        self._keys = IdempotencyKeys(conflict=409)

    def perform(self, operation: UcpOperation, call: UcpCall, sent: object, key: str | None) -> Json:
        """Carry out an operation, once for each idempotency key.

        Raises:
            ProtocolError: the request has not the form of the protocol, or its key was used for another one.
        """
        try:
            request = operation.request.model_validate(sent)
        except ValidationError as found:
            raise ProtocolError(400, "invalid_request", first_mistake(found)) from None
        if operation.name in _NEED_KEY and not key:
            raise ProtocolError(400, "invalid_request", f"{operation.name} needs an idempotency key")
        place = call.platform, operation.name, "" if operation.only_reads else key or ""
        asked = [call.target, sent]
        return self._keys.once(place, asked, lambda: _answer(operation, call, request))[0]


def _answer(operation: UcpOperation, call: UcpCall, request: BaseModel) -> Json:
    try:
        return operation.run(call, request)
    except BusinessOutcome as outcome:
        return outcome.answer
