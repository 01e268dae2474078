"""The shop by UCP: what the official models read in its answers, and that they say what its pages say."""

import base64
import json
import random
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Final

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel
from ucp_sdk.models.schemas import ucp as metadata
from ucp_sdk.models.schemas.shopping import cart, catalog_lookup, catalog_search, fulfillment, order
from ucp_sdk.models.schemas.shopping.types import error_response

from environments.shop.catalogue import Catalogue
from environments.shop.commerce import SHIPPING_CENTS
from environments.shop.server import shop
from environments.shop.sessions import MOST_LINES, MOST_QUANTITY
from tests.environments.shop.examples import Examples
from tests.environments.shop.test_orders import sums
from tests.support import size

AGENT: Final = "https://platform.test/profile.json"
BUYER: Final = {
    "email": "jane@example.test",
    "first_name": "Jane",
    "last_name": "Doe",
    "phone_number": "+12015550123",
}
PLACE: Final = {"street_address": "1 Main St", "address_locality": "Springfield", "postal_code": "62701"}
SHIPPED: Final = {"methods": [{"type": "shipping", "destinations": [PLACE]}]}
PAID: Final = {"payment": {"instruments": [{"id": "i1", "handler_id": "check", "type": "check_money_order"}]}}
READERS: Final[dict[str, tuple[type[BaseModel], type[BaseModel]]]] = {
    "products": (catalog_search.SearchResponse, metadata.ResponseCatalogSchema),
    "lookup": (catalog_lookup.LookupResponse, metadata.ResponseCatalogSchema),
    "product": (catalog_lookup.GetProductResponse, metadata.ResponseCatalogSchema),
    "cart": (cart.Cart, metadata.ResponseCartSchema),
    "checkout": (fulfillment.Checkout, metadata.ResponseCheckoutSchema),
    "order": (order.Order, metadata.ResponseOrderSchema),
    "error": (error_response.ErrorResponse, metadata.Error),
}
Json = dict[str, Any]


def extras(value: object) -> Iterator[str]:
    """The members that a model does not know; the official ones let them pass."""
    if isinstance(value, BaseModel):
        yield from value.model_extra or ()
        for name in type(value).model_fields:
            yield from extras(getattr(value, name))
    elif isinstance(value, list):
        for each in value:
            yield from extras(each)


def read(kind: str, answer: Json) -> Json:
    """Check an answer with the official models, without any coercion, and its sums."""
    model, envelope = READERS[kind]
    assert [*extras(model.model_validate_json(json.dumps(answer), strict=True))] == []
    # The union of the models takes a checkout without payment handlers for a cart.
    assert envelope.model_validate_json(json.dumps(answer["ucp"]), strict=True).version == "2026-04-08"
    if kind in ("cart", "checkout", "order"):
        check_sums(answer)
    return answer


def totals(answer: Json) -> dict[str, int]:
    """The sums by type."""
    assert len({each["type"] for each in answer["totals"]}) == len(answer["totals"])
    return {each["type"]: each["amount"] for each in answer["totals"]}


def check_sums(answer: Json) -> None:
    items = 0
    for line in answer["line_items"]:
        quantity = line["quantity"] if isinstance(line["quantity"], int) else line["quantity"]["total"]
        assert totals(line) == dict.fromkeys(("subtotal", "total"), quantity * line["item"]["price"])
        items += quantity
    found = totals(answer)
    assert found["subtotal"] == sum(totals(line)["total"] for line in answer["line_items"])
    assert found["total"] == found["subtotal"] + found["fulfillment"]
    assert found["fulfillment"] == SHIPPING_CENTS * items
    for method in answer.get("fulfillment", {}).get("methods", ()):
        (option,) = method["groups"][0]["options"]
        assert totals(option) == {"total": found["fulfillment"]}


def lines(*items: tuple[str, int]) -> list[Json]:
    return [{"item": {"id": item}, "quantity": quantity} for item, quantity in items]


def key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid.uuid4())}


def headers(profile: str = AGENT) -> dict[str, str]:
    return {"UCP-Agent": f'profile="{profile}"'}


@pytest.fixture
async def ucp(base: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"{base}ucp", headers=headers()) as client:
        yield client


async def post(ucp: httpx.AsyncClient, path: str, body: object, status: int = 200, **named: str) -> Json:
    answer = await ucp.post(path, json=body, headers=named)
    assert answer.status_code == status, answer.text
    found: Json = answer.json()
    return found


@asynccontextmanager
async def mcp(base: str) -> AsyncIterator[ClientSession]:
    """The official client."""
    address = f"{base}ucp/mcp"
    async with streamable_http_client(address) as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        yield session


