"""Recordings: what the shop answered, once and as it came, and the same again without the shop."""

import asyncio
import json
import stat
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import zstandard
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from interventions.apply.plan import Plan
from interventions.errors import UserError
from proxy.recording import Recording
from proxy.server import Proxy, Slot, run_proxy
from tests.proxy.test_decoding import CODINGS
from tests.proxy.upstream import NUDGE, PAGE, message, session, upstream
from tests.support import pages, serve


class Stage:
    """One proxy at a time, and a client of it."""

    def __init__(self, ca_dir: Path) -> None:
        self.ca_dir = ca_dir
        self.stack, self.shop = AsyncExitStack(), AsyncExitStack()

    async def __aenter__(self) -> "Stage":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.stack.aclose()
        await self.shop.aclose()

    async def open(self, **options: Any) -> tuple[Proxy, Slot, httpx.AsyncClient]:
        """End the proxy there is, and start another."""
        await self.stack.aclose()
        proxy = await self.stack.enter_async_context(run_proxy(self.ca_dir, **options))
        slot = await proxy.open_slot()
        client = httpx.AsyncClient(proxy=slot.url, trust_env=False, timeout=60)
        return proxy, slot, await self.stack.enter_async_context(client)


@pytest.fixture
def stage(ca_dir: Path) -> Stage:
    return Stage(ca_dir)


def bodies(folder: Path, name: str = "bodies") -> list[Path]:
    return list((folder / name).iterdir())


async def test_what_was_recorded_is_replayed_without_the_shop(stage: Stage, tmp_path: Path) -> None:
    packed = CODINGS["gzip"](PAGE.encode())
    image = message(b"\x89PNG" * 1000, "Content-Type: image/png", "Transfer-Encoding: chunked")
    image = image.replace(b"\x89PNG" * 1000, b"fa0\r\n" + b"\x89PNG" * 1000 + b"\r\n0\r\n\r\n")
    page = message(packed, "Content-Encoding: gzip", "Set-Cookie: a=1", "Set-Cookie: b=2", "X-Odd: \xe9")
    async with stage:
        _, slot, client = await stage.open(record=tmp_path)
        async with upstream(page) as shop, upstream(image) as pictures:
            slot.session = session(shop.url)
            slot.session.allow = None
            secret = {"authorization": "Bearer secret", "if-none-match": '"1"', "range": "bytes=0-1"}
            treated = await client.get(shop.url + "oats.html#reviews", headers=secret)
            picture = await client.get(pictures.url + "oats.png", headers=secret)
            assert "if-none-match" not in shop.requests[0]
            assert "range" not in pictures.requests[0]
        assert NUDGE in treated.text
        first, second = Recording(tmp_path).answers()
        assert first.url == shop.url + "oats.html"
        assert Recording(tmp_path).read(first) == packed
        assert ("X-Odd", "\xe9") in first.headers
        assert (second.status, second.size) == (200, 4000)
        assert "secret" not in (tmp_path / "index.jsonl").read_text()

        _, slot, client = await stage.open(replay=tmp_path)
        slot.session = session(shop.url)
        slot.session.allow = None
        replayed = await client.get(shop.url + "oats.html?", headers=secret)
        assert replayed.status_code == 504  # another address
        replayed = await client.get(shop.url + "oats.html")
        pictured = await client.get(pictures.url + "oats.png")
        assert replayed.text == treated.text
        assert replayed.headers.get_list("set-cookie") == ["a=1", "b=2"]
        assert len(slot.session.receipts) == 1
        assert pictured.content == picture.content
        slot.session = session(shop.url, Plan())
        untreated = await client.get(shop.url + "oats.html")
        assert untreated.text == PAGE
        assert untreated.headers["content-encoding"] == "gzip"
        plain = await client.get(shop.url + "oats.html", headers={"accept-encoding": "identity"})
        assert plain.text == PAGE
        assert "content-encoding" not in plain.headers


