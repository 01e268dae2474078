"""`souk proxy serve` as a person runs it: a process of its own before the real shop."""

import asyncio
import json
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from mitmproxy import http
from starlette.responses import Response

from environments.shop.server import shop
from experiments.cli import main
from experiments.designs.choice_sets.shop_products import shop_products
from interventions.apply.engine import PlaceMemory
from interventions.apply.plan import Plan, ProductFacts, Treatment
from interventions.edits.set_price import SetPrice
from interventions.edits.strike_price import StrikePrice
from interventions.errors import UserError
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import SiteMap, load_site_map
from proxy.addon import treat
from proxy.allow_list import AllowList
from proxy.authority import Authority
from proxy.drawing import edited
from proxy.serve import PrintingSession, parse_values, plan_for
from proxy.server import Proxy, Slot
from proxy.session import Session
from tests.experiments.command_line import forked_souk, program
from tests.support import pages

ROOT = Path(__file__).parents[2]
SITE = load_site_map("onestopmarket")


@asynccontextmanager
async def serving(*options: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str, str]]:
    """The running process, the address that it says it listens on, and all that it says at the start."""
    command = (program(), "proxy", "serve", *options, "--port", "0")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=pipe, stderr=pipe)
    try:
        assert process.stderr is not None
        said = (await process.stderr.readuntil(b"Ctrl-C ends it\n")).decode()
        found = re.match(r"souk proxy(?: on|: open) (http://127\.0\.0\.1:\d+)", said)
        assert found, said
        yield process, found[1], said
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.slow
async def test_a_person_sees_nudges_on_the_shops_products() -> None:
    product = shop_products()[0]
    assert product.category == "Cookies"
    sentence = "This product is Wirecutter's top pick in the cookies category"
    path = f"{product.key}.html"
    with socket.create_server(("127.0.0.1", 0)) as closed:
        down = f"http://127.0.0.1:{closed.getsockname()[1]}/"
    async with shop() as url, pages({f"/{path}": "<title>Redesigned</title>"}) as redesigned:
        allow = [option for host in (url, redesigned, down) for option in ("--allow", host)]
        async with (
            serving("-i", "nudges", "--only", "wirecutter", *allow) as (process, address, said),
            httpx.AsyncClient(proxy=address, trust_env=False, timeout=60) as client,
        ):
            page = await client.get(url + path)
            missing = await client.get(url + "nothing-of-this-name.html")
            refused = await client.get("http://127.0.0.1:9/")
            failed = await client.get(redesigned + path)
            await client.get(down, headers={"accept": "text/html"})
            process.send_signal(signal.SIGINT)
            out, err = await process.communicate()
    assert re.search(rf"reaches +{re.escape(url)} {re.escape(redesigned)} {re.escape(down)} only\n", said)
    assert re.search(r"applies +wirecutter\n", said)
    text = page.text.replace("&#x27;", "'").replace("&#39;", "'")
    assert text.count(sentence) == 1
    assert [missing.status_code, refused.status_code, failed.status_code] == [404, 403, 502]
    shown, failure, broken = [json.loads(line) for line in out.splitlines()]
    receipt = shown["receipt"]
    assert (receipt["intervention"], receipt["product"]) == ("wirecutter", product.key)
    assert (receipt["page_type"], receipt["after"]) == ("product", sentence)
    assert failure["treatment_failed"].startswith(
        f"{redesigned}{path}: wirecutter: insert_text product.title: "
    )
    assert broken["upstream_error"].startswith(down)
    assert err == b""
    assert process.returncode == 130