async def call(session: ClientSession, tool: str, keyed: bool = False, **arguments: object) -> Json:
    """Call a tool; what it says as text and as structure is the same."""
    meta = {"ucp-agent": {"profile": AGENT}} | ({"idempotency-key": str(uuid.uuid4())} if keyed else {})
    result = await session.call_tool(tool, {"meta": meta, **arguments})
    assert not result.isError
    assert [json.loads(block.text) for block in result.content] == [result.structuredContent]
    found: Json = result.structuredContent
    return found


NEW = "2026-07-28"
META = "io.modelcontextprotocol/"


def message(method: str, tool: str = "", keyed: bool = False, **arguments: object) -> Json:
    """A request of the revision 2026-07-28, without a client: what httpx needs to send it."""
    params: Json = {"_meta": {f"{META}protocolVersion": NEW, f"{META}clientCapabilities": {}}}
    named = {"MCP-Protocol-Version": NEW, "Mcp-Method": method}
    if tool:
        meta = {"ucp-agent": {"profile": AGENT}} | ({"idempotency-key": str(uuid.uuid4())} if keyed else {})
        params |= {"name": tool, "arguments": {"meta": meta, **arguments}}
        named["Mcp-Name"] = tool
    return {"json": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, "headers": named}


async def test_the_profile_says_where_and_what(base: str) -> None:
    async with httpx.AsyncClient(base_url=base) as client:
        answer = await client.get(".well-known/ucp")
    assert answer.headers["cache-control"] == "public, max-age=60"
    profile = metadata.BusinessSchema.model_validate_json(json.dumps(answer.json()["ucp"]), strict=True)
    assert [*extras(profile)] == []
    places = {
        each["transport"]: each["endpoint"] for each in answer.json()["ucp"]["services"]["dev.ucp.shopping"]
    }
    assert places == {"rest": f"{base}ucp", "mcp": f"{base}ucp/mcp"}
    assert profile.payment_handlers["test.souk.check"][0].id == "check"


async def test_a_purchase_by_rest(ucp: httpx.AsyncClient, base: str, examples: Examples) -> None:
    product = examples.optioned
    found = read("products", await post(ucp, "/catalog/search", {"query": product.name}))
    assert found["products"][0]["id"] == product.sku
    shown = read("product", await post(ucp, "/catalog/product", {"id": product.sku}))["product"]
    assert len(shown["variants"]) == len(product.options[0].values) * len(product.options[1].values)
    choice = [{"name": option["name"], "label": option["values"][-1]["label"]} for option in shown["options"]]
    asked = {"id": product.sku, "selected": [*choice, {"name": "Scent", "label": "None"}]}
    chosen = read("product", await post(ucp, "/catalog/product", asked))["product"]
    assert chosen["selected"] == choice
    (variant,) = chosen["variants"]
    body = {"line_items": lines((variant["id"], 2), (examples.rated.sku, 1))}
    bag = read("cart", await post(ucp, "/carts", body, 201, **key()))
    assert read("cart", (await ucp.get(f"/carts/{bag['id']}")).json())["totals"] == bag["totals"]
    body = {"line_items": lines((examples.rated.sku, 3), (variant["id"], 1))}
    changed = read("cart", (await ucp.put(f"/carts/{bag['id']}", json=body, headers=key())).json())
    # A line whose item stays keeps its id.
    assert [line["id"] for line in changed["line_items"]] == [line["id"] for line in bag["line_items"]]
    assert [line["quantity"] for line in changed["line_items"]] == [1, 3]
    body = {"cart_id": bag["id"], "line_items": []}
    checkout = read("checkout", await post(ucp, "/checkout-sessions", body, 201, **key()))
    assert checkout["status"] == "incomplete"
    assert {each["code"] for each in checkout["messages"]} == {"missing"}
    again = read("checkout", await post(ucp, "/checkout-sessions", body, 201, **key()))
    assert again["id"] == checkout["id"], "one checkout a cart"
    path = f"/checkout-sessions/{checkout['id']}"
    early = read("checkout", await post(ucp, f"{path}/complete", PAID, **key()))
    assert (early["status"], "order" in early) == ("incomplete", False)
    body = {"line_items": lines((variant["id"], 1), (examples.rated.sku, 3)), "buyer": BUYER}
    body |= {"fulfillment": SHIPPED}
    ready = read("checkout", (await ucp.put(path, json=body, headers=key())).json())
    assert (ready["status"], ready.get("messages")) == ("ready_for_complete", None)
    assert ready["fulfillment"]["methods"][0]["destinations"] == [{"id": "destination"} | PLACE]
    other = {"payment": {"instruments": [{"id": "i", "handler_id": "gold", "type": "gold"}]}}
    unpaid = read("checkout", await post(ucp, f"{path}/complete", other, **key()))
    assert (unpaid["status"], unpaid["messages"][0]["code"]) == ("ready_for_complete", "payment_failed")
    done = read("checkout", await post(ucp, f"{path}/complete", PAID, **key()))
    assert (done["status"], done["totals"]) == ("completed", ready["totals"])
    placed = read("order", (await ucp.get(f"/orders/{done['order']['id']}")).json())
    assert (placed["checkout_id"], placed["totals"]) == (done["id"], ready["totals"])
    await check_order_page(done)
    assert read("error", (await ucp.get(f"/carts/{bag['id']}")).json())["messages"][0]["code"] == "not_found"
    assert read("checkout", (await ucp.get(path)).json()) == done