async def test_requests_differ_by_method_address_and_body(stage: Stage, tmp_path: Path) -> None:
    async def answer(request: Request) -> Response:
        text = f"{request.method} {request.url.query} {(await request.body()).decode()}"
        return Response(text, media_type="text/plain")

    asked = [("GET", "?a=1", ""), ("GET", "?a=2", ""), ("POST", "?a=1", "one"), ("POST", "?a=1", "two")]
    async with stage:
        _, slot, client = await stage.open(record=tmp_path)
        async with serve(Starlette(routes=[Route("/{p:path}", answer, methods=["GET", "POST"])])) as url:
            slot.session = session(url)
            for method, query, body in asked:
                await client.request(method, url + query, content=body or None)
        _, slot, client = await stage.open(replay=tmp_path)
        slot.session = session(url)
        for method, query, body in reversed(asked):
            got = await client.request(method, url + query, content=body or None)
            assert got.text == f"{method} {query[1:]} {body}"
        assert (await client.post(url + "?a=1", content="three")).status_code == 504


async def test_the_same_request_gets_its_answers_in_order(stage: Stage, tmp_path: Path) -> None:
    count = iter(range(10))
    async with stage:
        _, slot, client = await stage.open(record=tmp_path)
        async with pages({"/cart": lambda _: HTMLResponse(f"{next(count) // 2} items")}) as url:
            slot.session = session(url)
            for _ in range(4):
                await client.get(url + "cart")
        assert len(bodies(tmp_path)) == 2  # each body once
        _, slot, client = await stage.open(replay=tmp_path)
        for _ in range(2):  # each session from the start
            slot.session = session(url)
            got = [(await client.get(url + "cart")).text for _ in range(6)]
            assert [text[0] for text in got] == ["0", "0", "1", "1", "1", "1"]


async def test_where_an_address_leads_is_learned_from_a_recording_too(stage: Stage, tmp_path: Path) -> None:
    answers = {"/oats.html": RedirectResponse("/en/breakfast-7"), "/en/breakfast-7": PAGE}
    known = []
    async with stage:
        for options in ({"record": tmp_path}, {"replay": tmp_path}):
            _, slot, client = await stage.open(**options)
            if "record" in options:
                url = await stage.shop.enter_async_context(pages(answers))
            slot.session = session(url)
            slot.session.known["oats"] = "oats"
            assert (await client.get(f"{url}oats.html", follow_redirects=True)).status_code == 200
            known.append(dict(slot.session.known))
            await stage.shop.aclose()
    assert known[0] == known[1]
    assert known[1]["en/breakfast-7"] == "oats"


async def test_what_was_not_recorded_is_an_upstream_error(stage: Stage, tmp_path: Path) -> None:
    Recording(tmp_path).create()
    async with stage, upstream(PAGE) as shop:
        _, slot, client = await stage.open(replay=tmp_path)
        slot.session = session(shop.url)
        page = await client.get(shop.url + "oats.html", headers={"accept": "text/html"})
        icon = await client.get(shop.url + "favicon.ico", headers={"sec-fetch-dest": "image"})
        refused = await client.get("http://elsewhere.test/")
        assert shop.requests == []
    assert (page.status_code, icon.status_code, refused.status_code) == (504, 504, 403)
    assert "not recorded" in page.text
    assert slot.session.upstream_errors == [f"{shop.url}oats.html: HTTP 504 not recorded"]


async def test_only_whole_answers_of_the_shop_are_recorded(stage: Stage, tmp_path: Path) -> None:
    async with stage, upstream(message(b"half", "Connection: close", "Content-Length: 900")) as shop:
        _, slot, client = await stage.open(record=tmp_path)
        slot.session = session(shop.url)
        broken = await client.get(shop.url + "oats.html")
        assert broken.status_code == 502
        await client.get("http://elsewhere.test/")
        slot.session = None
        await client.get(shop.url)
        assert Recording(tmp_path).answers() == []
        assert bodies(tmp_path) == []


async def test_an_unusual_answer_is_replayed_as_it_came(stage: Stage, tmp_path: Path) -> None:
    odd = message("busy", "X-Odd: a\x01\x7fb", "X-Folded: a", "\tb", status="999 Request denied")
    async with stage:
        _, slot, client = await stage.open(record=tmp_path)
        async with upstream(odd) as shop:
            slot.session = session(shop.url)
            await client.get(shop.url)
        _, slot, client = await stage.open(replay=tmp_path)
        slot.session = session(shop.url)
        got = await client.get(shop.url)
    assert (got.status_code, got.reason_phrase, got.text) == (999, "Request denied", "busy")
    assert (got.headers["x-odd"], got.headers["x-folded"]) == ("a\x01\x7fb", "a b")


