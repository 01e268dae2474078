"""One treatment over REST and MCP: both say what was planned, from the search to the order.

The oracle is a client that knows neither Souk's paths nor its map: the official models read each answer, and
what the shop itself says stands beside it.
"""

import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from environments.shop.catalogue import Product, generate
from environments.shop.server import shop
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.server import Slot
from proxy.session import Session
from tests.environments.shop.test_ucp import (
    BUYER,
    PAID,
    SHIPPED,
    Json,
    call,
    headers,
    key,
    lines,
    message,
    read,
    totals,
)
from tests.support import size

SITE = load_site_map("ucp")
PRODUCTS = [product for product in generate().products if product.in_stock]
OTHER = next(product for product in PRODUCTS if not product.options)
TEXT = "Bought by 50,000+ customers"
Walk = Callable[..., Awaitable[list[tuple[str, Json]]]]


@pytest.fixture(scope="module")
async def base() -> AsyncIterator[str]:
    async with shop(interfaces=True) as address:
        yield address


async def by_rest(
    client: httpx.AsyncClient, base: str, product: Product, quantity: int
) -> list[tuple[str, Json]]:
    """From a search to the order; each answer with its kind."""
    rest = f"{base}ucp"

    async def post(path: str, body: object) -> Json:
        answer = await client.post(rest + path, json=body, headers=headers() | key())
        assert answer.status_code in (200, 201), answer.text
        return dict(answer.json())

    said = [("products", await post("/catalog/search", {"query": product.name, "pagination": {"limit": 8}}))]
    said.append(("lookup", await post("/catalog/lookup", {"ids": [product.sku]})))
    said.append(("product", await post("/catalog/product", {"id": product.sku})))
    item = said[-1][1]["product"]["variants"][-1]["id"]
    body = {"line_items": lines((item, quantity), (OTHER.sku, 1))}
    said.append(("cart", await post("/carts", body)))
    body |= {"buyer": BUYER, "fulfillment": SHIPPED}
    said.append(("checkout", await post("/checkout-sessions", body)))
    said.append(("checkout", await post(f"/checkout-sessions/{said[-1][1]['id']}/complete", PAID)))
    order = f"{rest}/orders/{said[-1][1]['order']['id']}"
    return [*said, ("order", (await client.get(order, headers=headers())).json())]


async def by_mcp(
    client: httpx.AsyncClient, base: str, product: Product, quantity: int
) -> list[tuple[str, Json]]:
    """The same by tools; `call` compares both channels of each result."""
    async with AsyncExitStack() as stack:
        http = streamable_http_client(f"{base}ucp/mcp", http_client=client)
        reading, writing, _ = await stack.enter_async_context(http)
        session = await stack.enter_async_context(ClientSession(reading, writing))
        await session.initialize()
        return await by_tools(partial(call, session), product, quantity)


async def by_tools(
    call: Callable[..., Awaitable[Json]], product: Product, quantity: int
) -> list[tuple[str, Json]]:
    words = {"query": product.name, "pagination": {"limit": 8}}
    said = [("products", await call("search_catalog", catalog=words))]
    said.append(("lookup", await call("lookup_catalog", catalog={"ids": [product.sku]})))
    said.append(("product", await call("get_product", catalog={"id": product.sku})))
    item = said[-1][1]["product"]["variants"][-1]["id"]
    bag = {"line_items": lines((item, quantity), (OTHER.sku, 1))}
    said.append(("cart", await call("create_cart", cart=bag)))
    begun = bag | {"buyer": BUYER, "fulfillment": SHIPPED}
    said.append(("checkout", await call("create_checkout", checkout=begun)))
    own = said[-1][1]["id"]
    done = await call("complete_checkout", keyed=True, id=own, checkout=PAID)
    said.append(("checkout", done))
    return [*said, ("order", await call("get_order", id=done["order"]["id"]))]


async def by_messages(
    client: httpx.AsyncClient, base: str, product: Product, quantity: int
) -> list[tuple[str, Json]]:
    """The same in the messages of 2026-07-28, each a request of its own."""

    async def ask(tool: str, keyed: bool = False, **arguments: object) -> Json:
        answer = await client.post(f"{base}ucp/mcp", **message("tools/call", tool, keyed, **arguments))
        assert answer.status_code == 200, answer.text
        result = answer.json()["result"]
        assert (result["resultType"], result["isError"]) == ("complete", False)
        assert [json.loads(block["text"]) for block in result["content"]] == [result["structuredContent"]]
        return dict(result["structuredContent"])

    return await by_tools(ask, product, quantity)


def products_in(answer: Json) -> list[Json]:
    return answer.get("products") or ([answer["product"]] if "product" in answer else [])


