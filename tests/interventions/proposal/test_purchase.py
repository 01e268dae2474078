"""What one product put into the cart teaches: the id that requests name it by, and the line of the cart."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest
from mitmproxy import http

from interventions.proposal.cart import Purchase, SentRequest, cart_roles
from interventions.proposal.purchase import learn
from interventions.proposal.scan import Capture, Scan
from proxy.choices import values

URL = "http://shop.test/p/1-lamp/"
# As Shuup writes it: the first field with the product's id holds the number of the warehouse.
PAGE = """<!doctype html><title>Lamp</title><h1>Lamp</h1><p>$39.90</p><form method=post action=/basket/>
<input type=hidden name=supplier_id value=1><input type=hidden name=command value=add>
<input type=hidden name=product_id value=1><button>Add to cart</button></form>"""
CART = """<!doctype html><title>Cart</title><div class=basket-items><div class=single-item>
<h4 class=name><a href="/p/1-lamp/">Lamp</a></h4><input type=number class=line_quantity name=q value=2>
<div class=product-sum><h4 class=price><small>Total: </small>$79.80</h4></div></div></div>
<div class=total-price><strong>$79.80</strong></div>"""
SENT = SentRequest(
    "POST", "http://shop.test/basket/", "application/x-www-form-urlencoded",
    "supplier_id=1&command=add&product_id=1&quantity=1", 302, False,
)  # fmt: skip
PURCHASE = Purchase(
    "Lamp", URL, Decimal("39.90"), Capture(URL, PAGE), Capture(URL, PAGE), (SENT,),
    Capture("http://shop.test/basket/", CART.replace("79.80", "39.90").replace("value=2", "value=1")),
    Capture("http://shop.test/basket/", CART), Capture(URL, PAGE),
)  # fmt: skip


def test_the_id_is_the_product_s_and_not_the_warehouse_s() -> None:
    learned = learn(PURCHASE)
    (request,) = learned.choice.request
    assert request.field == "product_id"
    (place,) = next(role.places for role in learned.roles if role.role == "product.id")
    assert place.css == "input[name=product_id]"


def test_a_stored_query_s_hash_is_no_product() -> None:
    """Relay and others send a hash as the `id` of each request, whatever it asks for."""
    body = json.dumps({"id": "ab" * 32, "variables": {"input": {"merchandiseId": "gid:7"}}})
    sent = SentRequest("POST", "http://shop.test/g", "application/json", body, 200, False)
    learned = learn(replace(PURCHASE, requests=(sent,)))
    assert [rule.field for rule in learned.choice.request] == ["$.variables.input.merchandiseId"]
    assert learned.id == "gid:7"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('[null,"17342","x"]', "$[1]"),
        ('[null,"gid://shop/ProductVariant/17342"]', "$[1]"),
        ('["a",{"form":[17342]}]', "$[1].form[*]"),
        ('{"what":"17342"}', "what"),
        ('[{"what":"17342"}]', "what"),
    ],
)
def test_json_of_plain_values_that_says_it_is_text(body: str, field: str) -> None:
    """What is proposed is also what the proxy finds in the request."""
    page = PAGE.replace("</h1>", "</h1><input type=hidden name=product value=17342>", 1)
    sent = SentRequest("POST", f"{URL}cart", "text/plain;charset=UTF-8", body, 200, False)
    purchase = replace(PURCHASE, after=Capture(URL, page), before=Capture(URL, page), requests=(sent,))
    (rule,) = learn(purchase).choice.request
    assert rule.field == field
    request = http.Request.make("POST", sent.url, body, {"content-type": sent.content_type})
    assert list(values(request, rule)) == ["17342"]


def test_a_line_that_shows_only_its_sum() -> None:
    cart, page = Scan(Capture("http://shop.test/basket/", CART)), Scan(Capture(URL, PAGE))
    roles = {role.role: role.text for role in cart_roles(cart, page, PURCHASE, 2, "row")}
    assert roles["row.subtotal"] == "Total: $79.80"
    assert "row.price" not in roles
    assert roles["cart.total"] == "$79.80"


@pytest.mark.parametrize(
    ("name", "css"),
    [
        ("m10234", "input[type=number]"),
        ("form-0-quantity", "input[name$=quantity]"),
        ("items[3][qty]", 'input[name$="qty]"]'),
        ("updates_99", "input[name^=updates]"),
        ("qty", "input[name=qty]"),
    ],
)
def test_the_number_in_a_field_s_name_is_of_one_line_only(name: str, css: str) -> None:
    cart = CART.replace("class=line_quantity name=q", f'name="{name}"')
    roles = cart_roles(Scan(Capture(URL, cart)), Scan(Capture(URL, PAGE)), PURCHASE, 2, "row")
    (place,) = next(role.places for role in roles if role.role == "row.quantity")
    assert place.css == css


def test_a_field_of_text_that_is_called_by_a_number_says_how_many() -> None:
    cart = CART.replace("type=number class=line_quantity name=q", "name=m10234")
    roles = cart_roles(Scan(Capture(URL, cart)), Scan(Capture(URL, PAGE)), PURCHASE, 2, "row")
    found = next(role for role in roles if role.role == "row.quantity")
    assert (found.text, found.places[0].attribute) == ("2", "value")


def test_a_figure_that_is_called_a_price_needs_no_currency() -> None:
    cart = CART.replace("$79.80", "79.80").replace("Total: ", "")
    roles = cart_roles(Scan(Capture(URL, cart)), Scan(Capture(URL, PAGE)), PURCHASE, 2, "row")
    shown = {role.role: role.text for role in roles}
    assert (shown["row.subtotal"], shown["cart.total"]) == ("79.80", "79.80")
    assert "row.price" not in shown


def test_where_each_piece_has_a_line_of_its_own_one_piece_tells_the_line() -> None:
    line = '<tr><td><a href="/p/1-lamp/">Lamp</a></td><td align=right>$39.90</td></tr>'
    first, second = (
        Capture(
            "http://shop.test/basket/",
            f"<title>Cart</title><h2>Cart</h2><table border=1>{line * pieces}<tr><td>Sum</td>"
            f"<th>${Decimal('39.90') * pieces}</th></tr></table>",
        )
        for pieces in (1, 2)
    )
    learned = learn(replace(PURCHASE, first=first, second=second))
    roles = {role.role: role.text for role in learned.roles}
    assert (roles["row"], roles["row.price"]) == ("Lamp", "$39.90")
    assert "one piece" in learned.reasons["cart"]
