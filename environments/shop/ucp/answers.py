"""What the shop answers by UCP: the JSON forms of products, line items and totals.

Search, lookup, product, cart, checkout and order share these forms. Amounts are in minor units.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from environments.shop import prose
from environments.shop.calls import Json, ProtocolError
from environments.shop.catalogue import Product
from environments.shop.sessions import CartLine, Choices
from environments.shop.storefront import Storefront, product_url
from environments.shop.variants import variant_id, variant_title

VERSION: Final = "2026-04-08"
HANDLER: Final = {"id": "check", "version": VERSION, "available_instruments": [{"type": "check_money_order"}]}
"""The only way to pay, that of the checkout page."""
HANDLERS: Final = {"test.souk.check": [HANDLER]}


def refusal(error: ProtocolError) -> Json:
    """Return what is said of a request that is not answered."""
    return {"code": error.code, "content": str(error)}


class BusinessOutcome(Exception):
    """An operation that was understood and not carried out: the answer says why."""

    def __init__(self, answer: Json) -> None:
        super().__init__()
        self.answer = answer


def nothing(capability: str, *messages: Json) -> BusinessOutcome:
    """Return that there is no cart, checkout, order or product to show."""
    final = [message | {"severity": "unrecoverable"} for message in messages]
    return BusinessOutcome({"ucp": envelope(capability, status="error"), "messages": final})


def envelope(*capabilities: str, status: str = "success", **more: Any) -> Json:
    """Return the member `ucp` of an answer."""
    offered = {f"dev.ucp.shopping.{name}": [{"version": VERSION}] for name in capabilities}
    return {"version": VERSION, "status": status, "capabilities": offered} | more


def error(code: str, content: str, path: str = "$", severity: str = "recoverable") -> Json:
    """Return a message that says what stands in the way of a purchase."""
    return {"type": "error", "code": code, "content": content, "severity": severity, "path": path}


def said(messages: Sequence[Json]) -> Json:
    """Return the member `messages`, if there are any."""
    return {"messages": [*messages]} if messages else {}


def selected(choices: Choices) -> list[Json]:
    """Return the values that a variant is made of."""
    return [{"name": option.title, "label": value.title} for option, value in choices]


@dataclass(frozen=True)
class UcpCall:
    """One request: the shop, its address as it was written, the platform, and the resource that is meant.

    `platform`: the address of its profile. `target`: the id of a cart, checkout or order.
    """

    shop: Storefront
    base: str
    platform: str
    target: str = ""

    def product(self, product: Product, chosen: Iterable[Choices]) -> Json:
        """Return a product with some of its variants."""
        price = self._price(product)
        form: Json = {
            "id": product.sku,
            "handle": product.key,
            "title": product.name,
            "description": {"plain": "\n".join(prose.features(product))},
            "url": product_url(product, self.base),
            "categories": [{"value": " > ".join(product.path), "taxonomy": "merchant"}],
            "price_range": {"min": price, "max": price},
            "media": [{"type": "image", "url": self.shop.picture_url(product, self.base)}],
            "variants": [self._variant(product, choices) for choices in chosen],
        }
        if product.options:
            form["options"] = [
                {"name": option.title, "values": [{"label": value.title} for value in option.values]}
                for option in product.options
            ]
        count = {"count": product.reviews} if product.reviews else {}
        if product.rating is not None:
            # The pages say a rating in percent of five stars.
            form["rating"] = {"value": product.rating / 20, "scale_max": 5} | count
        elif count:
            form["metadata"] = {"reviews": product.reviews}
        return form

    def _variant(self, product: Product, choices: Choices) -> Json:
        title = " / ".join(value.title for _, value in choices) or product.name
        status = "in_stock" if product.in_stock else "out_of_stock"
        form = {
            "id": variant_id(product, choices),
            "title": title,
            "description": {"plain": title},
            "price": self._price(product),
            "availability": {"available": product.in_stock, "status": status},
        }
        return form | ({"options": selected(choices)} if choices else {})

    def _price(self, product: Product) -> Json:
        return {"amount": self.shop.minor(product.cents), "currency": self.shop.catalogue.currency}

    def line_item(self, line: CartLine) -> Json:
        """Return a line of a cart or checkout."""
        product, amount = line.product, self.shop.minor(line.cents)
        item = {
            "id": variant_id(product, line.choices),
            "title": variant_title(product, line.choices),
            "price": self.shop.minor(product.cents),
            "image_url": self.shop.picture_url(product, self.base),
        }
        totals = [{"type": kind, "amount": amount} for kind in ("subtotal", "total")]
        return {"id": str(line.id), "item": item, "quantity": line.quantity, "totals": totals}

    def fulfillment(self, lines: Iterable[CartLine], cents: int, destination: Json | None) -> Json:
        """Return how the items come: by the one method with its one option, which is chosen."""
        ids = [str(line.id) for line in lines]
        costs = [{"type": "total", "amount": self.shop.minor(cents)}]
        option = {"id": "flatrate", "title": self.shop.word("Flat Rate"), "totals": costs}
        group = {"id": "package", "line_item_ids": ids, "options": [option], "selected_option_id": "flatrate"}
        method = {"id": "shipping", "type": "shipping", "line_item_ids": ids, "groups": [group]}
        if destination:
            method |= {"destinations": [destination], "selected_destination_id": destination["id"]}
        return {"methods": [method]}