def assert_as_planned(kind: str, said: Json, own: Json, product: Product, plan: dict[str, Any]) -> None:
    """What is said of the product is what was planned; of others what the shop says."""
    cents = round(100 * plan["set_price"]) if "set_price" in plan else product.cents
    title = plan.get("set_title", product.name)
    for one, plain in zip(products_in(said), products_in(own), strict=True):
        if one["id"] != product.sku:
            assert one == plain
            continue
        amounts = [one["price_range"][end]["amount"] for end in ("min", "max")]
        assert {*amounts, *(each["price"]["amount"] for each in one["variants"])} == {cents}
        assert one["title"] == title
        if "set_title" in plan:
            assert product.name not in json.dumps(one["variants"])
        assert one["description"]["plain"].startswith(TEXT) == ("insert_text" in plan)
        if "rating" in plain and "set_rating" in plan:
            assert one["rating"]["value"] == pytest.approx(plan["set_rating"] / 20)
        if "count" in plain.get("rating", {}) and "set_reviews" in plan:
            assert one["rating"]["count"] == plan["set_reviews"]
        assert (one["url"], one["handle"], one["categories"]) == (
            plain["url"],
            plain["handle"],
            plain["categories"],
        )
    for one, plain in zip(said.get("line_items", ()), own.get("line_items", ()), strict=True):
        if not one["item"]["id"].startswith(product.sku):
            assert one["item"] == plain["item"]
            continue
        assert one["item"]["price"] == cents
        assert one["item"]["title"] == (title if "set_title" in plan else plain["item"]["title"])
    if kind in ("cart", "checkout", "order"):
        count = own["line_items"][0]["quantity"]
        count = count if isinstance(count, int) else count["total"]
        moved = (cents - product.cents) * count
        assert totals(said)["total"] == totals(own)["total"] + moved


def any_edits(chance: random.Random, *without: str) -> dict[str, Any]:
    """One or more edits with values, without those of some kinds."""
    every: dict[str, Any] = {
        "set_price": chance.randint(100, 90_000) / 100,
        "set_rating": chance.randint(0, 100),
        "set_reviews": chance.randint(1, 5_000),
        "set_title": f"Plain thing {chance.randint(1, 99)}",
        "insert_text": {"after": "product.title", "text": TEXT},
    }
    kinds = [name for name in every if name not in without]
    return {name: every[name] for name in chance.sample(kinds, chance.randint(1, len(kinds)))}


def planned(product: Product, edits: dict[str, Any]) -> Plan:
    made = tuple(edit_from_dict({name: value}) for name, value in edits.items())
    return Plan((Treatment("made", product.key, made),))


@pytest.mark.parametrize("walk", [by_rest, by_mcp, by_messages])
async def test_every_answer_says_what_was_planned(
    slot: Slot, client: httpx.AsyncClient, base: str, walk: Walk
) -> None:
    chance = random.Random(11)
    for _ in range(size(6, 60)):
        product = chance.choice([each for each in PRODUCTS if each != OTHER])
        plan = any_edits(chance)
        quantity = chance.randint(1, 3)
        slot.session = session = Session(planned(product, plan), SITE, AllowList.of(base))
        answers = await walk(client, base, product, quantity)
        assert not session.failures
        slot.session = None
        async with httpx.AsyncClient(trust_env=False, timeout=60) as direct:
            own = await walk(direct, base, product, quantity)
        for (kind, said), (_, plain) in zip(answers, own, strict=True):
            assert_as_planned(kind, read(kind, said), plain, product, plan)
        made = {receipt.edit for receipt in session.receipts if receipt.intervention == "made"}
        assert {"set_price", "set_title", "insert_text"} & plan.keys() <= made <= plan.keys()
        assert {receipt.product for receipt in session.receipts} <= {product.key}


async def test_what_a_tool_is_said_to_do_can_be_treated(
    slot: Slot, client: httpx.AsyncClient, base: str
) -> None:
    """For one tool, in the list of every host; what the others are said to do stays."""

    async def listed(http: httpx.AsyncClient) -> dict[str, Json]:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        tools = (await http.post(f"{base}ucp/mcp", json=asked)).json()["result"]["tools"]
        return {tool["name"]: tool for tool in tools}

    edit = edit_from_dict({"insert_text": {"after": "product.title", "text": TEXT}})
    slot.session = session = Session(
        Plan((Treatment("said", "tool/get_product", (edit,)),)), SITE, AllowList.of(base)
    )
    said = await listed(client)
    slot.session = None
    async with httpx.AsyncClient(trust_env=False, timeout=60) as direct:
        own = await listed(direct)
    treated = own["get_product"] | {"description": f"{TEXT}\n{own['get_product']['description']}"}
    assert said == own | {"get_product": treated}
    assert [(each.product, each.role, each.after) for each in session.receipts] == [
        ("tool/get_product", "data.told", TEXT)
    ]
