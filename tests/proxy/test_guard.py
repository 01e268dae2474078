"""The script in pages: it comes first, runs under any policy, and changes neither text nor mode of a page."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Page, async_playwright
from starlette.responses import Response

from environments.browser.pool import find_browser
from interventions.apply.plan import Plan
from proxy.allow_list import AllowList
from proxy.guests import Guests
from proxy.server import run_proxy
from proxy.session import Session
from tests.proxy.test_guests import NEXT, SHOP, OneVisit
from tests.support import pages, size

pytestmark = [pytest.mark.browser]

SCRIPT = "document.documentElement.dataset.first = document.scripts.length"
TEXT = "\u304a\u8cb7\u3044\u5f97"
LATIN = "caf\u00e9"


def html(label: str, text: str, *, prologue: str = "<!doctype html>") -> str:
    return (
        f'{prologue}<html lang="x"><head><meta charset="{label}"><title>{text}</title>'
        f"<script>window.own = 1</script></head><body><p>{text}</p></body></html>"
    )


XHTML = """<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">
<head><title>x &amp; y</title></head><body><p>x &amp; y</p></body></html>"""

PAGES: dict[str, tuple[Response, str, str]] = {
    "sjis": (Response(html("shift_jis", TEXT).encode("cp932"), media_type=None), TEXT, "CSS1Compat"),
    "latin": (Response(html("latin1", LATIN).encode("cp1252")), LATIN, "CSS1Compat"),
    "gbk": (Response(html("gbk", "\u5546\u5e97").encode("gbk")), "\u5546\u5e97", "CSS1Compat"),
    "bom": (Response(b"\xef\xbb\xbf" + html("latin1", TEXT).encode()), TEXT, "CSS1Compat"),
    "wide": (Response(b"\xff\xfe" + html("utf-8", TEXT).encode("utf-16-le")), TEXT, "CSS1Compat"),
    "quirks": (Response(html("utf-8", TEXT, prologue="").encode()), TEXT, "BackCompat"),
    "comment": (
        Response(html("utf-8", TEXT, prologue="<!-- <head> -->\n<!DOCTYPE html>").encode()),
        TEXT,
        "CSS1Compat",
    ),
    "policy": (Response(html("utf-8", TEXT).encode()), TEXT, "CSS1Compat"),
    "xhtml": (Response(XHTML, media_type="application/xhtml+xml"), "x & y", "CSS1Compat"),
}
for name, (response, _, _) in PAGES.items():
    if name != "xhtml":
        response.headers["content-type"] = "text/html"
PAGES["policy"][0].headers["content-security-policy"] = "default-src 'none'"


@asynccontextmanager
async def visiting(guests: Guests, ca_dir: Path) -> AsyncIterator[Page]:
    """A tab of a guest whose trial has begun."""
    async with run_proxy(ca_dir, guests=guests) as proxy, async_playwright() as playwright:
        slot = await proxy.open_slot()
        browser = await playwright.chromium.launch(
            executable_path=find_browser(playwright),
            args=["--no-sandbox"],
            proxy={"server": slot.url, "bypass": "<-loopback>"},
        )
        page = await browser.new_page()
        await page.request.post(NEXT)
        yield page
        await browser.close()


async def test_the_script_is_first_and_the_page_is_what_it_was(ca_dir: Path) -> None:
    async with pages({f"/{name}": page[0] for name, page in PAGES.items()}) as url:
        visit = OneVisit(Session(Plan(), SHOP, AllowList.of(url), script=SCRIPT))
        guests = Guests(lambda: visit, by_cookie=False)
        async with visiting(guests, ca_dir) as page:
            for name, (_, text, mode) in PAGES.items():
                await page.goto(f"{url}{name}")
                assert await page.inner_text("p") == text, name
                assert await page.title() == text, name
                assert await page.evaluate("document.compatMode") == mode, name
                assert await page.evaluate("document.documentElement.dataset.first") == "1", name
                own = await page.evaluate("window.own ?? 0")
                assert own == int(name not in ("policy", "xhtml")), name
                if name != "xhtml":
                    assert await page.get_attribute("html", "lang") == "x", name
    assert visit.seen == len(PAGES)


THEIRS = "<script>self.first ??= 'theirs'</script>"
BEGINNINGS = (
    *("<!--", "-->", "--!>", "<!-->", "<!--->", "--", "<?", "?>", "<![CDATA[", "]]>", " ", "\n", THEIRS),
    *("<!doctype html>", "<!DOCTYPE", ">", "]>", "<!DOCTYPE html [<!ENTITY x '", "&x;", "\x1b$B", "\x1b(B"),
    *("<html>", "<head>", '<html a="', '<html xmlns="http://www.w3.org/1999/xhtml">'),
)
KINDS = ("text/html", "text/html; charset=iso-2022-jp", "application/xhtml+xml")
BODY = "<body><p>x</p></body></html>"


def beginning(chance: random.Random) -> str:
    """What confuses a reader of pages, and then a page with a script of its own."""
    parts = [chance.choice(BEGINNINGS) for _ in range(chance.randint(1, 6))]
    return "".join([*parts, THEIRS, "-->" * chance.randint(0, 1)])


async def test_no_page_runs_its_own_script_before(ca_dir: Path) -> None:
    chance, found = random.Random(3), dict[str, Response]()
    whole = '<html xmlns="http://www.w3.org/1999/xhtml"><head></head>'
    for number in range(size(150, 3_000)):
        kind = KINDS[number % len(KINDS)]
        text = f"{beginning(chance)}{whole * (number % 2)}{BODY}"
        found[f"/{number}"] = Response(text.encode(), headers={"content-type": kind})
    async with pages(found) as url:
        visit = OneVisit(Session(Plan(), SHOP, AllowList.of(url), script="self.first ??= 'ours'"))
        guests = Guests(lambda: visit, by_cookie=False)
        async with visiting(guests, ca_dir) as page:
            for path, response in found.items():
                shown = await page.goto(f"{url.rstrip('/')}{path}")
                assert shown
                first = await page.evaluate("self.first ?? null")
                # A page in XML that is not well-formed may run nothing, or is not shown.
                excused = "xml" in response.headers["content-type"] and (shown.status == 502 or not first)
                assert first == "ours" or excused, response.body


OBSERVER = "self.observes = true; document.currentScript.remove()"
OBSERVED = "document.documentElement.dataset.first = String(self.observes); delete self.observes"
POLICIES = (
    "",
    "default-src 'none'",
    "script-src 'none'",
    "script-src 'self'",
    "script-src 'unsafe-inline'",
    "script-src https://cdn.test 'unsafe-inline'",
    "script-src 'self' 'unsafe-inline'; object-src 'none'",
    "default-src 'self' 'unsafe-inline'",
    "script-src 'nonce-x' 'strict-dynamic'",
    "script-src 'strict-dynamic' 'unsafe-inline' https:",
    "script-src-elem https://cdn.test; script-src 'unsafe-inline'",
    "script-src 'self', default-src 'none'",
)
ASKING = """<!doctype html><p>x</p><script>self.inline = 1</script><script nonce="x">self.named = 1</script>
<script src="/own.js"></script><script src="/elsewhere/own.js"></script>"""
RAN = "[self.inline, self.named, self.own].map(Number).join()"


@pytest.mark.thorough
async def test_the_observer_is_loaded_once_under_any_policy_and_no_other_script_is_allowed(ca_dir) -> None:
    """What else runs in a page is compared with the same page without the proxy."""
    answers: dict[str, Response] = {
        f"/{number}": Response(
            ASKING, media_type="text/html", headers={"content-security-policy": policy} if policy else {}
        )
        for number, policy in enumerate(POLICIES)
    }
    own = Response("self.own = (self.own ?? 0) + 1", media_type="text/javascript")
    async with pages({**answers, "/own.js": own, "/elsewhere/own.js": own}) as url:
        session = Session(Plan(), SHOP, AllowList.of(url), script=OBSERVED, observer=OBSERVER)
        async with run_proxy(ca_dir) as proxy, async_playwright() as playwright:
            slot = await proxy.open_slot()
            slot.session = session
            browser = await playwright.chromium.launch(
                executable_path=find_browser(playwright), args=["--no-sandbox"]
            )
            plain = await browser.new_page()
            guest = await browser.new_page(proxy={"server": slot.url, "bypass": "<-loopback>"})
            asked: set[str] = set()
            cdp = await guest.context.new_cdp_session(guest)
            await cdp.send("Network.enable")
            cdp.on(
                "Network.requestWillBeSent",
                lambda told: "/.souk-" in told["request"]["url"] and asked.add(told["requestId"]),
            )
            cdp.on("Network.requestServedFromCache", lambda told: asked.discard(told["requestId"]))
            for number, policy in enumerate(POLICIES):
                await plain.goto(f"{url}{number}")
                await guest.goto(f"{url}{number}")
                assert await guest.evaluate("document.documentElement.dataset.first") == "true", policy
                assert await guest.evaluate(RAN) == await plain.evaluate(RAN), policy
            await browser.close()
    assert len(asked) == 1
    assert not session.failures


@pytest.mark.parametrize("accepted", ["", "identity", "gzip", "gzip;q=0, br", "gzip, deflate, br", "zstd"])
async def test_the_observer_is_packed_as_the_guest_accepts_it(accepted: str, ca_dir: Path) -> None:
    async with pages({"/": "<!doctype html><p>x"}) as url, run_proxy(ca_dir) as proxy:
        slot = await proxy.open_slot()
        slot.session = Session(Plan(), SHOP, AllowList.of(url), script=OBSERVED, observer=OBSERVER)
        async with httpx.AsyncClient(proxy=slot.url, trust_env=False) as client:
            page = (await client.get(url, headers={"accept-encoding": accepted})).text
            path = page.partition('src="')[2].partition('"')[0]
            script = await client.get(url + path[1:], headers={"accept-encoding": accepted})
            assert script.text == OBSERVER
            assert script.headers.get("content-encoding", "identity") in f"identity, {accepted}"