async def check_order_page(done: Json) -> None:
    """The page of the shop says what the checkout says: number, lines, sums."""
    async with httpx.AsyncClient(follow_redirects=True) as buyer:
        page = await buyer.get(done["order"]["permalink_url"])
    assert page.url.path == "/checkout/onepage/success/"
    tree = html.fromstring(page.text)
    assert tree.xpath("string(//*[@class='checkout-success']/p/span)") == done["order"]["id"]
    shown = sums(page.text, ".table-order-totals")
    assert [round(100 * amount) for amount in shown.values()] == [each["amount"] for each in done["totals"]]
    assert [*shown] == [each["display_text"] for each in done["totals"]]
    rows = tree.xpath("//tbody[@class='order item']")
    names = [row.xpath("string(.//strong/a)") for row in rows]
    values = [f" ({', '.join(row.xpath('.//dd/text()'))})" if row.xpath(".//dd") else "" for row in rows]
    assert [name + value for name, value in zip(names, values, strict=True)] == [
        line["item"]["title"] for line in done["line_items"]
    ]
    assert [int(row.xpath("string(.//*[@class='value'])")) for row in rows] == [
        line["quantity"] for line in done["line_items"]
    ]


async def test_a_purchase_by_the_official_client_of_mcp(
    base: str, ucp: httpx.AsyncClient, examples: Examples
) -> None:
    words = {"query": "wireless radio", "pagination": {"limit": 3}}
    async with mcp(base) as session:
        tools = (await session.list_tools()).tools
        assert len(tools) == 13
        assert {tool.name for tool in tools if tool.annotations and tool.annotations.readOnlyHint} == {
            tool.name for tool in tools if re.match("get|search|lookup", tool.name)
        }
        assert await call(session, "search_catalog", catalog=words) == await post(
            ucp, "/catalog/search", words
        )
        ids = {"ids": [examples.rated.sku, "nothing"]}
        read("lookup", await call(session, "lookup_catalog", catalog=ids))
        read("product", await call(session, "get_product", catalog={"id": examples.rated.sku}))
        bag = read(
            "cart", await call(session, "create_cart", cart={"line_items": lines((examples.rated.sku, 1))})
        )
        more = {"line_items": lines((examples.rated.sku, 4))}
        read("cart", await call(session, "update_cart", id=bag["id"], cart=more))
        assert read("cart", await call(session, "get_cart", id=bag["id"]))["line_items"][0]["quantity"] == 4
        begun = {"cart_id": bag["id"], "line_items": [], "fulfillment": SHIPPED}
        checkout = read("checkout", await call(session, "create_checkout", checkout=begun))
        # A method without destinations keeps the address.
        whole = more | {"buyer": BUYER, "fulfillment": {"methods": [{"id": "shipping"}]}}
        ready = read("checkout", await call(session, "update_checkout", id=checkout["id"], checkout=whole))
        assert ready["status"] == "ready_for_complete"
        done = await call(session, "complete_checkout", keyed=True, id=checkout["id"], checkout=PAID)
        await check_order_page(read("checkout", done))
        placed = read("order", await call(session, "get_order", id=done["order"]["id"]))
        assert placed == (await ucp.get(f"/orders/{placed['id']}")).json()
        bag = await call(session, "create_cart", cart=more)
        read("cart", await call(session, "cancel_cart", id=bag["id"]))
        checkout = await call(session, "create_checkout", checkout=more)
        canceled = await call(session, "cancel_checkout", keyed=True, id=checkout["id"])
        assert read("checkout", canceled)["status"] == "canceled"
        assert await call(session, "get_checkout", id=checkout["id"]) == canceled