@pytest.mark.parametrize(
    ("status", "header", "reason"),
    [("1000 Strange", "X-Odd: a", "its status is 1000"), ("200 OK", "X-Odd: a\rb", "the end of a line")],
)
async def test_what_cannot_be_recorded_is_told_and_leaves_no_body(
    stage: Stage, tmp_path: Path, caplog, status: str, header: str, reason: str
) -> None:
    usual = message("busy")
    async with stage, upstream(message("busy", header, status=status)) as shop, upstream(usual) as other:
        _, slot, client = await stage.open(record=tmp_path)
        slot.session = session(shop.url)
        slot.session.allow = None
        await _ask(slot, shop.url)
        assert bodies(tmp_path) == []
        await client.get(other.url)
        await _ask(slot, shop.url)  # the body stays that another answer has too
    (answer,) = Recording(tmp_path).answers()
    assert Recording(tmp_path).read(answer) == b"busy"
    told = [record.getMessage() for record in caplog.records if record.name == "proxy.recording"]
    assert len(told) == 2
    assert all(f"{tmp_path}: {shop.url} is not recorded: " in line and reason in line for line in told)


async def _ask(slot: Slot, url: str) -> None:
    """Ask for a page as a client that reads any answer, to the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", slot.port)
    host = urlsplit(url).netloc
    writer.write(f"GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert (await reader.read()).endswith(b"busy")
    writer.close()


async def test_a_recording_is_private(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "may"
    async with stage, upstream(PAGE) as shop:
        _, slot, client = await stage.open(record=folder)
        slot.session = session(shop.url)
        await client.get(shop.url)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


LINE = {"method": "GET", "url": "http://shop.test/", "request_body": "", "status": 200, "reason": "OK"}
LINE |= {"headers": [["Content-Type", "text/html"]], "body": "", "size": 0}
WRONG = [
    {"body": "../../etc/passwd"},
    {"headers": [["one"]]},
    {"more": 1},
    {"status": "200"},
    {"status": 99},
    {"status": 1000},
    {"reason": 5},
    {"reason": "OK\r\nSet-Cookie: a=b"},
    {"headers": [["X", "a\r\nY: b"]]},
    {"headers": [["X", "a\0b"]]},
    {"size": None},
    {"size": -2},
]
NONE = ["", "{", "[" * 100_000, "[]", "null", json.dumps({key: LINE[key] for key in LINE.keys() - {"url"}})]


@pytest.mark.parametrize("line", [*NONE, *(json.dumps(LINE | wrong) for wrong in WRONG)])
def test_a_line_that_is_no_answer_is_a_mistake_with_its_place(tmp_path: Path, line: str) -> None:
    recording = Recording(tmp_path)
    recording.create()
    (recording.folder / "index.jsonl").write_text(f"{json.dumps(LINE)}\n{line}\n")
    with pytest.raises(UserError) as caught:
        recording.answers()
    assert str(caught.value).startswith(f"{recording.folder}/index.jsonl:2: not an answer")


async def test_a_damaged_body_is_not_replayed(stage: Stage, tmp_path: Path) -> None:
    async with stage:
        _, slot, client = await stage.open(record=tmp_path)
        async with upstream(PAGE) as shop:
            slot.session = session(shop.url)
            await client.get(shop.url + "oats.html")
        (body,) = bodies(tmp_path)
        body.write_bytes(zstandard.ZstdCompressor().compress(b"another page"))
        _, slot, client = await stage.open(replay=tmp_path)
        slot.session = session(shop.url)
        response = await client.get(shop.url + "oats.html", headers={"accept": "text/html"})
    assert response.status_code == 504
    assert "damaged" in slot.session.upstream_errors[0]


async def test_folders_of_something_else_are_left_alone(stage: Stage, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("private")
    for options, cause in (
        ({"record": tmp_path}, "holds something else"),
        ({"replay": tmp_path}, "not a recording"),
    ):
        with pytest.raises(UserError, match=cause):
            await stage.open(**options)
    assert bodies(tmp_path, ".") == [letter]
