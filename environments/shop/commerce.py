"""The cart, the checkout, and the page sections that scripts fetch."""

import re
from collections.abc import Mapping
from itertools import count
from typing import Final

from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from environments.shop.catalogue import Product
from environments.shop.sessions import CartFull, CartLine, Choices, ShopOrder, ShopSession
from environments.shop.storefront import NO_STORE, ShopVisit, Storefront, product_url
from interventions.data_file import read_data

SHIPPING_CENTS: Final = 500
"""The shipping price of each item, in cents."""

_FIELDS: Final = read_data(__file__, "pages.yaml")["address"]
ADDRESS_FIELDS: Final = tuple(name for name, *_ in _FIELDS)
"""What the checkout page requires."""
_OPTIONS_MISSING: Final = (
    "The product's required option(s) weren't entered. Make sure the options are entered and try again."
)
_order_numbers = count(191)


async def cart(shop: Storefront, visit: ShopVisit) -> Response:
    """Return the cart page."""
    session = visit.session
    return shop.page(
        visit,
        "cart.html",
        title=shop.word("Shopping Cart"),
        body_class="checkout-cart-index",
        session=session,
        shipping=SHIPPING_CENTS * session.quantity,
    )


async def add(shop: Storefront, visit: ShopVisit, form: FormData) -> Response:
    """Put a product into the cart.

    A script is answered with `[]`; a browser is sent back to where the visitor was.
    """
    product = shop.store.product(visit.request.path_params["id"])
    if product is None or not product.in_stock:
        raise HTTPException(404)
    session = visit.open_session()
    choices = _choices(product, form)
    if choices is None:
        return _ask_for_options(visit, session, product)
    quantity = _quantity(form.get("qty", "1"))
    if not quantity:
        session.say("error", "Please enter a quantity greater than 0.")
        return visit.go(product_url(product, visit.base))
    try:
        session.add(product, choices, quantity)
    except CartFull:
        session.say("error", "The requested qty exceeds the maximum qty allowed in shopping cart.")
        return visit.go(product_url(product, visit.base))
    cart_link = Markup('<a href="{}checkout/cart/">{}</a>').format(visit.base, shop.word("shopping cart"))
    said = Markup(shop.word("You added {} to your {}."))  # noqa: S704 - the shop's own words
    session.say("success", said.format(product.name, cart_link))
    if visit.is_xhr:
        return JSONResponse([])
    return visit.go(visit.origin(visit.request.path_params["uenc"]))


async def ask_for_options(shop: Storefront, visit: ShopVisit, form: FormData) -> Response:
    """Send the visitor to a product's page, with a message to choose its options.

    The button of a card whose product has options leads here.
    """
    product = shop.catalogue.by_key.get(visit.request.path_params["path"])
    if product is None:
        raise HTTPException(404)
    return _ask_for_options(visit, visit.open_session(), product)


async def update(shop: Storefront, visit: ShopVisit, form: FormData) -> Response:
    """Take the form of the cart page: new quantities, or an empty cart."""
    session = visit.open_session()
    if form.get("update_cart_action") == "empty_cart":
        session.lines.clear()
    else:
        for line_id in list(session.lines):
            _set_quantity(session, line_id, form.get(f"cart[{line_id}][qty]"))
    return visit.go(f"{visit.base}checkout/cart/")


async def delete(shop: Storefront, visit: ShopVisit, form: FormData) -> Response:
    """Remove a line on the cart page."""
    visit.open_session().set_quantity(_quantity(form.get("id")) or 0, 0)
    return visit.go(f"{visit.base}checkout/cart/")


async def sidebar_update(shop: Storefront, visit: ShopVisit, form: FormData) -> Response:
    """Change a quantity in the minicart."""
    session = visit.open_session()
    changed = _set_quantity(session, _quantity(form.get("item_id")) or 0, form.get("item_qty"))
    return JSONResponse({"success": changed})


async def sidebar_remove(shop: Storefront, visit: ShopVisit, form: FormData) -> Response:
    """Remove a line in the minicart."""
    visit.open_session().set_quantity(_quantity(form.get("item_id")) or 0, 0)
    return JSONResponse({"success": True})


