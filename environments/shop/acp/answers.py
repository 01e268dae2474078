"""What the shop answers by ACP: products of a feed, and checkout sessions. Amounts are in minor units.

The protocol's objects are closed: it has no field for ratings, reviews or badges.
"""

from dataclasses import dataclass
from typing import Final

from environments.shop import prose
from environments.shop.calls import Json, ProtocolError
from environments.shop.catalogue import Product
from environments.shop.purchases import Purchases, ShopPurchase
from environments.shop.sessions import CartLine, Choices
from environments.shop.storefront import product_url
from environments.shop.variants import variant_id, variant_title, variants

VERSION: Final = "2026-04-17"
OPTION: Final = "flatrate"
"""The only way in which items come, that of the checkout page."""
_ABOUT_CHECKS: Final = "https://souk.test/check"
HANDLER: Final = {
    "id": "check",
    "name": "test.souk.check",
    "version": VERSION,
    "spec": _ABOUT_CHECKS,
    "requires_delegate_payment": False,
    "requires_pci_compliance": False,
    "psp": "none",
    "config_schema": _ABOUT_CHECKS,
    "instrument_schemas": [],
    "config": {},
}
"""The only way to pay, that of the checkout page."""
_ADDRESS: Final = "$.fulfillment_details.address"
_PATHS: Final = {
    "email": "$.buyer.email",
    "firstname": "$.buyer.first_name",
    "lastname": "$.buyer.last_name",
    "telephone": "$.buyer.phone_number",
    "street": f"{_ADDRESS}.line_one",
    "city": f"{_ADDRESS}.city",
    "postcode": f"{_ADDRESS}.postal_code",
    "items": "$.line_items",
}
"""Field of the checkout page -> where ACP has it."""
_CODES: Final = {"item_unavailable": "invalid"}
"""The protocol's words for problems; others are the same."""


def refusal(error: ProtocolError) -> Json:
    """Return what is said of a request that is not answered."""
    return {"type": "invalid_request", "code": error.code, "message": str(error)} | error.more


def message(code: str, content: str, param: str) -> Json:
    """Return a message that says what stands in the way of a purchase."""
    return {"type": "error", "code": code, "content_type": "plain", "content": content, "param": param}


def _obstacles(purchase: ShopPurchase) -> list[Json]:
    """What stands in the way of an order: items, and what the checkout page requires too."""
    if purchase.end:
        return []
    buyer, details = purchase.buyer or {}, purchase.destination or {}
    address = details.get("address", {})
    name = buyer.get("full_name") or details.get("name") or address.get("name")
    known = {
        "email": buyer.get("email") or details.get("email"),
        "firstname": buyer.get("first_name") or name,
        "lastname": buyer.get("last_name") or name,
        "telephone": buyer.get("phone_number") or details.get("phone_number"),
        "street": address.get("line_one"),
        "city": address.get("city"),
        "postcode": address.get("postal_code"),
    }
    missing = [_PATHS[field] for field in purchase.missing(known)]
    return [
        *(
            message(_CODES.get(each.code, each.code), each.content, f"$.line_items[{each.line}]")
            for each in purchase.problems
        ),
        *(message("missing", f"Required: {path[2:]}", path) for path in missing),
    ]


@dataclass(frozen=True)
class AcpCall:
    """One request: the shop's address as it was written, who asks, and the session that is meant."""

    purchases: Purchases
    base: str
    owner: str
    target: str

    def product(self, product: Product) -> Json:
        """Return a product of the feed, with all its variants."""
        return {
            "id": product.sku,
            "title": product.name,
            "description": {"plain": _description(product)},
            "url": product_url(product, self.base),
            "media": [{"type": "image", "url": self.purchases.shop.picture_url(product, self.base)}],
            "variants": [self._variant(product, choices) for choices in variants(product)],
        }

    def _variant(self, product: Product, choices: Choices) -> Json:
        shop, status = self.purchases.shop, "in_stock" if product.in_stock else "out_of_stock"
        form = {
            "id": variant_id(product, choices),
            "title": variant_title(product, choices),
            "price": {"amount": shop.minor(product.cents), "currency": shop.catalogue.currency},
            "availability": {"available": product.in_stock, "status": status},
            "categories": [{"value": " > ".join(product.path), "taxonomy": "merchant"}],
        }
        return form | _chosen(choices)

    def _line_item(self, line: CartLine) -> Json:
        shop, product = self.purchases.shop, line.product
        sums = ("subtotal", "Subtotal"), ("total", "Total")
        form = {
            "id": str(line.id),
            "item": {"id": variant_id(product, line.choices)},
            "quantity": line.quantity,
            "name": variant_title(product, line.choices),
            "description": _description(product),
            "images": [shop.picture_url(product, self.base)],
            "unit_amount": shop.minor(product.cents),
            "availability_status": "in_stock",
            "totals": [
                {"type": kind, "display_text": shop.word(text), "amount": shop.minor(line.cents)}
                for kind, text in sums
            ],
        }
        return form | _chosen(line.choices)

    def session(self, purchase: ShopPurchase, *more: Json) -> Json:
        """Return a checkout session; `more`: messages about this request alone."""
        shop, obstacles = self.purchases.shop, _obstacles(purchase)
        shipping = {"display_text": shop.word("Shipping"), "amount": shop.minor(purchase.shipping)}
        option = {"type": "shipping", "id": OPTION, "title": shop.word("Flat Rate")}
        lines = [self._line_item(line) for line in purchase.lines]
        chosen = {"type": "shipping", "option_id": OPTION, "item_ids": [line["id"] for line in lines]}
        policy = f"{self.base}privacy-policy-cookie-restriction-mode/"
        on_the_pages = f"{self.base}continue/{purchase.id}"
        form: Json = {
            "id": purchase.id,
            "protocol": {"version": VERSION},
            "capabilities": {"payment": {"handlers": [HANDLER]}},
            "status": purchase.end or ("not_ready_for_payment" if obstacles else "ready_for_payment"),
            "currency": shop.catalogue.currency.lower(),
            "line_items": lines,
            "fulfillment_options": [option | {"totals": [{"type": "total"} | shipping]}],
            "selected_fulfillment_options": [chosen],
            "totals": self.purchases.totals(purchase),
            "messages": [*obstacles, *more],
            "links": [{"type": "privacy_policy", "url": policy}],
        }
        if purchase.buyer:
            form["buyer"] = purchase.buyer
        if purchase.destination:
            form["fulfillment_details"] = purchase.destination
        if not purchase.end:
            form |= {"continue_url": on_the_pages, "expires_at": self.purchases.expiry()}
        if number := purchase.order_number:
            order = {"id": number, "checkout_session_id": purchase.id, "permalink_url": on_the_pages}
            form["order"] = order | {"status": "confirmed"}
        return form


def _description(product: Product) -> str:
    return "\n".join(prose.features(product))


def _chosen(choices: Choices) -> Json:
    """Return the values that a variant is made of, if there are any."""
    values = [{"name": option.title, "value": value.title} for option, value in choices]
    return {"variant_options": values} if values else {}
