"""The shop by ACP: answers keep the protocol's rules, and say what its pages say."""

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environments.shop.catalogue import Catalogue
from environments.shop.commerce import SHIPPING_CENTS
from environments.shop.server import shop
from environments.shop.sessions import MOST_QUANTITY
from tests.environments.shop.acp import (
    AGENT,
    BUYER,
    DETAILS,
    PAID,
    VERSION,
    Json,
    key,
    read,
    totals,
    wanted,
)
from tests.environments.shop.examples import Examples
from tests.environments.shop.test_ucp import JSON, page_facts
from tests.support import size

SESSIONS = "/checkout_sessions"


@pytest.fixture
async def acp(base: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"{base}acp", headers=AGENT) as client:
        yield client


async def post(acp: httpx.AsyncClient, path: str, body: object, status: int = 200, **more: str) -> Json:
    answer = await acp.post(path, json=body, headers=key() | more)
    assert answer.status_code == status, answer.text
    return read("Session" if status < 400 else "Error", answer.json())


async def test_the_discovery_says_where_and_what(base: str) -> None:
    async with httpx.AsyncClient(base_url=base) as client:
        answer = await client.get(".well-known/acp.json")
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert read("Discovery", answer.json())["api_base_url"] == f"{base}acp"


async def test_the_feed_is_the_catalogue_and_says_what_the_pages_say(
    acp: httpx.AsyncClient, client: httpx.AsyncClient, catalogue: Catalogue, examples: Examples
) -> None:
    assert read("Feed", (await acp.get("/feeds/shop")).json()) == {"id": "shop"}
    feed = read("Products", (await acp.get("/feeds/shop/products")).json())["products"]
    assert [each["id"] for each in feed] == [each.sku for each in catalogue.products]
    by_id = {each["id"]: each for each in feed}
    for product in (examples.rated, examples.unrated, examples.optioned, examples.sold_out):
        page, said = page_facts((await client.get(f"{product.key}.html")).text), by_id[product.sku]
        assert (said["title"], said["url"]) == (
            page["title"],
            str(client.base_url.join(f"{product.key}.html")),
        )
        assert said["description"]["plain"].splitlines() == page["description"]
        assert {json.dumps(each["price"]) for each in said["variants"]} == {json.dumps(page["price"])}
        assert {each["availability"]["available"] for each in said["variants"]} == {page["in stock"]}
        chosen = {
            (o["name"], o["value"]) for each in said["variants"] for o in each.get("variant_options", ())
        }
        if page["in stock"]:
            assert chosen == {(name, value) for name, values in page["options"] for value in values}
        assert (await client.get(said["media"][0]["url"])).status_code == 200
    for path in ("/feeds/other", "/feeds/other/products"):
        answer = await acp.get(path)
        assert (answer.status_code, read("Error", answer.json())["code"]) == (404, "feed_not_found")


