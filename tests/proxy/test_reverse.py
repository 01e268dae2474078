"""The proxy at its own address in a shop's place: what is mapped, and that a browser stays inside."""

import json
import re
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from environments.browser.pool import run_browsers
from interventions.errors import UserError
from proxy.allow_list import AllowList
from proxy.reverse import Mapping, Origin
from proxy.server import Proxy
from proxy.session import Session
from tests.proxy.test_decoding import CODINGS
from tests.proxy.upstream import NUDGE, PAGE, PLAN, SITE, session, upstream
from tests.support import Answer, pages

OWN = "http://127.0.0.1:8080"
SHOP = Mapping(Origin.of("https://shop.example"), OWN)
LOCAL = Mapping(Origin.of("http://shop.example:7770"), "https://localhost:9000")

# The mapping


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://shop.example/cart", "http://127.0.0.1:8080/cart"),
        ("HTTP://Shop.Example:80?q", "http://127.0.0.1:8080?q"),
        ('"https:\\/\\/shop.example:443\\/a"', '"http:\\/\\/127.0.0.1:8080\\/a"'),
        ("'https:\\u002F\\u002Fshop.example'", "'http:\\u002F\\u002F127.0.0.1:8080'"),
        ('src="//shop.example/a.png"', 'src="//127.0.0.1:8080/a.png"'),
        ("wss://shop.example/live", "ws://127.0.0.1:8080/live"),
        ("See https://shop.example.", "See http://127.0.0.1:8080."),
        ("https://www.shop.example/", None),
        ("ftp://shop.example/", None),
        ("shop.example", None),
        ("https://user@shop.example/", None),
    ],
)
def test_addresses_of_the_shop_become_those_of_the_proxy(text: str, expected: str | None) -> None:
    assert SHOP.outward(text.encode()).decode() == (text if expected is None else expected)


def test_a_port_belongs_to_the_origin() -> None:
    assert LOCAL.header("http://shop.example:7770/a") == "https://localhost:9000/a"
    assert LOCAL.header("ws://shop.example:7770/a") == "wss://localhost:9000/a"
    assert LOCAL.header("http://shop.example/a") == "http://shop.example/a"


ADDRESS = re.compile(
    rb"(?:(?P<kind>http|ws)s?:|(?<!:))(?P<slashes>(?:\\?/|\\u002f){2})"
    rb"shop\.example(?::(?:80|443))?(?![\w-]|\.\w|:\d)",
    re.IGNORECASE,
)
PARTS = [
    *("http", "ws", "s", ":", "/", "\\/", "\\u002F", "shop.example", "SHOP.example", ":80", ":8", ".", "-"),
    *("é", "x"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_exactly_what_one_expression_finds_is_mapped(text: str) -> None:
    def own(match: re.Match[bytes]) -> bytes:
        scheme = (match["kind"] or b"").lower().replace(b"ws", b"ws:").replace(b"http", b"http:")
        return scheme + match["slashes"] + b"127.0.0.1:8080"

    assert SHOP.outward(text.encode()) == ADDRESS.sub(own, text.encode())


@given(st.text(alphabet="htps:/\\.-shop.example08 ", max_size=80))
def test_mapping_twice_changes_nothing_more(text: str) -> None:
    once = SHOP.outward(text.encode())
    assert SHOP.outward(once) == once


@pytest.mark.parametrize(
    ("cookie", "expected"),
    [
        ("id=1; Domain=.shop.example; Path=/; Secure; HttpOnly", "id=1; Path=/; HttpOnly"),
        ("id=1; SameSite=None; Secure; Partitioned", "id=1"),
        ("id=1; SameSite=Lax; domain=shop.example", "id=1; SameSite=Lax"),
        ("__Host-id=1; Secure; Path=/", "__Host-id=1; Secure; Path=/"),
        ("a=Secure", "a=Secure"),
    ],
)
def test_cookies_fit_the_proxys_host(cookie: str, expected: str) -> None:
    assert SHOP.cookie(cookie) == expected
    over_tls = LOCAL.cookie("id=1; Domain=shop.example; Secure; SameSite=None")
    assert over_tls == "id=1; Secure; SameSite=None"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("img-src https://shop.example 'self'", f"img-src {OWN} 'self'"),
        ("img-src shop.example cdn.test", "img-src 127.0.0.1:8080 cdn.test"),
        ("script-src https:; upgrade-insecure-requests", f"script-src https: {OWN}"),
        ("block-all-mixed-content, frame-ancestors 'none'", ", frame-ancestors 'none'"),
    ],
)
def test_policies_name_the_proxy(policy: str, expected: str) -> None:
    assert SHOP.policy(policy) == expected


