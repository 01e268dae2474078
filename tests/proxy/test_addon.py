"""Real mitmproxy between a real client and real servers: what is rewritten, refused, noted and left alone."""

import asyncio
import gzip
import json
import re
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from decimal import Decimal

import brotli
import httpx
import pytest
import zstandard
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from interventions.apply.plan import Plan, Treatment
from interventions.edits.insert_text import InsertText
from interventions.edits.set_price import SetPrice
from interventions.yaml.sitemap import PageTest, SiteMap
from proxy.addon import MAX_DOCUMENT_BYTES
from proxy.allow_list import AllowList
from proxy.server import Proxy, Slot
from proxy.session import Session
from tests.proxy.upstream import NUDGE, OTHER, PAGE, PLAN, SITE, UNTREATABLE, message, session, upstream
from tests.support import Answer, listening, pages

NAVIGATION = {"sec-fetch-dest": "document", "accept": "text/html"}
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def without_nudge(text: str) -> str:
    return re.sub(rf"<h2 [^>]*>{NUDGE}</h2>", "", text)


def assert_failed_closed(response: httpx.Response, session: Session, reason: str) -> None:
    """An error page instead of the page, one failure, and no receipt."""
    assert response.status_code == 502
    assert response.headers["cache-control"] == "no-store"
    assert "could not be prepared" in response.text
    assert "All about oats" not in response.text
    assert len(session.failures) == 1
    assert reason in session.failures[0]
    assert session.receipts == []


# Rewriting