async def sections(shop: Storefront, visit: ShopVisit) -> Response:
    """Return what scripts put into the page: the cart and the pending messages, as far as asked for."""
    wanted = visit.request.query_params.get("sections", "").split(",")
    session = visit.session
    content: dict[str, object] = {}
    if "cart" in wanted:
        content["cart"] = _cart_section(shop, visit, session)
    if "messages" in wanted:
        messages = [
            {"type": message.kind, "text": shop.word(message.html)} for message in session.take_messages()
        ]
        content["messages"] = {"messages": messages}
    if "directory-data" in wanted:
        content["directory-data"] = {}
    return JSONResponse(content, headers=NO_STORE)


async def checkout(shop: Storefront, visit: ShopVisit) -> Response:
    """Return the page that asks for address and payment."""
    session = visit.session
    if not session.lines:
        return RedirectResponse(f"{visit.base}checkout/cart/", status_code=302)
    return shop.page(
        visit,
        "checkout.html",
        title=shop.word("Checkout"),
        body_class="checkout-index-index",
        layout="checkout",
        session=session,
        fields=_FIELDS,
        shipping=SHIPPING_CENTS * session.quantity,
    )


async def place_order(shop: Storefront, visit: ShopVisit, form: FormData) -> Response:
    """End the checkout. The address is checked and not kept."""
    session = visit.open_session()
    if not session.lines:
        return visit.go(f"{visit.base}checkout/cart/")
    if not all(str(form.get(name, "")).strip() for name in ADDRESS_FIELDS):
        session.say("error", "Please fill in all required fields.")
        return visit.go(f"{visit.base}checkout/")
    order_cart(session)
    return visit.go(f"{visit.base}checkout/onepage/success/")


def order_cart(session: ShopSession) -> ShopOrder:
    """Make an order of the cart, which is empty then."""
    lines = tuple(session.lines.values())
    session.order = ShopOrder(f"{next(_order_numbers):09}", lines, SHIPPING_CENTS * session.quantity)
    session.lines.clear()
    return session.order


async def success(shop: Storefront, visit: ShopVisit) -> Response:
    """Return the page after an order."""
    order = visit.session.order
    if order is None:
        return RedirectResponse(f"{visit.base}checkout/cart/", status_code=302)
    return shop.page(
        visit,
        "success.html",
        title=shop.word("Success Page"),
        heading=shop.word("Thank you for your purchase!"),
        body_class="checkout-onepage-success",
        order=order,
    )


def _ask_for_options(visit: ShopVisit, session: ShopSession, product: Product) -> Response:
    session.say("notice", _OPTIONS_MISSING)
    return visit.go(f"{product_url(product, visit.base)}?options=cart")


def _choices(product: Product, form: Mapping[str, object]) -> Choices | None:
    """The values chosen for all options; None when one is missing or is not on offer."""
    choices = []
    for option in product.options:
        wanted = form.get(f"options[{option.id}]")
        value = next((value for value in option.values if str(value.id) == wanted), None)
        if value is None:
            return None
        choices.append((option, value))
    return tuple(choices)


def _set_quantity(session: ShopSession, line_id: int, text: object) -> bool:
    quantity = _quantity(text)
    if quantity is None:
        return False
    try:
        session.set_quantity(line_id, quantity)
    except CartFull:
        session.say("error", "The requested qty exceeds the maximum qty allowed in shopping cart.")
        return False
    return True


def _quantity(text: object) -> int | None:
    """A whole number of at most six digits, else None."""
    return int(text) if isinstance(text, str) and re.fullmatch(r"[0-9]{1,6}", text) else None


def _cart_section(shop: Storefront, visit: ShopVisit, session: ShopSession) -> dict[str, object]:
    return {
        "summary_count": session.quantity,
        "subtotalAmount": session.cents / 100,
        "subtotal": _price_html(shop, session.cents),
        "items": [_item(shop, visit, line) for line in reversed(session.lines.values())],
    }


def _item(shop: Storefront, visit: ShopVisit, line: CartLine) -> dict[str, object]:
    product = line.product
    return {
        "item_id": line.id,
        "product_id": product.id,
        "product_sku": product.sku,
        "product_name": product.name,
        "product_url": product_url(product, visit.base),
        "product_price": _price_html(shop, product.cents),
        "product_price_value": product.price,
        "product_image": {"src": shop.picture_url(product, visit.base)},
        "qty": line.quantity,
        "options": [{"label": option.title, "value": value.title} for option, value in line.choices],
    }


def _price_html(shop: Storefront, cents: int) -> str:
    return f'<span class="price">{shop.money(cents)}</span>'