async def test_a_purchase(acp: httpx.AsyncClient, examples: Examples) -> None:
    feed = (await acp.get("/feeds/shop/products")).json()["products"]
    (product,) = (each for each in feed if each["id"] == examples.optioned.sku)
    variant, other = product["variants"][-1], examples.rated.sku
    begun = await post(acp, SESSIONS, wanted(variant["id"], other, variant["id"]), 201)
    assert begun["status"] == "not_ready_for_payment"
    assert {each["code"] for each in begun["messages"]} == {"missing"}
    assert [(each["item"]["id"], each["quantity"]) for each in begun["line_items"]] == [
        (variant["id"], 2),
        (other, 1),
    ]
    line = begun["line_items"][0]
    assert (line["name"], line["unit_amount"]) == (variant["title"], variant["price"]["amount"])
    assert (line["description"], line["images"]) == (
        product["description"]["plain"],
        [product["media"][0]["url"]],
    )
    assert totals(begun)["fulfillment"] == 3 * SHIPPING_CENTS
    path = f"{SESSIONS}/{begun['id']}"
    assert read("Session", (await acp.get(path)).json())["totals"] == begun["totals"]
    early = await post(acp, f"{path}/complete", PAID)
    assert (early["status"], "order" in early) == ("not_ready_for_payment", False)
    # What an update leaves out stays, and null takes away.
    named = await post(acp, path, {"buyer": BUYER, "line_items": [{"id": other, "quantity": 4}]})
    assert [(each["id"], each["quantity"]) for each in named["line_items"]] == [("2", 4)]
    assert {each["param"] for each in named["messages"]} == {
        *(f"$.fulfillment_details.address.{name}" for name in ("line_one", "city", "postal_code")),
        "$.buyer.phone_number",
    }
    ready = await post(acp, path, {"fulfillment_details": DETAILS})
    assert (ready["status"], ready["messages"], ready["buyer"]) == ("ready_for_payment", [], BUYER)
    assert ready["fulfillment_details"] == DETAILS
    nobody = await post(acp, path, {"buyer": None})
    assert "buyer" not in nobody
    assert [each["param"] for each in nobody["messages"]] == ["$.buyer.email"]
    strange = {"selected_fulfillment_options": [{"type": "shipping", "option_id": "rocket", "item_ids": []}]}
    refused = await post(acp, path, strange)
    assert refused["messages"][-1]["param"] == "$.selected_fulfillment_options[0].option_id"
    gold = {"payment_data": {"handler_id": "gold"}, "buyer": BUYER}
    unpaid = await post(acp, f"{path}/complete", gold)
    assert (unpaid["status"], unpaid["messages"][0]["code"]) == ("ready_for_payment", "payment_declined")
    done = await post(acp, f"{path}/complete", PAID)
    assert (done["status"], done["totals"]) == ("completed", ready["totals"])
    assert done["order"]["checkout_session_id"] == done["id"]
    assert read("Session", (await acp.get(path)).json()) == done
    async with httpx.AsyncClient(follow_redirects=True) as buyer:
        page = await buyer.get(done["order"]["permalink_url"])
    assert page.url.path == "/checkout/onepage/success/"
    assert done["order"]["id"] in page.text


async def test_the_rules_see_a_field_more_a_field_less_and_a_wrong_sum(
    acp: httpx.AsyncClient, examples: Examples
) -> None:
    said = await post(acp, SESSIONS, wanted(examples.optioned.sku, examples.rated.sku), 201)
    product = (await acp.get("/feeds/shop/products")).json()["products"][0]
    for kind, answer in (("Session", said), ("Product", product)):
        for path in places(answer):
            for change in (lambda each: each | {"rating": 5}, lambda each: dict([*each.items()][1:])):
                spoilt = json.loads(json.dumps(answer))
                at(spoilt, path[:-1])[path[-1]] = change(at(spoilt, path))
                with pytest.raises(AssertionError):
                    read(kind, spoilt)
    for path in (("totals", 0), ("totals", 1), ("totals", 2), ("line_items", 0, "totals", 0)):
        for amount in (1, 0.5, -10_000_000):
            spoilt = json.loads(json.dumps(said))
            at(spoilt, path)["amount"] += amount
            with pytest.raises(AssertionError):
                read("Session", spoilt)


