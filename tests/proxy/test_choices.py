"""What puts a product into the cart, as it passes the proxy."""

import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mitmproxy import http
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from interventions.apply.plan import Plan
from interventions.errors import CannotEdit
from interventions.yaml.sitemap import SiteMap
from proxy.allow_list import AllowList
from proxy.choices import added_id, rule_of
from proxy.guests import Guests
from proxy.server import run_proxy
from proxy.session import CartAddition, Session
from tests.mutations import damaged
from tests.proxy.test_guests import NEXT, OneVisit
from tests.proxy.upstream import PLAN
from tests.support import serve, size

PRICE = {"price": "$.price"}
SITE = {
    "name": "lamps",
    "pages": {"product": "h1.product", "cart": "table.cart"},
    "roles": {
        "product.title": "h1.product",
        "product.link": {"css": "link[rel=canonical]", "attribute": "href"},
        "product.id": {"css": "form [name=sku]", "attribute": "value"},
        "item": "li.card",
        "item.link": {"css": "a", "attribute": "href"},
        "item.id": {"css": "button", "attribute": "data-sku"},
        "row": "table.cart tr",
        "row.link": {"css": "a", "attribute": "href"},
    },
    "data": [
        {
            "url": "/api/basket",
            "items": "$.lines[*]",
            "link": "$.url",
            "roles": {"price": "$.price"},
            "cart": True,
        },
        {"url": "/api/products", "items": "$[*]", "link": "$.url", "roles": PRICE},
        {"url": "/api/ids", "items": "$[*]", "link": "$.url", "roles": {"id": "$.id"}},
        {"css": "#ids", "items": "$[*]", "link": "$.url", "roles": {"id": "$.id"}},
    ],
}
DESK = """<link rel=canonical href=/lamps/desk><h1 class=product>Desk lamp</h1>
<form><input name=sku value=17></form><ul><li class=card><a href=/lamps/floor>Floor lamp</a>
<button data-sku=18>Buy</button></ul>"""
WALL = """<link rel=canonical href=/lamps/wall><h1 class=product>Wall lamp</h1><form action=/buy/21></form>
<table class=cart><tr><td><button formaction=/lamps/wall/remove>x</button>
<tr><td><button formaction=/x>y</button></table>"""
CART = "<table class=cart><tr><td><a href=/lamps/floor>Floor lamp</a></table>"
NO_CART = "<h1>Cart</h1><p>It is empty</p>"
SAID = "<div role=status>Desk lamp was put into your bag</div>"

Ask = Callable[[httpx.AsyncClient, str], Any]


EMBEDDING = """<link rel=canonical href=/lamps/embedding><h1 class=product>Lamp</h1>
<script id=ids type=application/json>[{"url": "/lamps/floor", "id": 180}]</script>"""
ANSWERS = {
    "/lamps/desk": HTMLResponse(DESK),
    "/lamps/wall": HTMLResponse(WALL),
    "/lamps/embedding": HTMLResponse(EMBEDDING),
    "/cart": HTMLResponse(CART),
    "/empty": HTMLResponse(NO_CART),
    "/thanks": HTMLResponse(SAID),
    "/api/basket": JSONResponse({"lines": [{"url": "/lamps/floor", "price": 12}]}),
    "/api/products": JSONResponse([{"url": "/lamps/floor", "price": 12}]),
    "/api/ids": Response(
        '[{"url": "/lamps/floor", "id": "gid:\\/\\/shop\\/18"}]', media_type="application/json"
    ),
    "/refused": RedirectResponse("/lamps/desk?options=cart", 303),
    "/gone": JSONResponse({}, 404),
}


async def answer(request: Request) -> Response:
    path, body = request.url.path, await request.body()
    if path == "/graphql" and b"forbidden" in body:
        return JSONResponse({"errors": [{"message": "out of stock"}], "data": None})
    if path == "/deferred":
        errors = b', "errors": [{"message": "out of stock"}]' if b"forbidden" in body else b""
        piece = (
            b'\r\n---\r\nContent-Type: application/json\r\n\r\n{"data": {}%b, "hasNext": false}\r\n-----\r\n'
        )
        return Response(piece % errors, media_type='multipart/mixed; boundary="-"')
    return ANSWERS.get(path) or JSONResponse({"ok": b"no" not in body})


@asynccontextmanager
async def shop() -> AsyncIterator[str]:
    routes = [Route("/{path:path}", answer, methods=["GET", "POST", "PUT"])]
    async with serve(Starlette(routes=routes)) as url:
        yield url.rstrip("/")