def page_facts(text: str) -> Json:
    """What a product's page says, read by its microdata."""
    tree = html.fromstring(text)
    said = {
        name: found[0].get("content") or found[0].text_content()
        for name in ("name", "price", "priceCurrency", "ratingValue", "bestRating", "reviewCount")
        if (found := tree.xpath(f"//*[@itemprop='{name}']"))
    }
    rating = (
        {"value": 5 * int(said["ratingValue"]) / int(said["bestRating"])} if "ratingValue" in said else {}
    )
    if rating:
        rating |= {"scale_max": 5} | ({"count": int(said["reviewCount"])} if "reviewCount" in said else {})
    options = [
        (
            field.xpath("string(./label)"),
            [str(each.text_content()) for each in field.xpath(".//div//label/span")],
        )
        for field in tree.xpath("//*[@id='product-options-wrapper']//div[@class='field required']")
    ]
    return {
        "title": said["name"],
        "price": {"amount": round(100 * float(said["price"])), "currency": said["priceCurrency"]},
        "rating": rating or None,
        "in stock": bool(tree.xpath("//div[contains(@class, 'stock') and contains(@class, ' available')]")),
        "options": options,
        "description": tree.xpath("//*[@id='shortDescription']//li/text()"),
        "details": dict(zip(tree.xpath("//tr/th/text()"), tree.xpath("//tr/td/text()"), strict=True)),
    }


def facts(product: Json) -> Json:
    """The same of an answer."""
    (availability,) = {json.dumps(each["availability"]) for each in product["variants"]}
    available = json.loads(availability)["available"]
    assert json.loads(availability)["status"] == ("in_stock" if available else "out_of_stock")
    (price,) = {json.dumps(each["price"]) for each in product["variants"]}
    assert product["price_range"] == {"min": json.loads(price), "max": json.loads(price)}
    options = product.get("options", []) if available else []
    return {
        "title": product["title"],
        "price": json.loads(price),
        "rating": product.get("rating"),
        "in stock": available,
        "options": [(each["name"], [value["label"] for value in each["values"]]) for each in options],
        "description": product["description"]["plain"].splitlines(),
        "details": product.get("metadata", {}).get("details"),
    }


async def test_pages_and_protocol_say_the_same_of_a_product(
    ucp: httpx.AsyncClient, client: httpx.AsyncClient, catalogue: Catalogue, examples: Examples
) -> None:
    drawn = random.Random(7).sample(catalogue.everything, size(44, 440))
    kinds = [examples.rated, examples.unrated, examples.optioned, examples.sold_out, examples.single_review]
    looked_up = {}
    products = [*kinds, *drawn, catalogue.unlisted[0]]
    for start in range(0, len(products), 50):
        ids = [product.sku for product in products[start : start + 50]]
        answer = read("lookup", await post(ucp, "/catalog/lookup", {"ids": ids}))
        looked_up |= {product["id"]: product for product in answer["products"]}
    for product in products:
        page = page_facts((await client.get(f"{product.key}.html")).text)
        answer = read("product", await post(ucp, "/catalog/product", {"id": product.sku}))["product"]
        assert facts(answer) == page
        assert facts(looked_up[product.sku]) == page | {"details": None}
        assert answer["url"] == str(client.base_url.join(f"{product.key}.html"))
        assert (await client.get(answer["media"][0]["url"])).status_code == 200


async def ranks(ucp: httpx.AsyncClient, body: Json, most: int) -> tuple[list[str], int]:
    """The addresses of the first products found, over several answers, and how many there are."""
    found: list[str] = []
    cursor: Json = {}
    while True:
        page = {"pagination": {"limit": 7} | cursor}
        answer = read("products", await post(ucp, "/catalog/search", body | page))
        found += [product["url"] for product in answer["products"]]
        if len(found) >= most or not answer["pagination"]["has_next_page"]:
            return found[:most], answer["pagination"]["total_count"]
        cursor = {"cursor": answer["pagination"]["cursor"]}


async def on_page(client: httpx.AsyncClient, path: str, **query: str) -> tuple[list[str], int]:
    text = (await client.get(path, params=query | {"product_list_limit": "36"})).text
    tree = html.fromstring(text)
    numbers = tree.xpath("(//*[contains(@class, 'toolbar-amount')])[1]//*[@class='toolbar-number']/text()")
    return tree.xpath("//a[@class='product-item-link']/@href"), int(numbers[-1]) if numbers else 0


async def test_searches_rank_as_on_the_pages(
    ucp: httpx.AsyncClient, client: httpx.AsyncClient, catalogue: Catalogue
) -> None:
    rng = random.Random(3)
    words = [" ".join(rng.sample(rng.choice(catalogue.products).name.split(), 2)) for _ in range(size(8, 80))]
    for text in ("wireless radio", "  COOKIES ", 'x" OR *', "", "?!", *words):
        assert await ranks(ucp, {"query": text}, 36) == await on_page(client, "catalogsearch/result/", q=text)
        priced = {"query": text, "filters": {"price": {"min": 1000, "max": 2999}}}
        page = await on_page(client, "catalogsearch/result/", q=text, price="10-30")
        assert await ranks(ucp, priced, 36) == page
    for category in rng.sample(catalogue.categories, 5):
        body = {"filters": {"categories": [" > ".join(category.path)]}}
        assert await ranks(ucp, body, 36) == await on_page(client, category.url)


