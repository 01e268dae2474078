"""One treatment by ACP: the feed and the checkout say what was planned, and all else is as the shop says it.

The oracle knows neither Souk's paths nor its map. It changes by hand what the shop itself says.
"""

import random
from dataclasses import replace
from typing import Any, Final

import httpx

from environments.shop.catalogue import Catalogue, Product, generate
from environments.shop.server import shop
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.server import Slot
from proxy.session import Session
from tests.environments.shop.acp import AGENT, BUYER, DETAILS, PAID, Json, key, read, totals, wanted
from tests.environments.shop.test_ucp import BUYER as UCP_BUYER
from tests.proxy.test_interfaces import SHIPPED, any_edits, headers, lines, planned
from tests.support import size

SITE: Final = load_site_map("acp")
PICTURE: Final = "http://pictures.test/other.png"
Pair = tuple[str, Json, Json]


def catalogue(seed: int) -> Catalogue:
    """A small shop: some products with options, some without, all of them to be had."""
    whole, chance = generate(seed), random.Random(seed)
    sold = [each for each in whole.products if each.in_stock]
    some = [
        each
        for has in (True, False)
        for each in chance.sample([p for p in sold if bool(p.options) == has], 12)
    ]
    return replace(whole, products=tuple(some), currency=chance.choice(["USD", "EUR"]))


async def walk(client: httpx.AsyncClient, base: str, items: list[str], currency: str) -> list[Pair]:
    """From the feed to the order: what the client is told, and what the shop says without the proxy."""
    said: list[Pair] = []
    async with httpx.AsyncClient(base_url=f"{base}acp", headers=AGENT, trust_env=False) as direct:

        async def ask(path: str, kind: str = "Session", body: Json | None = None) -> Json:
            address = f"{base}acp{path}"
            if body is None:
                answer = await client.get(address, headers=AGENT)
            else:
                answer = await client.post(address, json=body, headers=AGENT | key())
            assert answer.status_code in (200, 201), answer.text
            own = path if body is None or "/" in path[1:] else f"{path}/{answer.json()['id']}"
            own = own.removesuffix("/complete")
            said.append((kind, read(kind, answer.json()), read(kind, (await direct.get(own)).json())))
            return said[-1][1]

        await ask("/feeds/shop/products", "Products")
        begun = await ask("/checkout_sessions", body=wanted(*items) | {"currency": currency})
        own = f"/checkout_sessions/{begun['id']}"
        await ask(own, body={"buyer": BUYER, "fulfillment_details": DETAILS})
        await ask(own)
        await ask(f"{own}/complete", body=PAID)
        await ask(own)
    return said


def expected(own: Json, product: Product, edits: dict[str, Any]) -> Json:
    """What the shop says, changed by hand as the edits say."""
    cents = round(100 * edits["set_price"]) if "set_price" in edits else product.cents
    text = f"{edits['insert_text']['text']}\n" if "insert_text" in edits else ""
    for each in own.get("products", ()):
        if each["id"] != product.sku:
            continue
        each["title"] = edits.get("set_title", each["title"])
        each["description"]["plain"] = text + each["description"]["plain"]
        each["media"][0]["url"] = edits.get("set_image", each["media"][0]["url"])
        for variant in each["variants"]:
            variant["title"] = edits.get("set_title", variant["title"])
            variant["price"]["amount"] = cents
    moved = 0
    for line in own.get("line_items", ()):
        if line["item"]["id"].partition("-")[0] != product.sku:
            continue
        line["name"] = edits.get("set_title", line["name"])
        line["description"] = text + line["description"]
        line["images"] = [edits.get("set_image", each) for each in line["images"]]
        line["unit_amount"] = cents
        moved += (cents - product.cents) * line["quantity"]
        for each in line["totals"]:
            each["amount"] = cents * line["quantity"]
    for each in own.get("totals", ()):
        each["amount"] += moved if each["type"] in ("subtotal", "total") else 0
    return own


async def test_every_answer_says_what_was_planned_and_all_else_is_the_shop_s(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    chance, compared = random.Random(5), 0
    for seed in range(size(2, 10)):
        goods = catalogue(seed)
        async with shop(own=goods, interfaces=True) as base:
            for _ in range(size(5, 9)):
                product, other = chance.sample(goods.products, 2)
                edits = any_edits(chance, "set_rating", "set_reviews")
                edits |= {"set_image": PICTURE} if chance.random() < 0.5 else {}
                slot.session = session = Session(planned(product, edits), SITE, AllowList.of(base))
                items = [first(product), first(other), *[first(product)] * chance.randint(0, 2)]
                for kind, said, own in await walk(client, base, items, goods.currency):
                    plain = expected(own, product, edits)
                    assert said | expiry(plain) == plain, (kind, edits)
                    compared += 1
                assert not session.failures
                assert {(each.edit, each.product) for each in session.receipts} == {
                    (name, product.key) for name in edits
                }
    assert compared >= size(60, 540)


def first(product: Product) -> str:
    """The id of the featured variant."""
    return "-".join([product.sku, *(str(option.values[0].id) for option in product.options)])


def expiry(own: Json) -> Json:
    """The one thing that depends on the second in which somebody asks."""
    return {"expires_at": own["expires_at"]} if "expires_at" in own else {}


async def test_what_the_protocol_has_no_field_for_changes_nothing(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    goods = catalogue(3)
    product = goods.products[0]
    async with shop(own=goods, interfaces=True) as base:
        edits = {"set_rating": 12, "set_reviews": 4321}
        slot.session = session = Session(planned(product, edits), SITE, AllowList.of(base))
        for _, said, own in await walk(client, base, [first(product)], goods.currency):
            assert said | expiry(own) == own
        assert (session.receipts, session.failures) == ([], [])


async def test_both_protocols_say_the_same_of_a_cart(slot: Slot, client: httpx.AsyncClient) -> None:
    """The same intervention, and the same purchase, with either site map."""
    goods, sums = catalogue(4), []
    product, other = goods.products[0], goods.products[-1]
    edits = {"set_price": 12.34}
    async with shop(own=goods, interfaces=True) as base:
        slot.session = Session(planned(product, edits), SITE, AllowList.of(base))
        items = [first(product), first(product), first(other)]
        sums.append(totals((await walk(client, base, items, goods.currency))[-1][1]))
        slot.session = Session(planned(product, edits), load_site_map("ucp"), AllowList.of(base))
        await client.post(f"{base}ucp/catalog/product", json={"id": product.sku}, headers=headers())
        body = {"line_items": lines((items[0], 2), (items[2], 1)), "buyer": UCP_BUYER, "fulfillment": SHIPPED}
        answer = await client.post(f"{base}ucp/checkout-sessions", json=body, headers=headers())
        sums.append(totals(answer.json()))
    assert sums[0] == sums[1]
    assert sums[0]["subtotal"] == 2 * 1234 + other.cents