NO_ORIGINS = ("shop.example", "ftp://a", "ws://a", "https://", "https://a/shop", "https://a:b", "https://u@a")


@pytest.mark.parametrize("url", [*NO_ORIGINS, "http://[1"])
def test_what_is_no_origin_is_one_line(url: str) -> None:
    with pytest.raises(UserError, match="not the origin of a shop; write it like") as caught:
        Origin.of(url)
    assert "\n" not in str(caught.value)


# The proxy


@pytest.fixture
async def direct() -> AsyncIterator[httpx.AsyncClient]:
    """A client that knows of no proxy."""
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        yield client


async def test_a_shop_at_the_proxys_address_is_treated_and_mapped(proxy: Proxy, direct) -> None:
    asked: list[dict[str, str]] = []

    def product(request: Request) -> Response:
        asked.append(dict(request.headers))
        link = f'<a href="{request.base_url}cart">Cart</a>'
        packed = CODINGS["gzip"](PAGE.replace("<p>", f"<p>{link}").encode())
        return HTMLResponse(packed, headers={"content-encoding": "gzip", "alt-svc": 'h3=":443"'})

    def old(request: Request) -> Response:
        response = RedirectResponse(f"{request.base_url}oats.html")
        response.set_cookie("cart", "1", domain="127.0.0.1", secure=True, samesite="none")
        return response

    async with pages({"/oats.html": product, "/old": old}) as url:
        slot = await proxy.open_slot(reverse=url)
        slot.session = session(url)
        own = slot.url.replace("127.0.0.1", "localhost")
        headers = {"referer": f"{own}/", "origin": own, "accept": "text/html"}
        redirect = await direct.get(f"{own}/old", headers=headers)
        page = await direct.get(redirect.headers["location"], headers=headers)
    assert redirect.headers["location"] == f"{own}/oats.html"
    assert "Secure" not in redirect.headers["set-cookie"]
    assert NUDGE in page.text
    assert f'<a href="{own}/cart">' in page.text
    assert "alt-svc" not in page.headers
    assert page.headers["content-length"] == str(len(page.content))
    shop = url.removesuffix("/")
    assert asked[0]["cookie"] == "cart=1"
    assert (asked[0]["host"], asked[0]["origin"], asked[0]["referer"]) == (
        shop.removeprefix("http://"),
        shop,
        f"{shop}/",
    )
    (receipt,) = slot.session.receipts
    assert receipt.product == "oats"


async def test_what_is_no_text_passes_as_it_is(proxy: Proxy, direct: httpx.AsyncClient) -> None:
    async with pages({"/a.png": lambda r: Response(str(r.base_url).encode(), media_type="image/png")}) as url:
        slot = await proxy.open_slot(reverse=url)
        slot.session = session(url)
        image = await direct.get(f"{slot.url}/a.png")
    assert image.text == url


async def test_a_strange_host_does_not_get_into_the_page(proxy: Proxy, direct: httpx.AsyncClient) -> None:
    async with pages({"/a": lambda r: HTMLResponse(f'<a href="{r.base_url}">')}) as url:
        slot = await proxy.open_slot(reverse=url)
        slot.session = session(url)
        page = await direct.get(f"{slot.url}/a", headers={"host": '"><script>'})
    assert page.status_code == 400 or page.text == f'<a href="{slot.url}/">'