async def test_a_buyer_goes_on_with_the_cart_on_the_pages(
    ucp: httpx.AsyncClient, base: str, examples: Examples
) -> None:
    body = {"line_items": lines((examples.rated.sku, 2))}
    checkout = await post(ucp, "/checkout-sessions", body, 201)
    async with httpx.AsyncClient(base_url=base, follow_redirects=True) as buyer:
        page = await buyer.get(checkout["continue_url"])
        assert page.url.path == "/checkout/"
        amounts = [round(100 * amount) for amount in sums(page.text, ".table-totals").values()]
        assert amounts == [each["amount"] for each in checkout["totals"]]
        fields = ("email", "firstname", "lastname", "street", "city", "postcode", "telephone")
        form = dict.fromkeys(fields, "x") | {"form_key": buyer.cookies["form_key"]}
        page = await buyer.post("checkout/onepage/saveOrder/", data=form)
        assert page.url.path == "/checkout/onepage/success/"
        assert (await buyer.get(f"{base}continue/unknown")).url.path == "/checkout/cart/"
    done = read("checkout", (await ucp.get(f"/checkout-sessions/{checkout['id']}")).json())
    assert (done["status"], done["totals"]) == ("completed", checkout["totals"])
    await check_order_page(done)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/catalog/search", {}, "a search needs"),
        ("/catalog/search", [], "valid dictionary"),
        ("/catalog/search", {"query": 5}, "query"),
        ("/catalog/search", {"query": "a", "pagination": {"limit": 0}}, "pagination.limit"),
        ("/catalog/search", {"query": "a", "pagination": {"cursor": "99999"}}, "pagination.cursor"),
        ("/catalog/search", {"filters": {"price": {"max": 1.5}}}, "filters.price.max"),
        ("/catalog/lookup", {"ids": []}, "ids"),
        ("/catalog/lookup", {"ids": ["x"] * 51}, "ids: at most 50"),
        ("/catalog/product", {}, "id: Field required"),
        ("/carts", {}, "line_items"),
        ("/carts", {"line_items": [{"item": {"id": "x"}}]}, "line_items.0.quantity"),
        *(
            ("/carts", {"line_items": [{"item": {"id": "x"}, "quantity": quantity}]}, "line_items.0.quantity")
            for quantity in (0, -1, 1.5, 2.0, "2", True, None)
        ),
        ("/checkout-sessions", {"line_items": [], "buyer": {"email": 5}}, "buyer.email"),
        ("/checkout-sessions/x/complete", {}, "payment"),
    ],
)
async def test_requests_of_another_form_are_refused(
    ucp: httpx.AsyncClient, path: str, body: object, said: str
) -> None:
    answer = await post(ucp, path, body, 400, **key())
    assert answer.keys() == {"code", "content"}
    assert answer["code"] == ("request_too_large" if "at most" in said else "invalid_request")
    assert said in answer["content"]


async def test_headers_that_are_missing_and_bodies_that_are_none(
    ucp: httpx.AsyncClient, base: str, examples: Examples
) -> None:
    body = {"line_items": lines((examples.rated.sku, 1))}
    checkout = await post(ucp, "/checkout-sessions", body, 201)
    for path in ("complete", "cancel"):
        answer = await post(ucp, f"/checkout-sessions/{checkout['id']}/{path}", PAID, 400)
        assert "needs an idempotency key" in answer["content"]
    for agent in ("", "curl/8", "profile=x", 'profile=""'):
        answer = await post(ucp, "/carts", body, 400, **{"UCP-Agent": agent})
        assert "UCP-Agent" in answer["content"]
    for content in (b"{", b'{"query": NaN}', b"\xff", b"[" * 5000, b'"\\ud800"', b"null"):
        answer = await ucp.post("/catalog/search", content=content)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    large = json.dumps({"query": "x" * 300_000})
    answers = [await ucp.post(path, content=large) for path in ("/catalog/search", "/mcp")]
    assert [answer.status_code for answer in answers] == [413, 413]
    assert {answer.json()["code"] for answer in answers} == {"request_too_large"}
    assert (await ucp.get("/mcp")).status_code == 405
    async with mcp(base) as session:
        with pytest.raises(McpError) as missing:
            await session.call_tool("get_cart", {"id": checkout["id"]})
        assert (missing.value.error.code, "meta" in missing.value.error.message) == (-32602, True)
        with pytest.raises(McpError, match="needs an idempotency key"):
            await call(session, "cancel_checkout", id=checkout["id"])
        with pytest.raises(McpError, match="unknown tool: buy"):
            await call(session, "buy")