def mistake(
    options: Iterable[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """What the command says in one line before it ends with status 2."""
    monkeypatch.setattr(sys, "argv", ["souk", "proxy", "serve", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert said.out == ""
    assert re.fullmatch(r"error: [^\n]+\n", said.err)
    return said.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-i", "nudges", "--only", "wirecuter"], 'did you mean "wirecutter"'),
        (["-i", "nudge"], 'did you mean "nudges"'),
        (["-i", "nudges", "--site", "nowhere"], 'no site map "nowhere"'),
        (["-i", "nudges", "--var", "category"], "--var category: not a value; write NAME=VALUE"),
        (["-i", "nudges", "--var", "=red"], "--var =red: not a value; write NAME=VALUE"),
        (["-i", "nudges", "--var", "colour=red"], 'no intervention has the variable "colour"; variables: '),
        (["-i", "nudges", "--var", "categroy=Tea"], 'did you mean "category"?'),
        (["-i", "nudges", "--only", "best-seller", "--var", "a=b"], '"a"; there are none'),
        (["-i", "nudges", "--only", "best-seller", "--allow", "shop:7770"], "shop:7770: not the address"),
        ([], "nothing to do: name an intervention file with -i"),
        (["--only", "wirecutter", "--record", "a"], "--only: chooses from a file"),
        (["--var", "a=b", "--record", "a"], "--var: fills in variables"),
        (["--record", "a", "--replay", "b"], "exclude each other: leave one out"),
        (["--replay", "a", "--upstream-proxy", "http://p:1"], "--upstream-proxy: --replay asks nothing"),
        (["--replay", "a", "--upstream-ca", "b"], "--upstream-ca: --replay asks nothing"),
        (["--replay", "/nowhere"], "/nowhere: not a recording; make one with"),
        (["--reverse", "shop.example"], "shop.example: not the address of a shop"),
        (["--reverse", "http://shop.example/a"], "not the origin of a shop; write it like"),
        (["--record", "/proc/a"], "/proc/a: cannot be written"),
        (["-i", "nudges", "--upstream-ca", "/nowhere"], "--upstream-ca /nowhere: cannot be read"),
        (["-i", "nudges", "--upstream-proxy", "socks5://a:1"], "not the address of a proxy"),
        (["-i", "nudges", "--upstream-proxy", "http://a:b"], "not the address of a proxy"),
        (["-i", "nudges", "--ca", "/etc"], "/etc: holds something else than an authority"),
    ],
)
def test_a_mistake_is_one_line(options: list[str], message: str, monkeypatch, capsys) -> None:
    assert message in mistake([*options, "--port", "0"], monkeypatch, capsys)


def test_a_busy_port_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = str(busy.getsockname()[1])
        options = ["-i", "nudges", "--only", "best-seller", "--port", port]
        said = mistake(options, monkeypatch, capsys)
    assert f"port {port}: cannot listen on it (Address already in use); " in said


WINE, CHEESE = ProductFacts(key="one", category="Wine"), ProductFacts(key="two", category="Cheese")
BEST, OF_CATEGORY = "best-seller", "wirecutter"


@pytest.mark.parametrize(
    ("names", "products", "values", "only", "planned"),
    [
        ([BEST, OF_CATEGORY], [WINE, CHEESE], {}, [], [(None, ""), ("one", "wine"), ("two", "cheese")]),
        ([BEST, OF_CATEGORY], [WINE, CHEESE], {}, ["two"], [("two", ""), ("two", "cheese")]),
        ([BEST], [], {}, ["of-another-shop"], [("of-another-shop", "")]),
        ([BEST, OF_CATEGORY], [], {}, ["of-another-shop"], None),
        ([OF_CATEGORY], [], {"category": "Tea"}, [], [(None, "Tea")]),
        ([OF_CATEGORY], [], {}, [], None),
    ],
)
def test_variables_of_products_are_filled_in_for_each_that_is_treated(
    names: list[str], products: list[ProductFacts], values: dict[str, str], only: list[str], planned
) -> None:
    nudges = load_interventions("nudges", SITE)
    chosen = [nudges[name] for name in names]
    assert parse_values(["category=a=b", "expertise="], nudges.interventions) == {
        "category": "a=b",
        "expertise": "",
    }
    if planned is None:
        with pytest.raises(UserError, match=r"nudges\.yaml:\d+:.*category"):
            plan_for(chosen, products, values, only)
        return
    treatments = plan_for(chosen, products, values, only).treatments
    assert [treatment.product for treatment in treatments] == [product for product, _ in planned]
    for treatment, (_, word) in zip(treatments, planned, strict=True):
        assert word in treatment.to_dict()["edits"][0]["insert_text"]["text"]


@pytest.mark.slow
async def test_the_command_treats_the_product_of_an_address() -> None:
    one, two = shop_products()[:2]
    async with shop() as url:
        options = ("-i", "nudges", "--only", "best-seller", "--product", f"{url}{one.key}.html?from=mail")
        async with (
            serving(*options) as (process, address, said),
            httpx.AsyncClient(proxy=address, trust_env=False, timeout=60) as client,
        ):
            shown = [(await client.get(f"{url}{product.key}.html")).text for product in (one, two)]
            process.send_signal(signal.SIGINT)
            out, _ = await process.communicate()
    assert re.search(rf"to +{re.escape(one.key)}\n", said)
    (line,) = out.splitlines()
    receipt = json.loads(line)["receipt"]
    assert receipt["product"] == one.key
    assert [receipt["after"] in page for page in shown] == [True, False]


# Modes


@pytest.mark.slow
async def test_a_shop_can_be_recorded_and_replayed_in_its_own_place(tmp_path: Path) -> None:
    folder, ca = str(tmp_path / "recording"), tmp_path / "ca"
    async with pages({"/a.html": "<title>A</title>"}) as url:
        async with (
            serving("--reverse", url, "--record", folder, "--ca", str(ca)) as (_, address, said),
            httpx.AsyncClient(trust_env=False, timeout=60) as client,
        ):
            recorded = await client.get(f"{address}/a.html")
            authority = Authority.read(ca)
        assert f"open {address}/ for {url}\n" in said
        assert re.search(r"applies +nothing", said)
        assert re.search(rf"records +to {folder}\n", said)
        assert re.search(rf"authority +{re.escape(str(authority.certificate))}\n", said)
    async with (
        serving("--reverse", url, "--replay", folder, "--ca", str(ca)) as (_, address, said),
        httpx.AsyncClient(trust_env=False, timeout=60) as client,
    ):
        replayed = await client.get(f"{address}/a.html")
    assert re.search(rf"replays +{folder}; the network is not used\n", said)
    assert Authority.read(ca) == authority
    assert recorded.text == replayed.text == "<title>A</title>"


@pytest.mark.slow
async def test_proxies_can_be_chained(proxy: Proxy) -> None:
    slot = await proxy.open_slot()
    async with pages({"/a.html": "<title>A</title>"}) as url:
        slot.session = Session(Plan(), SITE)
        chained = slot.url.replace("http://", "http://user:word@")
        async with (
            serving("-i", "nudges", "--only", "best-seller", "--upstream-proxy", chained) as (
                _,
                address,
                said,
            ),
            httpx.AsyncClient(proxy=address, trust_env=False, timeout=60) as client,
        ):
            page = await client.get(url + "a.html")
            slot.session.allow = AllowList.of()
            refused = await client.get(url + "a.html")
    assert page.text == "<title>A</title>"
    assert refused.status_code == 403  # by the other proxy
    assert re.search(rf"through +the proxy {slot.url.removeprefix('http://')}\n", said)
    assert "word" not in said


def test_the_authority_of_a_folder_is_explained(proxy: Proxy, tmp_path: Path) -> None:
    certificate = x509.load_pem_x509_certificate(proxy.certificate.read_bytes())
    ended = forked_souk("proxy", "ca", str(proxy.ca_dir), "--json", cwd=tmp_path)
    facts = json.loads(ended.out)
    assert ended.err == ""
    assert facts["certificate"] == str(proxy.certificate)
    assert facts["spki_sha256"] == proxy.spki
    assert bytes.fromhex(facts["sha256"].replace(":", "")) == certificate.fingerprint(hashes.SHA256())
    assert facts["expires"] == certificate.not_valid_after_utc.isoformat()
    told = forked_souk("proxy", "ca", str(proxy.ca_dir), cwd=tmp_path).out
    assert all(facts[fact] in told for fact in ("certificate", "sha256", "spki_sha256"))


def test_a_folder_without_an_authority_is_one_line(tmp_path: Path) -> None:
    ended = forked_souk("proxy", "ca", str(tmp_path), cwd=tmp_path)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == (
        f"error: {tmp_path}: no certificate authority there; `souk proxy serve --ca {tmp_path}` makes one\n"
    )


async def test_nothing_is_kept_of_what_has_passed(proxy: Proxy, capsys: pytest.CaptureFixture[str]) -> None:
    """Such a proxy may run for weeks: no part of its session has more after many pages than after a few."""
    nudge, product = load_interventions("nudges", SITE)["wirecutter"], shop_products()[0]
    async with shop() as url:
        slot = await proxy.open_slot()
        slot.session = PrintingSession(plan_for([nudge], [product], {}), SITE, None)

        async def look_around() -> None:
            async with httpx.AsyncClient(
                proxy=slot.url, trust_env=False, timeout=60, follow_redirects=True
            ) as client:
                await client.get(url)
                page = (await client.get(f"{url}{product.key}.html")).text
                form = dict(re.findall(r'<input[^>]*name="(\w+)"[^>]*value="([^"]*)"', page))
                await client.post(re.findall(r'action="([^"]*checkout/cart/add[^"]*)"', page)[0], data=form)
                assert product.name in (await client.get(f"{url}checkout/cart/")).text
                await client.get(f"{url}customer/section/load/", headers={"accept": "application/json"})

        def held() -> dict[str, int]:
            values = {each.name: getattr(slot.session, each.name) for each in fields(Session)}
            return {name: len(value) for name, value in values.items() if hasattr(value, "__len__")}

        await look_around()
        few = held()
        for _ in range(4):
            await look_around()
        assert held() == few
        slot.session = None
    assert capsys.readouterr().out.count('"receipt"') >= 5


@pytest.mark.parametrize("kind", [Session, PrintingSession])
def test_a_page_that_scripts_draw_has_what_its_data_have_replaced(kind: type[Session], capsys) -> None:
    site = SiteMap.model_validate(
        {
            **{"name": "drawn", "drawn": True, "pages": {"product": {"css": "h1"}}},
            "roles": {"product.title": [{"css": "h1"}], "product.price": [{"css": ".price"}]},
            "data": [{"url": "/api/*", "items": "$.*", "link": "$.url", "roles": {"price": "$.price"}}],
        }
    )
    cheap = Treatment("cheap", "lamp", (SetPrice(Decimal(949)), StrikePrice()))
    session = kind(Plan((cheap,)), site, None)
    data = json.dumps([{"url": "/lamp", "price": 1299}]).encode()
    response = http.Response.make(200, data, {"content-type": "application/json"})
    treat(http.Request.make("GET", "http://shop.test/api/lamp"), response, session, PlaceMemory())
    number = "data-souk-number"
    page = f"<body {number}=1><h1 {number}=2>Lamp</h1><p class=price {number}=3>$949"
    sent = {"at": "/lamp", "came": "/lamp", "html": page, "replaced": ""} | dict.fromkeys(
        ("late", "undone", "spoilt"), False
    )
    answer = edited(sent, "http://shop.test/lamp", session)
    assert "$1,299" in json.dumps(answer["changes"])
    assert "treatment_failed" not in capsys.readouterr().out
    assert session.failures == []


CARD = '<li class="card"><a href="/lamp">Lamp</a> <b class="price">$7.00</b></li>'
CARDS = SiteMap.model_validate(
    {
        **{"name": "cards", "pages": {"product": {"css": "h1"}}},
        "roles": {
            **{"product.price": "p.price", "item": "li.card", "item.price": ".price"},
            "item.link": {"css": "a", "attribute": "href"},
        },
    }
)


@pytest.mark.parametrize("product", ["lamp", None])
async def test_what_scripts_fetch_is_edited_or_told(slot: Slot, client, product: str | None, capsys) -> None:
    other = CARD.replace('class="card"', 'class="card-tile"')
    answers: dict[str, tuple[str, str, str]] = {  # by path: type, body, and why it has no edit
        "/more": ("text/html", CARD, ""),
        "/api/more": ("application/json", json.dumps({"html": CARD}), ""),
        "/text": ("text/plain", json.dumps([CARD]), ""),
        "/tiles/1": ("text/html", other, "no card of the site map"),
        "/api/tiles/1": ("application/json", json.dumps({"html": other}), "no card of the site map"),
        "/stream": ("text/vnd.turbo-stream.html", f"<template>{CARD}</template>", "parts of pages in"),
        "/xml": ("text/xml", f"<update><![CDATA[{CARD}]]></update>", "parts of pages in text/xml"),
        "/js": ("text/javascript", f"$('#list').append('{CARD}')", "parts of pages in text/javascript"),
        "/events": ("text/event-stream", f"data: {CARD}\n\n", "in pieces (text/event-stream)"),
        "/none": ("application/json", '{"html": "<p>nothing of lamps"}', ""),
        "/whole": ("text/html", f"<!doctype html><title>Tiles</title>{other.replace('card', 't')}", ""),
        "/data": ("application/json", '{"url": "\\/lamp", "price": 7}', "it is data" if product else ""),
    }
    answers["/tiles/2"], answers["/api/tiles/23"] = answers["/tiles/1"], answers["/api/tiles/1"]
    plan = Plan((Treatment("cheap", product, (SetPrice(Decimal(5)),)),))
    sent = {path: Response(body, media_type=kind) for path, (kind, body, _) in answers.items()}
    async with pages(sent) as url:
        slot.session = PrintingSession(plan, CARDS, AllowList.of(url))
        came = {path: (await client.get(url + path[1:])).text for path in answers}
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    told = {
        urlsplit(each["untreated"]).path.partition(": ")[0]: each["untreated"]
        for each in lines
        if "untreated" in each
    }
    assert len(told) == sum("untreated" in each for each in lines)
    edited_ones = {"/more", "/api/more", "/text"}
    assert {path for path, text in came.items() if "$5.00" in text} == edited_ones
    assert all(text == answers[path][1] for path, text in came.items() if path not in edited_ones)
    assert sum("receipt" in each for each in lines) == len(edited_ones)
    wanted = {path: why for path, (_, _, why) in answers.items() if why}
    del wanted["/tiles/2"], wanted["/api/tiles/23"]  # told once for each kind of address
    assert told.keys() == wanted.keys()
    assert all(why in told[path] for path, why in wanted.items()), told
    assert slot.session.failures == []
