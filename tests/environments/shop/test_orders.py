"""What an order says is what the cart and the checkout said."""

import re

import httpx
from bs4 import BeautifulSoup

from environments.shop.commerce import SHIPPING_CENTS
from tests.environments.shop.examples import Examples
from tests.environments.shop.test_commerce import add

FIELDS = ("email", "firstname", "lastname", "street", "city", "postcode", "telephone")


def sums(page: str, table: str) -> dict[str, float]:
    """The lines of a table of totals: label -> amount."""
    rows = BeautifulSoup(page, "html.parser").select(f"{table} tr")
    return {row.th.get_text(strip=True): float(re.sub(r"[^\d.]", "", row.td.get_text())) for row in rows}


async def test_cart_checkout_and_order_say_the_same_sums(
    client: httpx.AsyncClient, examples: Examples
) -> None:
    products = (examples.rated, examples.unrated)
    await add(client, products[0].id, qty="2")
    await add(client, products[1].id)
    paid = round(2 * products[0].price + products[1].price + 3 * SHIPPING_CENTS / 100, 2)
    cart = sums((await client.get("checkout/cart/")).text, "#cart-totals")
    checkout = sums((await client.get("checkout/")).text, ".table-totals")
    form = dict.fromkeys(FIELDS, "x") | {"form_key": client.cookies["form_key"]}
    answer = await client.post("checkout/onepage/saveOrder/", data=form, follow_redirects=True)
    assert answer.url.path.endswith("/checkout/onepage/success/")
    order = sums(answer.text, ".table-order-totals")
    assert {cart["Order Total"], checkout["Order Total"], order["Order Total"]} == {paid}
    assert {each["Shipping"] for each in (cart, checkout, order)} == {3 * SHIPPING_CENTS / 100}
    lines = BeautifulSoup(answer.text, "html.parser").select("tbody.order.item")
    read = [(line.strong.get_text(strip=True), line.select_one(".qty .value").get_text()) for line in lines]
    assert read == [(products[0].name, "2"), (products[1].name, "1")]