async def added(
    ca_dir: Path,
    choice: Mapping[str, Any],
    ask: Ask,
    *,
    plan: Plan | None = None,
    guest: bool = False,
    site: Mapping[str, Any] = SITE,
) -> list[CartAddition]:
    """What the session has noted once a client of the proxy has asked the shop for something."""
    known = SiteMap.model_validate({**site, "choice": choice})
    async with shop() as url:
        session = Session(plan or Plan(), known, AllowList.of(url))
        guests = Guests(lambda: OneVisit(session), by_cookie=False) if guest else None
        async with run_proxy(ca_dir, guests=guests) as proxy:
            slot = await proxy.open_slot()
            slot.session = session
            async with httpx.AsyncClient(proxy=slot.url, trust_env=False, timeout=60) as client:
                if guest:
                    await client.post(NEXT)
                await ask(client, url)
    return session.added


def post(path: str, *pages: str, referer: str = "", **options: Any) -> Ask:
    """Look at pages, usually the desk's, and post something from the page `referer`."""

    async def ask(client: httpx.AsyncClient, url: str) -> None:
        for page in pages or ("/lamps/desk",):
            await client.get(f"{url}{page}", headers={"accept": "text/html"})
        headers = options.get("headers", {}) | ({"referer": f"{url}{referer}"} if referer else {})
        await client.post(f"{url}{path}", **options | {"headers": headers})

    return ask


def get(path: str, *, dest: str = "document") -> Ask:
    async def ask(client: httpx.AsyncClient, url: str) -> None:
        await client.get(f"{url}{path}", headers={"sec-fetch-dest": dest})

    return ask


MUTATION = "mutation Add($id: ID!) { addItemToOrder(variantId: $id, quantity: 1) { id } }"
QUERY = "query Cart { activeOrder { lines { addItemToOrderAllowed } } }"
VARIANT = {"path": "/p", "field": "$[1]", "id_pattern": "/ProductVariant/([0-9]+)"}
GRAPHQL = {"path": "/graphql", "operation": "addItemToOrder", "field": "$.variables.id"}


def asked(query: str, *, name: str | None = None, sku: Any = "17") -> dict[str, Any]:
    return {"query": query, "operationName": name, "variables": {"id": sku}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "ask", "named"),
    [
        ({"path": "/buy", "field": "sku"}, post("/buy", data={"sku": "17"}), "17"),
        ({"path": "/buy", "field": "sku"}, post("/buy?sku=17"), "17"),
        ({"path": "/buy", "field": "sku"}, post("/buy", json={"sku": 17}), "17"),
        ({"path": "/buy", "field": "sku"}, post("/buy", files={"sku": (None, b"17")}), "17"),
        ({"path": "/buy", "field": "sku"}, post("/buy", data={"newsletter": "yes"}), None),
        ({"path": "/buy", "field": "$.items[0].sku"}, post("/buy", json={"items": [{"sku": "17"}]}), "17"),
        ({"path": "/buy", "field": "$.items[0].sku"}, post("/buy", json={"items": []}), None),
        # Plain values in a list, as server actions send them; the same path is asked for other things too.
        ({"path": "/p", "field": "$[1]"}, post("/p", content=b'[null, "17"]'), "17"),
        ({"path": "/p", "field": "$[1].id"}, post("/p", content=b'[1, {"id": 17}]'), "17"),
        (VARIANT, post("/p", content=b'[null, "gid://shop/ProductVariant/10000"]'), "10000"),
        (VARIANT, post("/p", content=b'[null, "gid://shop/Cart/10000"]'), None),
        (VARIANT, post("/p", content=b'["opened"]'), None),
        ({"path": "/p", "field": "$[1]"}, post("/p", content=b'["opened"]'), None),
        ({"path": "/p", "field": "$[1]"}, post("/p", content=b'{"1": "17"}'), None),
        (
            {"path": "/p", "field": "sku"},
            post("/p", content=b'{"sku": "17"}', headers={"content-type": "text/plain"}),
            "17",
        ),
        ({"path": r"/buy/(\d+)/"}, post("/buy/17/"), "17"),
        ({"path": "/ตะกร้า/(.+)"}, post("/ตะกร้า/ถ้วย"), "ถ้วย"),
        ({"path": "/%E0%B8%95/(.+)"}, post("/%E0%B8%95/7"), "7"),
        ({"path": "/buy", "method": "GET", "field": "add"}, get("/buy?add=17", dest="empty"), "17"),
        ({"path": "/buy", "method": "GET", "field": "add"}, post("/buy?add=17"), None),
        ({"path": "/buy"}, post("/buy"), ""),
        ({"path": "/buy"}, post("/buy/more"), None),
        (GRAPHQL, post("/graphql", json=asked(MUTATION)), "17"),
        (GRAPHQL, post("/graphql", json=asked(MUTATION, name="Add", sku=17)), "17"),
        (GRAPHQL, post("/graphql", json=[asked(QUERY), asked(MUTATION)]), "17"),
        (GRAPHQL, post("/graphql", json=asked(QUERY, name="Cart")), None),
        (GRAPHQL | {"operation": "Add"}, post("/graphql", json=asked("", name="Add")), "17"),
        (GRAPHQL, post("/graphql", json=asked(MUTATION, sku="forbidden")), None),
        (GRAPHQL, post("/graphql", content=b"["), None),
        (GRAPHQL | {"path": "/deferred"}, post("/deferred", json=asked(MUTATION)), "17"),
        (GRAPHQL | {"path": "/deferred"}, post("/deferred", json=asked(MUTATION, sku="forbidden")), None),
        (
            GRAPHQL | {"method": "GET"},
            get('/graphql?operationName=addItemToOrder&variables={"id":"17"}', dest="empty"),
            "17",
        ),
        ({"path": "/refused", "refused_to": "options=cart"}, post("/refused"), None),
        ({"path": "/refused"}, post("/refused"), ""),
        ({"path": "/buy", "refused_by": '"ok": ?false'}, post("/buy", content=b"no"), None),
        ({"path": "/gone"}, post("/gone"), None),
    ],
)
async def test_requests(ca_dir: Path, rule: dict[str, Any], ask: Ask, named: str | None) -> None:
    noted = await added(ca_dir, {"request": rule}, ask)
    assert [each.named for each in noted] == ([] if named is None else [named])