def places(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where objects stand whose first field is required."""
    members = (
        enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    )
    for name, each in members:
        if isinstance(each, dict) and each and name not in ("availability", "capabilities"):
            yield (*path, name)
        yield from places(each, (*path, name))


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


async def test_a_buyer_goes_on_with_the_cart_on_the_pages(
    acp: httpx.AsyncClient, base: str, examples: Examples
) -> None:
    begun = await post(acp, SESSIONS, wanted(examples.rated.sku), 201)
    async with httpx.AsyncClient(base_url=base, follow_redirects=True) as buyer:
        assert (await buyer.get(begun["continue_url"])).url.path == "/checkout/"
        fields = ("email", "firstname", "lastname", "street", "city", "postcode", "telephone")
        form = dict.fromkeys(fields, "x") | {"form_key": buyer.cookies["form_key"]}
        await buyer.post("checkout/onepage/saveOrder/", data=form)
    done = read("Session", (await acp.get(f"{SESSIONS}/{begun['id']}")).json())
    assert (done["status"], done["totals"]) == ("completed", begun["totals"])


async def test_ends_are_ends(acp: httpx.AsyncClient, examples: Examples) -> None:
    begun = await post(acp, SESSIONS, wanted(examples.rated.sku), 201)
    path, reason = f"{SESSIONS}/{begun['id']}", {"intent_trace": {"reason_code": "shipping_cost"}}
    canceled = await post(acp, f"{path}/cancel", reason)
    assert (canceled["status"], canceled["line_items"]) == ("canceled", begun["line_items"])
    assert canceled.keys().isdisjoint({"continue_url", "expires_at", "order"})
    for where, body in ((path, {}), (f"{path}/complete", PAID), (f"{path}/cancel", {})):
        answer = await acp.post(where, json=body, headers=key())
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
        assert read("Error", answer.json())["code"] == "session_canceled"
    assert (await acp.get(path)).json() == canceled


async def test_what_cannot_be_bought_is_said(acp: httpx.AsyncClient, examples: Examples) -> None:
    sold_out, optioned, rated = examples.sold_out.sku, examples.optioned.sku, examples.rated.sku
    body = wanted(sold_out, optioned, "nothing", rated)
    body["line_items"].append({"id": rated, "quantity": MOST_QUANTITY})
    said = await post(acp, SESSIONS, body | {"buyer": BUYER, "fulfillment_details": DETAILS}, 201)
    assert [(each["code"], each["param"]) for each in said["messages"]] == [
        ("out_of_stock", "$.line_items[0]"),
        ("invalid", "$.line_items[1]"),
        ("not_found", "$.line_items[2]"),
        ("quantity_exceeded", "$.line_items[4]"),
    ]
    assert [each["item"]["id"] for each in said["line_items"]] == [rated]
    none = await post(acp, SESSIONS, wanted(sold_out), 201)
    assert (none["line_items"], none["status"]) == ([], "not_ready_for_payment")


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        (SESSIONS, {}, "$.line_items"),
        (SESSIONS, [], "$"),
        (SESSIONS, wanted(), "$.line_items"),
        (SESSIONS, wanted("x") | {"currency": "eur"}, "$.currency"),
        (SESSIONS, wanted("x") | {"capabilities": None}, "$.capabilities"),
        (SESSIONS, wanted("x") | {"line_items": [{"id": 5}]}, "$.line_items[0].id"),
        (SESSIONS, wanted("x") | {"line_items": [{"id": "x"}] * 201}, "$.line_items"),
        *(
            (
                SESSIONS,
                wanted("x") | {"line_items": [{"id": "x", "quantity": each}]},
                "$.line_items[0].quantity",
            )
            for each in (0, -1, 1.5, 2.0, "2", True, None)
        ),
        (SESSIONS, wanted("x") | {"buyer": {"first_name": "Jane"}}, "$.buyer.email"),
        (
            SESSIONS,
            wanted("x") | {"fulfillment_details": {"address": {"city": "x"}}},
            "$.fulfillment_details.address.name",
        ),
        (f"{SESSIONS}/x/complete", {}, "$.payment_data"),
    ],
)
async def test_requests_of_another_form_are_refused(
    acp: httpx.AsyncClient, path: str, body: object, param: str
) -> None:
    assert (await post(acp, path, body, 400))["param"] == param


async def test_headers_and_bodies_that_are_none(
    acp: httpx.AsyncClient, base: str, examples: Examples
) -> None:
    body = wanted(examples.rated.sku)
    for version, code in (("2025-09-29", "unsupported_api_version"), ("", "missing_api_version")):
        refused = await post(acp, SESSIONS, body, 400, **{"API-Version": version})
        assert (refused["code"], refused["supported_versions"]) == (code, [VERSION])
    async with httpx.AsyncClient(base_url=f"{base}acp") as bare:
        assert (await bare.get(f"{SESSIONS}/x")).json()["code"] == "missing_api_version"
        # A feed asks for no version.
        assert (await bare.get("/feeds/shop")).status_code == 200
    for name, sent in (("idempotency_key_required", ""), ("invalid_request", "k" * 256)):
        assert (await post(acp, SESSIONS, body, 400, **{"Idempotency-Key": sent}))["code"] == name
    for content in (b"{", b'{"currency": NaN}', b"\xff", b"[" * 5000, b'"\\ud800"'):
        answer = await acp.post(SESSIONS, content=content, headers=key())
        assert (answer.status_code, read("Error", answer.json())["code"]) == (400, "invalid_request")
    large = await acp.post(SESSIONS, content=b'"' + b"x" * 300_000 + b'"', headers=key())
    assert (large.status_code, read("Error", large.json())["code"]) == (413, "request_too_large")
    unknown = await acp.get(f"{SESSIONS}/unknown", headers={"Request-Id": "r1"})
    assert (unknown.status_code, read("Error", unknown.json())["code"]) == (404, "session_not_found")
    assert unknown.headers["request-id"] == "r1"
    for path in ("", "/complete", "/cancel"):
        assert (await post(acp, f"{SESSIONS}/unknown{path}", PAID, 404))["code"] == "session_not_found"


async def test_a_key_is_good_for_one_request_at_an_address(
    acp: httpx.AsyncClient, base: str, examples: Examples
) -> None:
    body, mine = wanted(examples.rated.sku), key()
    first = await acp.post(SESSIONS, json=body, headers=mine)
    again = await acp.post(SESSIONS, json=dict(reversed(body.items())), headers=mine)
    assert (first.status_code, again.status_code, first.json()) == (201, 201, again.json())
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert first.headers["idempotency-key"] == mine["Idempotency-Key"]
    refused = await post(acp, SESSIONS, body | {"buyer": BUYER}, 422, **mine)
    assert refused["code"] == "idempotency_conflict"
    path = f"{SESSIONS}/{first.json()['id']}"
    assert "buyer" not in (await acp.get(path)).json()
    # Elsewhere, and for somebody else, it is another key.
    await post(acp, path, {"buyer": BUYER}, **mine)
    async with httpx.AsyncClient(base_url=f"{base}acp", headers={"API-Version": VERSION}) as stranger:
        other = await stranger.post(SESSIONS, json=body, headers=mine)
        assert (other.status_code, other.json()["id"] != first.json()["id"]) == (201, True)
        assert (await stranger.get(path)).status_code == 404


async def test_what_the_shop_does_not_ask_for_is_not_kept(acp: httpx.AsyncClient, examples: Examples) -> None:
    body = wanted(examples.rated.sku) | {"buyer": BUYER | {"note": "A" * 100_000}, "metadata": {"a": "b"}}
    assert (await post(acp, SESSIONS, body, 201))["buyer"] == BUYER


async def test_the_currency_and_words_are_those_of_the_pages(catalogue: Catalogue) -> None:
    plain = next(product for product in catalogue.products if product.in_stock and not product.options)
    own = replace(catalogue, products=(replace(plain, cents=123_400),), currency="JPY", language="de")
    async with (
        shop(own=own, interfaces=True) as base,
        httpx.AsyncClient(base_url=f"{base}acp", headers=AGENT) as acp,
    ):
        feed = read("Products", (await acp.get("/feeds/shop/products")).json())["products"]
        assert feed[0]["variants"][0]["price"] == {"amount": 1234, "currency": "JPY"}
        begun = await post(acp, SESSIONS, wanted(plain.sku, plain.sku) | {"currency": "JPY"}, 201)
        assert [(each["display_text"], each["amount"]) for each in begun["totals"]] == [
            ("Zwischensumme", 2468),
            ("Versand", 10),
            ("Gesamtbetrag", 2478),
        ]
        assert begun["currency"] == "jpy"


async def test_the_shop_of_a_trial_has_its_pages_only() -> None:
    async with shop() as own, httpx.AsyncClient(base_url=own, headers=AGENT) as client:
        for path in ("acp/feeds/shop", "acp/checkout_sessions/x", ".well-known/acp.json"):
            assert (await client.get(path)).status_code == 404


@pytest.fixture(scope="session")
def agent(base: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{base}acp", headers=AGENT) as client:
        yield client


@settings(max_examples=size(60, 600), deadline=None)
@given(data=st.data())
def test_any_json_is_answered(data: st.DataObject, agent: httpx.Client) -> None:
    path = data.draw(st.sampled_from(("", "/x", "/x/complete", "/x/cancel")))
    answer = agent.post(SESSIONS + path, json=data.draw(JSON), headers=key())
    assert answer.status_code in (201, 400, 404)
    read("Session" if answer.status_code == 201 else "Error", answer.json())