async def test_a_planned_edit_reaches_the_page_and_gives_a_receipt(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    async with pages({"/oats.html": PAGE, "/Oats.html": PAGE, "/about": OTHER}) as url:
        slot.session = session(url)
        treated = await client.get(url + "oats.html")
        again = await client.get(url + "Oats.html?from=search")
        other = await client.get(url + "about")
    assert treated.text == again.text
    assert treated.text.count(NUDGE) == 1
    assert without_nudge(treated.text) == PAGE
    assert other.text == OTHER
    first, second = slot.session.receipts
    assert first == second
    assert (first.intervention, first.edit, first.product, first.after) == (
        "best",
        "insert_text",
        "oats",
        NUDGE,
    )
    assert slot.session.failures == slot.session.upstream_errors == []


async def test_where_a_products_address_leads_its_page_is_rewritten(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    """A prefix, a redirect, and one more: without a word on the page whose it is."""

    def moved(path: str) -> Response:
        return Response(status_code=302, headers={"location": path})

    answers = {"/en/oats": moved("/en/oats;s=1"), "/en/oats;s=1": moved("../a/b"), "/a/b": PAGE, "/c": PAGE}
    async with pages(answers) as url:
        slot.session = session(url)
        slot.session.known["en/oats"] = "oats"
        treated = await client.get(url + "en/oats", follow_redirects=True)
        other = await client.get(url + "c")
        await client.post(url + "en/oats")
    assert treated.text.count(NUDGE) == 1
    assert [receipt.product for receipt in slot.session.receipts] == ["oats"]
    assert other.text == PAGE


async def test_an_address_to_which_two_products_lead_is_neithers(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    moved = Response(status_code=302, headers={"location": "/item?id=1"})
    async with pages({"/oats": moved, "/rye": moved, "/item": PAGE}) as url:
        slot.session = session(url)
        slot.session.known |= {"oats": "oats", "rye": "rye"}
        for path in ("oats", "rye"):
            answer = await client.get(url + path)
            assert answer.status_code == 302
        untreated = await client.get(url + "item?id=1")
    assert slot.session.known["item"] == ""
    assert untreated.text == PAGE


@pytest.mark.slow
@pytest.mark.parametrize("encoding", COMPRESSIONS)
@pytest.mark.parametrize("chunked", [False, True])
async def test_compressed_and_chunked_pages_are_rewritten(
    slot: Slot, client: httpx.AsyncClient, encoding: str, chunked: bool
) -> None:
    data = COMPRESSIONS[encoding](PAGE.encode())

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(data), 50):
            yield data[start : start + 50]

    def answer(_: Request) -> Response:
        headers = {"content-encoding": encoding}
        if chunked:
            return StreamingResponse(pieces(), media_type="text/html", headers=headers)
        return HTMLResponse(data, headers=headers)

    async with pages({"/oats.html": answer, "/about": OTHER}) as url:
        slot.session = session(url)
        treated = await client.get(url + "oats.html")
        # On the same connection: the framing of the answer before was right.
        other = await client.get(url + "about")
    assert without_nudge(treated.text) == PAGE != treated.text
    assert "content-encoding" not in treated.headers
    assert "transfer-encoding" not in treated.headers
    assert treated.headers["content-length"] == str(len(treated.content))
    assert other.text == OTHER
    assert len(slot.session.receipts) == 1


async def test_a_page_that_ends_with_its_connection_is_rewritten(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    answer = message(PAGE, "Connection: close", "Content-Length: 0").replace(b"Content-Length: 0\r\n", b"")
    async with upstream(answer) as origin:
        slot.session = session(origin.url)
        treated = await client.get(origin.url + "oats.html")
    assert without_nudge(treated.text) == PAGE != treated.text


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(["Content-Type: application/xhtml+xml"], id="XHTML"),
        pytest.param(["Content-Type: TEXT/HTML;charset=UTF-8"], id="upper case"),
        pytest.param(["Content-Type: text/plain", "Content-Type: text/html"], id="the last type counts"),
        pytest.param(["Content-Type:"], id="an empty type is sniffed"),
        pytest.param(["Content-Type: */*"], id="a type that is none is sniffed"),
        pytest.param(["Content-Type: html"], id="half a type is sniffed"),
        pytest.param(['Content-Type: text/html; charset="utf-8, or so"'], id="a comma in quotes"),
        pytest.param(["Content-Type: text/html, , none"], id="the last that is a type counts"),
        pytest.param(["Content-Type: text/html", " folded: yes"], id="a header of several lines"),
        pytest.param(["X-Content-Type: none"], id="a missing type is sniffed"),
    ],
)
async def test_whatever_a_browser_takes_for_html_is_rewritten(
    slot: Slot, client: httpx.AsyncClient, headers: list[str]
) -> None:
    answer = message(PAGE, *headers)
    if "Content-Type" not in headers[0]:
        answer = answer.replace(b"Content-Type: text/html; charset=utf-8\r\n", b"")
    async with upstream(answer) as origin:
        slot.session = session(origin.url)
        treated = await client.get(origin.url + "oats.html")
    assert NUDGE in treated.content.decode()
    assert len(slot.session.receipts) == 1


async def test_what_describes_the_body_before_goes_with_it(slot: Slot, client: httpx.AsyncClient) -> None:
    stale = ["ETag", "Last-Modified", "Content-MD5", "Digest", "Content-Digest", "Repr-Digest"]
    kept = ["Set-Cookie: cart=1", "Set-Cookie: seen=2", "X-Frame-Options: DENY"]
    answer = message(PAGE, *(f"{name}: 1" for name in stale), *kept, "Cache-Control: max-age=600")
    async with upstream(answer) as origin:
        slot.session = session(origin.url)
        treated = await client.get(origin.url + "oats.html")
    assert NUDGE in treated.text
    assert not {name.lower() for name in stale} & set(treated.headers)
    assert treated.headers.get_list("cache-control") == ["no-store"]
    assert treated.headers.get_list("set-cookie") == ["cart=1", "seen=2"]
    assert treated.headers["x-frame-options"] == "DENY"


@pytest.mark.slow
@pytest.mark.parametrize(
    "client_headers",
    [
        pytest.param(NAVIGATION, id="a browser's navigation"),
        pytest.param({"sec-fetch-dest": "empty"}, id="a page's fetch"),
        pytest.param({"accept": "*/*"}, id="curl"),
        pytest.param({"accept": "application/xhtml+xml"}, id="no sec-fetch headers"),
        pytest.param({}, id="no accept header"),
    ],
)
async def test_a_304_never_revives_an_untreated_copy(
    slot: Slot, client: httpx.AsyncClient, client_headers: dict[str, str]
) -> None:
    def answer(request: Request) -> Response:
        headers = {"etag": '"1"', "last-modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
        if {"if-none-match", "if-modified-since"} & set(request.headers):
            return Response(status_code=304, headers=headers)
        return HTMLResponse(PAGE, headers=headers)

    del client.headers["accept"]
    validators = {
        "if-none-match": '"1"',
        "if-modified-since": "Mon, 01 Jan 2024 00:00:00 GMT",
    }
    async with pages({"/oats.html": answer}) as url:
        slot.session = session(url)
        for name, value in validators.items():
            response = await client.get(url + "oats.html", headers={**client_headers, name: value})
            assert response.status_code == 200
            assert NUDGE in response.text
    assert len(slot.session.receipts) == 2


async def test_a_navigation_never_gets_part_of_a_page(slot: Slot, client: httpx.AsyncClient) -> None:
    def answer(request: Request) -> Response:
        partial = "range" in request.headers
        return HTMLResponse(PAGE[-30:] if partial else PAGE, status_code=206 if partial else 200)

    def film(request: Request) -> Response:
        return Response(b"", 206 if "range" in request.headers else 200, media_type="video/mp4")

    async with pages({"/oats.html": answer, "/video": film}) as url:
        slot.session = session(url)
        page = await client.get(url + "oats.html", headers={**NAVIGATION, "range": "bytes=200-"})
        video = await client.get(url + "video", headers={"sec-fetch-dest": "video", "range": "bytes=200-"})
    assert page.status_code == 200
    assert NUDGE in page.text
    assert video.status_code == 206


async def test_an_image_may_be_revalidated(slot: Slot, client: httpx.AsyncClient) -> None:
    async with pages(
        {"/oats.png": lambda r: Response(status_code=304 if "if-none-match" in r.headers else 200)}
    ) as url:
        slot.session = session(url)
        headers = {"sec-fetch-dest": "image", "if-none-match": '"1"'}
        assert (await client.get(url + "oats.png", headers=headers)).status_code == 304


async def test_head_is_answered_without_a_body_and_is_no_failure(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    async with pages({"/oats.html": PAGE}) as url:
        slot.session = session(url)
        head = await client.head(url + "oats.html")
        treated = await client.get(url + "oats.html")
    assert head.status_code == 200
    assert head.content == b""
    assert NUDGE in treated.text
    assert len(slot.session.receipts) == 1
    assert slot.session.failures == []


# Leaving alone


@pytest.mark.parametrize("plan", [PLAN, Plan()], ids=["no rule matches", "empty plan"])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(
            message(OTHER, 'ETag: "1"', "Cache-Control: max-age=60", "X-A: 1", "x-a: 2"), id="plain"
        ),
        pytest.param(message(gzip.compress(OTHER.encode(), mtime=7), "Content-Encoding: gzip"), id="gzip"),
        pytest.param(
            message("5\r\nAbout\r\n3\r\n us\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), id="chunked"
        ),
        pytest.param(message(b"\x89PNG \xff\x00", "Content-Type: image/png"), id="image"),
        pytest.param(message('{"html": "<p>"}', "Content-Type: application/json"), id="JSON"),
        pytest.param(message(PAGE.replace("Oats", "Gone"), status="404 Not Found"), id="not found"),
        pytest.param(message("", "Location: /oats.html", status="302 Found"), id="redirect"),
    ],
)
async def test_what_no_rule_matches_is_the_same_byte_for_byte(slot: Slot, answer: bytes, plan: Plan) -> None:
    async with upstream(answer) as origin:
        slot.session = session(origin.url, plan)
        reader, writer = await asyncio.open_connection("127.0.0.1", slot.port)
        writer.write(f"GET {origin.url}about HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n".encode())
        received = await reader.read()
        writer.close()
    head, _, body = received.partition(b"\r\n\r\n")
    expected_head, _, expected_body = answer.partition(b"\r\n\r\n")
    assert head == expected_head
    # Chunks may be cut elsewhere while they stream; only their content is the page.
    assert re.sub(rb"\r\n\w+\r\n|^\w+\r\n", b"", body) == re.sub(rb"\r\n\w+\r\n|^\w+\r\n", b"", expected_body)
    assert slot.session.receipts == slot.session.failures == slot.session.upstream_errors == []


async def test_what_cannot_be_edited_is_streamed(slot: Slot, client: httpx.AsyncClient) -> None:
    may_end = asyncio.Event()

    async def events() -> AsyncIterator[bytes]:
        yield b"first"
        await may_end.wait()
        yield b"last"

    async with pages(
        {"/events": lambda _: StreamingResponse(events(), media_type="text/event-stream")}
    ) as url:
        slot.session = session(url)
        async with client.stream("GET", url + "events") as response:
            parts = response.aiter_raw()
            assert await anext(parts) == b"first"
            may_end.set()
            assert b"".join([part async for part in parts]) == b"last"


# Failing closed


@pytest.mark.parametrize("kind", ["multipart/mixed; boundary=-", "text/event-stream", "application/x-ndjson"])
async def test_data_that_come_in_pieces_fail_closed(kind: str, slot: Slot, client: httpx.AsyncClient) -> None:
    """What the site map knows as data holds the old price, and nobody has changed it."""
    data = SiteMap.model_validate(
        {"name": "data", "data": [{"url": "/graphql", "items": "$..p", "roles": {"price": "$.c"}}]}
    ).data
    answers = {"/graphql": Response("{}", media_type=kind), "/other": Response("{}", media_type=kind)}
    async with pages(answers) as url:
        slot.session = session(url)
        slot.session.site = SITE.model_copy(update={"data": data})
        await client.get(url + "other")
        assert slot.session.failures == []
        await client.get(url + "graphql")
    (failure,) = slot.session.failures
    assert f"data that come in pieces ({kind.partition(';')[0]}) cannot be edited" in failure


FOUND = json.dumps({"result": {"items": [{"url": "/oats.html", "c": "7"}]}})
EVENTS = f": ping\r\n\r\nid: 1\r\ndata:\r\n\r\nevent: message\r\ndata: {FOUND}\r\n\r\ndata:{FOUND}\n\n"


@pytest.mark.parametrize(
    "sent", ["tools/call", "subscriptions/listen", "on several lines", "no field", "text"]
)
async def test_events_that_answer_a_request(sent: str, slot: Slot, client: httpx.AsyncClient) -> None:
    """Each message of MCP is edited, and the events around it stay; what cannot be read fails closed."""
    data = [{"url": "/mcp", "items": "$..items[*]", "link": "$.url", "roles": {"price": "$.c"}}]
    rules = SiteMap.model_validate({"name": "data", "data": data}).data
    events = {
        "on several lines": EVENTS.replace('{"result"', '{\ndata: "result"'),
        "no field": EVENTS.replace("id: 1", "\ufeffdata: {}"),
        "text": EVENTS.replace("data:\r", "data: $7\r"),
    }
    answer = Response(gzip.compress(events.get(sent, EVENTS).encode()), media_type="text/event-stream")
    answer.headers["content-encoding"] = "gzip"
    async with pages({"/mcp": answer}) as url:
        slot.session = bound = session(url)
        bound.site = SITE.model_copy(update={"data": rules})
        bound.plan = Plan((Treatment("best", "oats", (SetPrice(Decimal("9.50")),)),))
        came = await client.post(url + "mcp", json={"method": sent})
    if sent == "tools/call":
        assert came.text == EVENTS.replace(FOUND, FOUND.replace('"7"', '"9.5"').replace(" ", ""))
        assert (len(bound.receipts), bound.failures) == (2, [])
    elif sent == "subscriptions/listen":
        assert "come in pieces" in bound.failures[0]
    else:
        assert_failed_closed(came, bound, "the page cannot be rewritten")


async def test_what_leads_to_the_products_page_is_passed_on_where_that_is_awaited(
    slot: Slot, client: httpx.AsyncClient
) -> None:
    answers: dict[str, Answer] = {"/oats.html": OTHER}
    async with pages(answers) as url:
        slot.session = bound = replace(session(url), awaited={})
        wall = await client.get(url + "oats.html", headers=NAVIGATION)
        assert (wall.status_code, wall.text, wall.headers["cache-control"]) == (200, OTHER, "no-store")
        assert list(bound.awaited or ()) == ["oats"]
        answers["/oats.html"] = PAGE
        assert NUDGE in (await client.get(url + "oats.html", headers=NAVIGATION)).text
        assert (bound.awaited, bound.failures, len(bound.receipts)) == ({}, [], 1)
        # A part of a page that a script loads is no page on the way to another.
        answers["/oats.html"] = OTHER
        slot.session = bound = replace(session(url), awaited={})
        part = await client.get(url + "oats.html", headers={"sec-fetch-dest": "empty"})
    assert_failed_closed(part, bound, "not a product's page")


GZIPPED = gzip.compress(PAGE.encode())
UNREADABLE = {
    "a missing target": (message(UNTREATABLE), "oats.html: best: insert_text product.title"),
    "not a product's page": (message(OTHER), "not a product's page"),
    "not what it says": (message(b"no gzip: " + PAGE.encode(), "Content-Encoding: gzip"), "oats.html: "),
    "unknown encoding": (message(PAGE, "Content-Encoding: sdch"), "oats.html: "),
    "cut off": (message(GZIPPED[:-20], "Content-Encoding: gzip"), "oats.html: "),
    "not UTF-16": (message(b"\xff\xfe" + PAGE.encode("utf-16-le") + b"\x00"), "oats.html: "),
}


@pytest.mark.parametrize("kind", UNREADABLE)
async def test_a_page_that_cannot_be_treated_fails_closed(
    kind: str, slot: Slot, client: httpx.AsyncClient
) -> None:
    answer, reason = UNREADABLE[kind]
    async with upstream(answer) as origin:
        slot.session = session(origin.url)
        response = await client.get(origin.url + "oats.html")
    assert_failed_closed(response, slot.session, reason)


async def test_an_exception_inside_rewriting_fails_closed(slot: Slot, client: httpx.AsyncClient) -> None:
    # Unchecked on purpose: the HTML parser itself raises at such a selector.
    broken = SiteMap(name="broken", pages={"product": PageTest.model_construct(css="][")}, roles=SITE.roles)
    async with pages({"/oats.html": PAGE}) as url:
        slot.session = Session(PLAN, broken, AllowList.of(url))
        response = await client.get(url + "oats.html")
    assert_failed_closed(response, slot.session, "SelectolaxError")


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("compressed", [False, True])
async def test_a_page_too_large_to_be_rewritten_fails_closed(
    slot: Slot, client: httpx.AsyncClient, chunked: bool, compressed: bool
) -> None:
    body = PAGE.encode().ljust(MAX_DOCUMENT_BYTES + 1)
    headers = []
    if compressed:
        body = gzip.compress(body, 1)
        headers.append("Content-Encoding: gzip")
    if chunked:
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        headers.append("Transfer-Encoding: chunked")
    async with upstream(message(body, *headers)) as origin:
        slot.session = session(origin.url)
        response = await client.get(origin.url + "oats.html")
    assert_failed_closed(response, slot.session, "too large")


# Refusing


async def test_only_hosts_on_the_allow_list_are_contacted(slot: Slot, client: httpx.AsyncClient) -> None:
    async with upstream(OTHER) as shop, upstream("secret") as elsewhere:
        slot.session = session(shop.url)
        port = httpx.URL(elsewhere.url).port
        for url in (elsewhere.url, f"http://localhost:{port}/", "http://127.0.0.1/", "http://shop.invalid/"):
            response = await client.get(url, headers=NAVIGATION)
            assert response.status_code == 403
            assert "not on the allow list" in response.text
        # A Host header does not open the way either.
        response = await client.get(elsewhere.url, headers={"host": httpx.URL(shop.url).netloc.decode()})
        assert response.status_code == 403
        with pytest.raises(httpx.ProxyError, match="403"):
            await client.get(elsewhere.url.replace("http:", "https:"))
        assert (await client.get(shop.url)).text == OTHER
    assert elsewhere.requests == []
    assert len(shop.requests) == 1
    assert slot.session.failures == slot.session.upstream_errors == []


async def test_without_an_allow_list_any_host_is_reached(slot: Slot, client: httpx.AsyncClient) -> None:
    async with upstream(OTHER) as one, upstream(PAGE) as two:
        slot.session = Session(PLAN, SITE)
        assert (await client.get(one.url)).text == OTHER
        assert NUDGE in (await client.get(two.url + "oats.html")).text


async def test_a_service_worker_is_refused(slot: Slot, client: httpx.AsyncClient) -> None:
    async with upstream(message("fetch", "Content-Type: text/javascript")) as shop:
        slot.session = session(shop.url)
        refused = await client.get(shop.url + "worker.js", headers={"service-worker": "script"})
        script = await client.get(shop.url + "page.js")
    assert refused.status_code == 403
    assert script.text == "fetch"
    assert len(shop.requests) == 1


async def test_a_port_without_a_session_reaches_nothing(slot: Slot, client: httpx.AsyncClient) -> None:
    async with upstream(OTHER) as shop:
        response = await client.get(shop.url)
        with pytest.raises(httpx.ProxyError, match="503"):
            await client.get(shop.url.replace("http:", "https:"))
    assert response.status_code == 503
    assert "not in use by an episode" in response.text
    assert shop.requests == []


async def test_a_request_whose_session_fails_is_not_sent(
    slot: Slot, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Slot) -> Session:
        raise RuntimeError("no session can be found")

    monkeypatch.setattr(Slot, "session", property(fail), raising=False)
    async with upstream(OTHER) as shop:
        response = await client.get(shop.url)
        with pytest.raises(httpx.ProxyError, match="500"):
            await client.get(shop.url.replace("http:", "https:"))
    assert (response.status_code, shop.requests) == (500, [])
    assert "The proxy has failed" in response.text


# What the shop does not deliver


@pytest.mark.parametrize(
    ("path", "headers", "counts"),
    [
        ("oats.html", NAVIGATION, True),
        ("shop.js", {"sec-fetch-dest": "script"}, True),
        ("shop", {"sec-fetch-dest": "style"}, True),
        ("shop.js?v=2", {"accept": "*/*"}, True),
        ("shop.css", {"accept": "text/css,*/*;q=0.1"}, True),
        ("data", {"sec-fetch-dest": "empty", "sec-fetch-mode": "cors"}, True),
        ("data", {"x-requested-with": "XMLHttpRequest"}, True),
        ("oats.png", {"sec-fetch-dest": "image", "sec-fetch-mode": "no-cors"}, False),
        ("beacon", {"sec-fetch-dest": "empty", "sec-fetch-mode": "no-cors"}, False),
    ],
)
async def test_what_a_page_needs_and_does_not_come_is_an_upstream_error(
    path: str, headers: dict[str, str], counts: bool, slot: Slot, client: httpx.AsyncClient
) -> None:
    async with upstream(OTHER) as shop:
        url = shop.url
    slot.session = session(url)
    assert (await client.get(url + path, headers=headers)).status_code == 502
    assert len(slot.session.upstream_errors) == counts
    assert all(error.startswith(f"{url}{path}: ") for error in slot.session.upstream_errors)
    assert slot.session.failures == []


async def test_a_page_that_breaks_off_is_an_upstream_error(slot: Slot, client: httpx.AsyncClient) -> None:
    answer = message(PAGE, "Connection: close", "Content-Length: 5000")
    async with upstream(answer) as shop:
        slot.session = session(shop.url)
        response = await client.get(shop.url + "oats.html", headers=NAVIGATION)
    assert response.status_code == 502
    assert "All about oats" not in response.text
    assert len(slot.session.upstream_errors) == 1


@pytest.mark.parametrize(
    ("headers", "counts"),
    [
        (NAVIGATION, True),
        ({"sec-fetch-dest": "iframe"}, True),
        ({"sec-fetch-dest": "script"}, True),
        ({"sec-fetch-dest": "image", "accept": "image/*,*/*;q=0.8"}, False),
        ({"sec-fetch-dest": "empty", "accept": "text/html"}, False),
        ({"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}, True),
        ({"accept": "*/*"}, False),
        ({}, False),
        ({"accept": "image/png"}, False),
    ],
)
async def test_a_server_error_counts_where_it_makes_another_page(
    slot: Slot, client: httpx.AsyncClient, headers: dict[str, str], counts: bool
) -> None:
    del client.headers["accept"]
    async with upstream(message("broken", status="500 Internal Server Error")) as shop:
        slot.session = session(shop.url)
        response = await client.get(shop.url + "oats.html", headers=headers)
    assert response.status_code == 500
    assert response.text == "broken"
    expected = [f"{shop.url}oats.html: HTTP 500 Internal Server Error"] if counts else []
    assert slot.session.upstream_errors == expected


async def test_a_client_that_hangs_up_is_no_error(slot: Slot, client: httpx.AsyncClient) -> None:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def wait_for_the_end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        await reader.read()
        gone.set()
        writer.close()

    async with (
        listening(wait_for_the_end, "127.0.0.1", 0) as server,
        upstream(OTHER) as about,
    ):
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        slot.session = Session(PLAN, SITE, AllowList.of(url, about.url))
        _, writer = await asyncio.open_connection("127.0.0.1", slot.port)
        writer.write(f"GET {url}oats.html HTTP/1.1\r\nHost: shop\r\nAccept: text/html\r\n\r\n".encode())
        await arrived.wait()
        writer.close()
        await gone.wait()
        await client.get(about.url)
    assert slot.session.upstream_errors == slot.session.failures == []


# Sessions


async def test_a_late_response_counts_for_its_own_session(slot: Slot, client: httpx.AsyncClient) -> None:
    async with upstream(PAGE, waits=True) as shop:
        first = slot.session = session(shop.url)
        response = asyncio.create_task(client.get(shop.url + "oats.html"))
        await shop.arrived.wait()
        second = slot.session = session(shop.url, Plan())
        shop.may_answer.set()
        assert NUDGE in (await response).text
        # The same connection now belongs to the next episode, which plans nothing.
        assert (await client.get(shop.url + "oats.html")).text == PAGE
    assert len(first.receipts) == 1
    assert second.receipts == []


async def test_slots_do_not_touch_each_other(proxy: Proxy) -> None:
    one, two = await proxy.open_slot(), await proxy.open_slot()
    other_plan = Plan((Treatment("worst", "oats", (InsertText(after="product.title", text="Worst"),)),))
    async with (
        upstream(PAGE) as shop,
        upstream(PAGE) as elsewhere,
        httpx.AsyncClient(proxy=one.url, trust_env=False, timeout=60) as first,
        httpx.AsyncClient(proxy=two.url, trust_env=False, timeout=60) as second,
    ):
        one.session, two.session = session(shop.url), session(elsewhere.url, other_plan)
        jobs = [(first, shop.url), (second, elsewhere.url), (second, shop.url)] * 5
        got = await asyncio.gather(*(client.get(url + "oats.html") for client, url in jobs))
    assert [NUDGE in response.text for response in got] == [True, False, False] * 5
    assert ["Worst" in response.text for response in got] == [False, True, False] * 5
    assert [response.status_code for response in got] == [200, 200, 403] * 5
    assert [receipt.intervention for receipt in one.session.receipts] == ["best"] * 5
    assert [receipt.intervention for receipt in two.session.receipts] == ["worst"] * 5