@pytest.mark.parametrize("plan", [None, PLAN], ids=["nothing is planned", "edits are planned"])
@pytest.mark.parametrize(("sku", "product"), [("17", "lamps/desk"), ("18", "lamps/floor"), ("19", "")])
async def test_an_id_is_looked_up_on_the_pages_that_were_sent(
    ca_dir: Path, plan: Plan | None, sku: str, product: str
) -> None:
    rule = {"request": {"path": "/buy", "field": "sku"}}
    (noted,) = await added(ca_dir, rule, post("/buy", data={"sku": sku}), plan=plan)
    assert (noted.by, noted.product, noted.named) == ("request", product, sku)


async def test_a_pattern_takes_an_id_and_a_link_out_of_what_holds_them(ca_dir: Path) -> None:
    product = {"css": "form", "attribute": "action", "pattern": r"/buy/(\d+)"}
    row = {"css": "button", "attribute": "formaction", "pattern": "(.*/)remove"}
    site = SITE | {"roles": SITE["roles"] | {"product.id": product, "row.link": row}}
    rule = {"request": {"path": r"/buy/(\d+)"}, "cart": "row"}
    first, second = await added(ca_dir, rule, post("/buy/21", "/lamps/wall"), site=site)
    assert first == CartAddition("cart", "lamps/wall")
    assert second == CartAddition("request", "lamps/wall", "21")


@pytest.mark.parametrize("plan", [None, PLAN], ids=["nothing is planned", "edits are planned"])
@pytest.mark.parametrize(("path", "sku"), [("/api/ids", "gid://shop/18"), ("/lamps/embedding", "180")])
async def test_an_id_in_data_outweighs_the_page_on_which_it_was_asked_for(
    ca_dir: Path, plan: Plan | None, path: str, sku: str
) -> None:
    """A card on a product's page puts another product into the cart."""
    ask = post("/buy", "/lamps/wall", path, referer="/lamps/wall", json={"variables": {"sku": sku}})
    rule = {"request": {"path": "/buy", "field": "$.variables.sku"}}
    (noted,) = await added(ca_dir, rule, ask, plan=plan)
    assert (noted.product, noted.named) == ("lamps/floor", sku)


async def test_a_page_counts_for_an_unknown_id_only_if_its_product_has_no_other(ca_dir: Path) -> None:
    rule = {"request": {"path": "/buy", "field": "sku"}}
    for page, at in (("/lamps/desk", ""), ("/empty", "empty")):
        (noted,) = await added(ca_dir, rule, post("/buy", page, referer=page, data={"sku": "99"}))
        assert (noted.product, noted.at) == ("", at)


@pytest.mark.slow
@pytest.mark.parametrize("plan", [None, PLAN], ids=["nothing is planned", "edits are planned"])
@pytest.mark.parametrize(
    ("choice", "path", "noted"),
    [
        ({"cart": "row"}, "/cart", [CartAddition("cart", "lamps/floor")]),
        ({"cart": "row"}, "/empty", []),
        ({"cart": "item"}, "/cart", []),
        ({"cart": "row"}, "/api/basket", [CartAddition("cart", "lamps/floor")]),
        ({}, "/api/basket", [CartAddition("cart", "lamps/floor")]),
        ({"cart": "row"}, "/api/products", []),
        ({"address": "/cart"}, "/cart", [CartAddition("address")]),
        ({"address": "/lamps/(.+)"}, "/lamps/desk", [CartAddition("address", "", "desk")]),
        ({"address": "/(lamps/desk)"}, "/lamps/desk", [CartAddition("address", "", "lamps/desk")]),
        ({"address": "/gone"}, "/gone", []),
        ({"message": {"css": "[role=status]", "says": "your bag"}}, "/thanks", []),
    ],
)
async def test_carts_and_addresses(
    ca_dir: Path, choice: dict[str, Any], path: str, noted: list[CartAddition], plan: Plan | None
) -> None:
    assert await added(ca_dir, choice, get(path), plan=plan) == noted