async def test_messages_of_mcp_without_a_client(ucp: httpx.AsyncClient) -> None:
    """What the revision of 2026-07-28 demands of a server, and what those before it do."""

    async def said(sent: Json, status: int = 200) -> Any:
        answer = await ucp.post("/mcp", **sent)
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    found = (await said(message("server/discover")))["result"]
    assert (found["supportedVersions"], found["ttlMs"], found["resultType"]) == ([NEW], 0, "complete")
    listed = (await said(message("tools/list")))["result"]
    assert (len(listed["tools"]), listed["ttlMs"], listed["cacheScope"]) == (13, 0, "private")
    assert await said(message("tools/list")) == await said(message("tools/list"))
    assert await said({"json": {"jsonrpc": "2.0", "method": "notifications/cancelled"}}, 202) is None

    async def refused(status: int, code: int, sent: Json) -> Json:
        answer = await said(sent, status)
        assert (answer["error"]["code"], answer["jsonrpc"]) == (code, "2.0")
        return dict(answer)

    for method in ("ping", "initialize", "resources/list", "subscriptions/listen"):
        await refused(404, -32601, message(method))
    search = message("tools/call", "search_catalog", catalog={"query": "x"})
    for header in ("Mcp-Method", "Mcp-Name", "MCP-Protocol-Version"):
        for value in ("other", "2025-11-25", None):
            headers = {name: text for name, text in search["headers"].items() if name != header}
            headers |= {header: value} if value else {}
            await refused(400, -32020, search | {"headers": headers})
    twice = [*search["headers"].items(), ("Mcp-Name", "search_catalog")]
    await refused(400, -32020, search | {"headers": twice})
    encoded = "=?base64?" + base64.b64encode(b"search_catalog").decode() + "?="
    assert "result" in await said(search | {"headers": search["headers"] | {"Mcp-Name": encoded}})
    bad = search["headers"] | {"Mcp-Name": "=?base64?%?="}
    await refused(400, -32020, search | {"headers": bad})
    later = json.loads(json.dumps(message("tools/list")).replace(NEW, "2027-01-01"))
    data = (await refused(400, -32022, later))["error"]["data"]
    assert (data["requested"], data["supported"][:2]) == ("2027-01-01", [NEW, "2025-11-25"])
    for name in ("protocolVersion", "clientCapabilities"):
        lacking = message("tools/list")
        del lacking["json"]["params"]["_meta"][META + name]
        await refused(400, -32602, lacking)
    await refused(400, -32602, message("tools/call", "buy"))
    for origin, status in (("http://other.test", 403), (str(ucp.base_url).removesuffix("/ucp/"), 200)):
        listing = message("tools/list")
        await said(listing | {"headers": listing["headers"] | {"Origin": origin}}, status)
    for content, code in ((b"{", -32700), (b"[]", -32600), (b'{"id": 1}', -32600), (b'"\\ud800"', -32700)):
        answer = await refused(400, code, {"content": content})
        assert answer["id"] is None
    for number in (None, True, 1.5, {}):
        await refused(400, -32600, {"json": {"jsonrpc": "2.0", "id": number, "method": "ping"}})
    # With a handshake
    hello = {"jsonrpc": "2.0", "id": "a", "method": "initialize"}
    for asked, spoken in (("2025-03-26", "2025-03-26"), (NEW, "2025-11-25"), (7, "2025-11-25")):
        answer = await said({"json": hello | {"params": {"protocolVersion": asked}}})
        assert (answer["id"], answer["result"]["protocolVersion"]) == ("a", spoken)
    assert (await said({"json": hello | {"method": "ping"}}))["result"] == {}
    assert (await said({"json": hello | {"method": "tools/list"}}))["result"].keys() == {"tools"}
    await refused(200, -32601, {"json": hello | {"method": "server/discover"}})


async def test_a_key_is_good_for_one_request(ucp: httpx.AsyncClient, base: str, examples: Examples) -> None:
    body = {"line_items": lines((examples.rated.sku, 1)), "buyer": BUYER, "fulfillment": SHIPPED}
    mine = key()
    first = await post(ucp, "/checkout-sessions", body, 201, **mine)
    assert await post(ucp, "/checkout-sessions", dict(reversed(body.items())), 201, **mine) == first
    refused = await post(ucp, "/checkout-sessions", body | {"buyer": {}}, 409, **mine)
    assert refused["code"] == "idempotency_conflict"
    assert (await ucp.get(f"/checkout-sessions/{first['id']}")).json()["buyer"] == BUYER
    other = await ucp.post("/checkout-sessions", json=body, headers=mine | headers("https://other.test"))
    assert other.json()["id"] != first["id"]
    path = f"/checkout-sessions/{first['id']}/complete"
    done = await post(ucp, path, PAID, **mine)
    assert await post(ucp, path, PAID, **mine) == done
    elsewhere = f"/checkout-sessions/{other.json()['id']}/complete"
    assert (await post(ucp, elsewhere, PAID, 409, **mine))["code"] == "idempotency_conflict"
    later = read("checkout", await post(ucp, path, PAID, **key()))
    assert (later["order"], later["messages"][0]["code"]) == (done["order"], "checkout_completed")
    async with mcp(base) as session:
        meta = {"ucp-agent": {"profile": AGENT}, "idempotency-key": mine["Idempotency-Key"]}
        with pytest.raises(McpError) as conflict:
            await session.call_tool("create_checkout", {"meta": meta, "checkout": {"line_items": []}})
        assert conflict.value.error.code == -32000
        assert conflict.value.error.data["code"] == "idempotency_conflict"