async def test_a_port_that_stands_for_itself_is_no_loop(proxy: Proxy, direct: httpx.AsyncClient) -> None:
    slot = await proxy.open_slot()
    looped = await proxy.open_slot(reverse=slot.url)
    slot.session = looped.session = Session(PLAN, SITE)
    response = await direct.get(f"{looped.url}/oats.html")
    assert response.status_code == 403
    assert "the proxy itself" in response.text


async def test_the_allow_list_sees_the_shops_address(proxy: Proxy, direct: httpx.AsyncClient) -> None:
    async with upstream(PAGE) as shop, upstream("secret") as elsewhere:
        slot = await proxy.open_slot(reverse=elsewhere.url)
        slot.session = Session(PLAN, SITE, AllowList.of(shop.url))
        response = await direct.get(f"{slot.url}/oats.html")
    assert response.status_code == 403
    assert elsewhere.requests == []


HOME = """<!doctype html><title>Home</title><link rel="stylesheet" href="{url}style.css">
<a id="old" href="{url}old">Oats</a><form action="{url}cart" method="post"><button>Buy</button></form>
<p id="said"></p>
<script>fetch("{url}data").then(r => r.json()).then(d => said.textContent = d.link)</script>"""


@pytest.mark.browser
async def test_a_browser_without_settings_stays_inside(proxy: Proxy) -> None:
    requests: list[tuple[str, str, str]] = []

    def noting(page: str) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            requests.append((request.method, request.url.path, request.headers.get("cookie", "")))
            return HTMLResponse(page)

        return answer

    def home(request: Request) -> Response:
        response = HTMLResponse(HOME.replace("{url}", str(request.base_url)))
        response.set_cookie("session", "1", secure=True, domain="127.0.0.1")
        sources = f"{request.base_url} 'unsafe-inline'"
        response.headers["content-security-policy"] = (
            f"default-src {sources}; form-action {request.base_url}; upgrade-insecure-requests"
        )
        return response

    def data(request: Request) -> Response:
        link = json.dumps({"link": f"{request.base_url}cart"}).replace("/", "\\/")
        return Response(link, media_type="application/json")

    routes: dict[str, Answer] = {
        "/": home,
        "/data": data,
        "/style.css": Response("#old { color: rgb(1, 2, 3) }", media_type="text/css"),
        "/old": lambda r: RedirectResponse(f"{r.base_url}oats.html"),
        "/oats.html": noting(PAGE),
        "/cart": noting("<title>Cart</title>"),
    }
    async with pages(routes) as url, run_browsers() as browsers:
        reverse = await proxy.open_slot(reverse=url)
        reverse.session = session(url)
        async with browsers.context(None) as context:
            tab = await context.new_page()
            seen: list[str] = []
            tab.on("request", lambda request: seen.append(request.url))
            await tab.goto(reverse.url)
            await tab.locator("#said:not(:empty)").wait_for()
            said = await tab.locator("#said").text_content()
            colour = await tab.locator("#old").evaluate("element => getComputedStyle(element).color")
            await tab.locator("#old").click()
            await tab.wait_for_url("**/oats.html")
            treated = await tab.get_by_text(NUDGE).count()
            await tab.go_back()
            await tab.get_by_role("button").click()
            await tab.wait_for_url("**/cart")
    assert said == f"{reverse.url}/cart"
    assert colour == "rgb(1, 2, 3)"
    assert treated == 1
    assert {address.partition("/")[2][1:].partition("/")[0] for address in seen} == {
        f"127.0.0.1:{reverse.port}"
    }
    assert requests == [("GET", "/oats.html", "session=1"), ("POST", "/cart", "session=1")]