@pytest.mark.parametrize(
    ("says", "found"), [("your bag", True), ("${product} was put into your BAG", True), ("your cart", False)]
)
async def test_what_is_said_to_a_guest_is_read_from_the_page(ca_dir: Path, says: str, found: bool) -> None:
    choice = {"message": {"css": "[role=status]", "says": says}}
    noted = await added(ca_dir, choice, get("/thanks"), guest=True)
    assert noted == ([CartAddition("message", named="Desk lamp was put into your bag")] if found else [])


async def test_what_cannot_be_looked_at_is_a_failure_and_not_no_choice(
    ca_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> bool:
        raise RecursionError("too deep")

    monkeypatch.setattr("proxy.choices.is_refused", broken)
    site = SiteMap.model_validate({**SITE, "choice": {"request": {"path": "/buy"}}})
    async with shop() as url, run_proxy(ca_dir) as proxy:
        session = Session(Plan(), site, AllowList.of(url))
        slot = await proxy.open_slot()
        slot.session = session
        async with httpx.AsyncClient(proxy=slot.url, trust_env=False, timeout=60) as client:
            await client.post(f"{url}/buy")
    assert session.failures == [f"{url}/buy: RecursionError: too deep"]


async def test_a_choice_that_the_shop_has_not_answered_is_an_upstream_error(ca_dir: Path) -> None:
    site = SiteMap.model_validate({**SITE, "choice": {"request": {"path": "/buy"}}})
    async with shop() as url:
        pass  # from now on nobody listens there
    session = Session(Plan(), site, AllowList.of(url))
    async with run_proxy(ca_dir) as proxy:
        slot = await proxy.open_slot()
        slot.session = session
        async with httpx.AsyncClient(proxy=slot.url, trust_env=False, timeout=60) as client:
            answered = [(await client.post(f"{url}{path}")).status_code for path in ("/count", "/buy")]
    assert answered == [502, 502]
    (error,) = session.upstream_errors
    assert error.startswith(f"{url}/buy: ")
    assert session.added == []


RULES = (
    {"path": "/buy", "field": "sku"},
    {"path": "/buy", "field": "$.items[0].sku"},
    {"path": "/b(.*)"},
    GRAPHQL,
)
SITES = [SiteMap.model_validate({**SITE, "choice": {"request": rule}}) for rule in RULES]
BODIES = (
    (b'{"sku": 17, "items": [{"sku": "17"}]}', "application/json"),
    (json.dumps(asked(MUTATION)).encode(), "application/json; charset=utf-16"),
    (b"sku=17&sku=18", "application/x-www-form-urlencoded"),
    (
        b'--x\r\nContent-Disposition: form-data; name="sku"\r\n\r\n17\r\n--x--\r\n',
        "multipart/form-data; boundary=x",
    ),
)
CODINGS = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress, "br": bytes, "none": bytes}


@given(
    sent=st.sampled_from(BODIES).flatmap(lambda body: st.tuples(damaged(body[0]), st.just(body[1]))),
    kind=st.none() | st.text(st.characters(max_codepoint=255), max_size=20),
    path=st.sampled_from(["/buy", "/b%FF", "/graphql"]),
    query=st.text(max_size=20),
    codings=st.lists(st.sampled_from(list(CODINGS)), max_size=2),
)
@settings(max_examples=size(50, 2_000))
def test_any_request_that_a_page_makes_is_read_or_refused(
    sent: tuple[bytes, str], kind: str | None, path: str, query: str, codings: list[str]
) -> None:
    request = http.Request.make("POST", "http://shop.test/")
    request.path = f"{path}?{query}"
    request.headers["content-type"] = sent[1] if kind is None else kind
    request.raw_content = sent[0]
    for coding in codings:
        request.raw_content = CODINGS[coding](request.raw_content)
    if codings:
        request.headers["content-encoding"] = ", ".join(filter(None, codings))
    for site in SITES:
        try:
            rule = rule_of(request, site)
        except CannotEdit:
            continue
        assert rule is None or isinstance(added_id(request, rule), str)
    assert request.raw_content is not None