async def test_what_cannot_be_bought_is_said_and_nothing_is_lost(
    ucp: httpx.AsyncClient, examples: Examples, catalogue: Catalogue
) -> None:
    sold_out, optioned, rated = examples.sold_out.sku, examples.optioned.sku, examples.rated.sku
    bad = (sold_out, 1), (optioned, 1), ("nothing", 1), (rated, MOST_QUANTITY + 1)
    codes = ["out_of_stock", "item_unavailable", "not_found", "quantity_exceeded"]
    for path in ("/carts", "/checkout-sessions"):
        none = read("error", await post(ucp, path, {"line_items": lines(*bad)}))
        assert [message["code"] for message in none["messages"]] == codes
        assert {message["severity"] for message in none["messages"]} == {"unrecoverable"}
    body = {"line_items": lines(*bad, (rated, 2), (rated, 1)), "buyer": BUYER, "fulfillment": SHIPPED}
    bag = read("cart", await post(ucp, "/carts", body, 201))
    assert [(line["item"]["id"], line["quantity"]) for line in bag["line_items"]] == [(rated, 3)]
    checkout = read("checkout", await post(ucp, "/checkout-sessions", body, 201))
    assert [message["path"] for message in checkout["messages"]] == [f"$.line_items[{n}]" for n in range(4)]
    path = f"/checkout-sessions/{checkout['id']}"
    assert read("checkout", await post(ucp, f"{path}/complete", PAID, **key()))["status"] == "incomplete"
    empty = read("checkout", (await ucp.put(path, json=body | {"line_items": []})).json())
    assert [message["path"] for message in empty["messages"]] == ["$.line_items"]
    many = [(p.sku, 1) for p in catalogue.products if p.in_stock and not p.options][: MOST_LINES + 1]
    full = read("checkout", (await ucp.put(path, json=body | {"line_items": lines(*many)})).json())
    assert len(full["line_items"]) == MOST_LINES
    assert [message["path"] for message in full["messages"]] == [f"$.line_items[{MOST_LINES}]"]
    fine = (await ucp.put(path, json=body | {"line_items": lines((rated, 1))})).json()
    assert read("checkout", fine)["status"] == "ready_for_complete"


async def test_ends_are_ends(ucp: httpx.AsyncClient, examples: Examples) -> None:
    body = {"line_items": lines((examples.rated.sku, 1)), "buyer": BUYER, "fulfillment": SHIPPED}
    checkout = await post(ucp, "/checkout-sessions", body, 201)
    path = f"/checkout-sessions/{checkout['id']}"
    canceled = read("checkout", await post(ucp, f"{path}/cancel", {}, **key()))
    assert (canceled["status"], canceled["line_items"]) == ("canceled", checkout["line_items"])
    assert canceled.keys().isdisjoint({"continue_url", "expires_at", "order"})
    for answer in (
        await ucp.put(path, json=body),
        await ucp.post(f"{path}/complete", json=PAID, headers=key()),
        await ucp.post(f"{path}/cancel", headers=key()),
    ):
        refused = read("checkout", answer.json())
        assert refused.pop("messages")[0]["code"] == "checkout_canceled"
        assert refused == canceled
    other = await post(ucp, "/checkout-sessions", body, 201)
    done = await post(ucp, f"/checkout-sessions/{other['id']}/complete", PAID, **key())
    foreign = await ucp.get(f"/orders/{done['order']['id']}", headers=headers("https://other.test"))
    for unknown in (
        await ucp.get("/carts/unknown"),
        await ucp.put("/carts/unknown", json=body),
        await ucp.post("/carts/unknown/cancel"),
        await ucp.get("/checkout-sessions/unknown"),
        await ucp.post("/checkout-sessions", json={"cart_id": "unknown", "line_items": []}),
        await ucp.post("/checkout-sessions/unknown/cancel", headers=key()),
        await ucp.get("/orders/000000001"),
        await ucp.post("/catalog/product", json={"id": "unknown"}),
        foreign,
    ):
        assert unknown.status_code == 200
        assert read("error", unknown.json())["messages"][0]["code"] == "not_found"


NAMES: Final = (
    *("query", "filters", "price", "min", "max", "categories", "pagination", "cursor", "limit", "ids", "id"),
    *("line_items", "item", "quantity", "buyer", "email", "fulfillment", "methods", "destinations"),
    *("payment", "instruments", "handler_id", "selected", "name", "label", "cart_id"),
)
JSON: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)


@pytest.fixture(scope="session")
def platform(base: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=base, headers=headers()) as client:
        yield client


@settings(max_examples=size(100, 1000), deadline=None)
@given(data=st.data())
def test_any_json_is_answered(data: st.DataObject, platform: httpx.Client) -> None:
    paths = ("catalog/search", "catalog/lookup", "catalog/product", "carts", "checkout-sessions")
    answer = platform.post(f"ucp/{data.draw(st.sampled_from(paths))}", json=data.draw(JSON))
    assert answer.status_code in (200, 201, 400)
    assert answer.json().keys() & {"ucp", "code"}


async def test_currencies_and_languages_are_those_of_the_pages(catalogue: Catalogue) -> None:
    plain = [product for product in catalogue.products if product.in_stock and not product.options][:3]
    products = (
        replace(plain[0], cents=123_400, rating=87, reviews=0),
        replace(plain[1], cents=98_700, rating=None, reviews=12),
        replace(plain[2], cents=500_000),
    )
    own = replace(catalogue, products=products, currency="JPY", language="de")
    async with (
        shop(own=own, interfaces=True) as base,
        httpx.AsyncClient(base_url=f"{base}ucp", headers=headers()) as ucp,
    ):
        ids = {"ids": [product.sku for product in products]}
        rated, reviewed, dear = read("lookup", await post(ucp, "/catalog/lookup", ids))["products"]
        assert (rated["rating"], reviewed.get("rating")) == ({"value": 4.35, "scale_max": 5}, None)
        assert reviewed["metadata"] == {"reviews": 12}
        prices = [each["variants"][0]["price"] for each in (rated, reviewed, dear)]
        assert prices == [{"amount": amount, "currency": "JPY"} for amount in (1234, 987, 5000)]
        for low, high, number in ((987, 1234, 2), (988, 4999, 1), (None, 5000, 3), (1235, None, 1)):
            body = {"filters": {"price": {"min": low, "max": high}}}
            assert (await post(ucp, "/catalog/search", body))["pagination"]["total_count"] == number
        bag = await post(ucp, "/carts", {"line_items": lines((products[0].sku, 2))}, 201)
        words = ["Zwischensumme", "Versand", "Gesamtbetrag"]
        assert [each["display_text"] for each in bag["totals"]] == words
        assert [each["amount"] for each in bag["totals"]] == [2468, 10, 2478]
        async with httpx.AsyncClient(base_url=base, follow_redirects=True) as buyer:
            page = await buyer.get(bag["continue_url"])
        shown = html.fromstring(page.text).xpath(
            "//table[contains(@class, 'table-totals')]//*[@class='price']"
        )
        assert [int(re.sub(r"\D", "", each.text)) for each in shown] == [2468, 10, 2478]


async def test_carts_checkouts_and_orders_are_those_of_the_platform_that_began_them(
    base: str, ucp: httpx.AsyncClient, examples: Examples
) -> None:
    body = {"line_items": lines((examples.rated.sku, 1)), "buyer": BUYER, "fulfillment": SHIPPED}
    cart = (await ucp.post("/carts", json=body)).json()["id"]
    checkout = (await ucp.post("/checkout-sessions", json=body)).json()["id"]
    other = {"UCP-Agent": 'profile="https://other.test/profile.json"'}
    async with httpx.AsyncClient(base_url=f"{base}ucp", headers=other) as stranger:
        for path in (f"/carts/{cart}", f"/checkout-sessions/{checkout}"):
            assert (await stranger.get(path)).json()["messages"][0]["code"] == "not_found"
            assert (await ucp.get(path)).json()["line_items"]


async def test_what_the_shop_does_not_ask_for_is_not_kept(ucp: httpx.AsyncClient, examples: Examples) -> None:
    body = {"line_items": lines((examples.rated.sku, 1)), "buyer": BUYER | {"note": "A" * 100_000}}
    assert (await ucp.post("/carts", json=body)).json()["buyer"] == BUYER


async def test_the_shop_of_a_trial_has_its_pages_only() -> None:
    async with shop() as own, httpx.AsyncClient(base_url=own) as client:
        for path in ("ucp/catalog/search", "ucp/mcp"):
            assert (await client.post(path, json={}, headers=headers())).status_code in (404, 405)
        assert (await client.get(".well-known/ucp")).status_code == 404
        assert (await client.get("")).status_code == 200
