"""Guests before shops that answer in awkward ways, and strangers at the door."""

import gzip
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from mitmproxy import http
from starlette.responses import JSONResponse

from environments.browser.pool import run_browsers
from interventions.apply.plan import Plan
from interventions.yaml.choice import Choice
from proxy.allow_list import AllowList
from proxy.guests import Guests
from proxy.server import run_proxy
from proxy.session import Session
from tests.proxy.upstream import PAGE, PLAN, SITE, message, upstream
from tests.support import Answer, pages


class Asked:
    """Notes what kinds of requests come to the testbed's own pages."""

    def __init__(self) -> None:
        self.kinds: set[str] = set()

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if "/.souk/" in flow.request.path:
            self.kinds.add(flow.request.headers.get("sec-fetch-dest", ""))


RULE = Choice.model_validate({"request": {"path": "/cart/(.+)", "refused_by": '"ok": ?false'}})
NEXT = "http://souk.test/.souk/next"
SHOP = SITE.model_copy(update={"choice": RULE})


@dataclass
class OneVisit:
    """A trial that nobody stores."""

    session: Session
    trial: str = "trial"
    goal: str = "Buy the best."
    urls: list[str] = field(default_factory=list)
    outcome: str = ""
    note: str = ""
    seen: int = 0

    def opened(self, url: str, *, shown: bool) -> None:
        self.seen += 1

    def asked(self, url: str, *, reads: bool, by_script: bool, by_page: bool) -> None:
        pass

    def reported(self, url: str, body: bytes) -> None:
        raise AssertionError(f"{url}: nothing was to be reported")

    def stopped(self) -> None:
        self.outcome = "no_choice"

    def chose(self) -> None:
        self.outcome = "choice"

    def gave_up(self) -> None:
        self.outcome = "no_choice"


@pytest.mark.parametrize("plan", [PLAN, Plan()], ids=["treated", "control"])
async def test_a_refusal_is_no_choice_whether_edits_are_planned_or_not(ca_dir: Path, plan: Plan) -> None:
    answers: dict[str, Answer] = {
        "/cart/1": JSONResponse({"ok": False}),
        "/cart/2": JSONResponse({"ok": True}),
    }
    async with pages(answers) as url:
        visit = OneVisit(Session(plan, SHOP, AllowList.of(url)))
        async with run_proxy(ca_dir, guests=Guests(lambda: visit, by_cookie=False)) as proxy:
            slot = await proxy.open_slot()
            async with httpx.AsyncClient(proxy=slot.url, trust_env=False, timeout=60) as client:
                await client.post(NEXT)
                refused = await client.post(url + "cart/1")
                assert (refused.json(), visit.outcome) == ({"ok": False}, "")
                accepted = await client.post(url + "cart/2")
                assert (accepted.json(), visit.outcome) == ({"ok": True}, "choice")


@pytest.mark.slow
async def test_a_bomb_is_not_unpacked_for_its_ids(ca_dir: Path) -> None:
    bomb = gzip.compress(PAGE.encode() + bytes(200_000_000), 1)
    async with upstream(message(bomb, "Content-Encoding: gzip")) as shop:
        visit = OneVisit(Session(Plan(), SHOP, AllowList.of(shop.url)))
        async with run_proxy(ca_dir, guests=Guests(lambda: visit, by_cookie=False)) as proxy:
            slot = await proxy.open_slot()
            async with httpx.AsyncClient(proxy=slot.url, trust_env=False, timeout=60) as client:
                await client.post(NEXT)
                async with client.stream("GET", shop.url + "about") as response:
                    received = b"".join([piece async for piece in response.aiter_raw()])
    assert received == bomb  # nothing was planned for it
    assert visit.outcome == ""


class Door:
    """Counts the trials that begin."""

    def __init__(self) -> None:
        self.begun: list[OneVisit] = []

    def welcome(self) -> OneVisit:
        self.begun.append(OneVisit(Session(PLAN, SHOP)))
        return self.begun[-1]


FRAME = {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}


@pytest.mark.parametrize(
    ("method", "headers", "status", "begun"),
    [
        ("POST", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 403, 0),
        ("POST", {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403, 0),
        ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403, 0),
        ("POST", {"origin": "http://127.0.0.1:7770"}, 403, 0),
        ("POST", {"origin": "null"}, 403, 0),
        ("POST", FRAME, 403, 0),
        ("GET", FRAME, 403, 0),
        ("GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200, 0),
        ("GET", {}, 200, 0),
        ("HEAD", {}, 200, 0),
        ("POST", {"sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate"}, 303, 1),
        ("POST", {"origin": "http://souk.test"}, 303, 1),
        ("POST", {}, 303, 1),
    ],
)
async def test_pages_of_other_sites_neither_begin_nor_end_trials(
    ca_dir: Path, method: str, headers: dict[str, str], status: int, begun: int
) -> None:
    door = Door()
    async with run_proxy(ca_dir, guests=Guests(door.welcome, by_cookie=False)) as proxy:
        slot = await proxy.open_slot()
        async with httpx.AsyncClient(proxy=slot.url, trust_env=False, timeout=60) as client:
            answer = await client.request(method, NEXT, headers=headers)
            assert (answer.status_code, len(door.begun)) == (status, begun)
            await client.post(NEXT)
            door.begun[-1].outcome = ""
            answer = await client.request(method, NEXT.replace("next", "end"), headers=headers)
    assert (answer.status_code, door.begun[-1].outcome) == (status, "no_choice" if begun else "")
    assert answer.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


@pytest.mark.slow
@pytest.mark.parametrize("reverse", [True, False])
async def test_only_the_proxys_own_names_lead_to_the_testbed(ca_dir: Path, reverse: bool) -> None:
    door = Door()
    async with (
        pages({"/": "the shop"}) as shop,
        run_proxy(ca_dir, guests=Guests(door.welcome, by_cookie=reverse)) as proxy,
        httpx.AsyncClient(trust_env=False, timeout=60) as client,
    ):
        slot = await proxy.open_slot(reverse=shop if reverse else None)
        for host in ("evil.example", "127.0.0.1.evil.example", "127.0.0.1", "localhost", "127.0.0.2"):
            for port in ("", f":{slot.port}", ":1"):
                if host in ("127.0.0.1", "localhost") and port == f":{slot.port}":
                    continue
                for method, path in (("POST", "next"), ("GET", ""), ("GET", "trial")):
                    answer = await client.request(
                        method, f"{slot.url}/.souk/{path}", headers={"host": host + port}
                    )
                    assert answer.status_code == 403
                    assert f"Open http://127.0.0.1:{slot.port}/.souk/ instead" in answer.text
        assert door.begun == []
        own = ("127.0.0.1", "LOCALHOST", "[::1]")
        for host in (*(f"{name}:{slot.port}" for name in own), "souk.test", "souk.test:443"):
            answer = await client.get(f"{slot.url}/.souk/", headers={"host": host})
            assert "<button>Begin</button>" in answer.text, host


STRANGER = """<!doctype html><title>Stranger</title><body><script>
const own = "OWN/.souk/", tried = [];
const attempt = (start) => tried.push(new Promise((resolve) => {
  try { start(resolve); } catch (error) { resolve(error); }
}));
const add = (tag, values, parent = document.body) => attempt((end) => {
  const element = Object.assign(document.createElement(tag), { onload: end, onerror: end }, values);
  parent.append(element);
});
const form = (method, action, target) => {
  const made = document.createElement("form");
  Object.assign(made, { method, action: own + action, target });
  document.body.append(made);
  made.submit();
};
for (const path of ["", "next", "trial"]) {
  add("iframe", { src: own + path });
  add("iframe", { src: own + path, sandbox: "allow-scripts allow-forms allow-top-navigation" });
  add("iframe", { src: own + path, credentialless: true });
  add("embed", { src: own + path, type: "text/html" });
  add("object", { data: own + path, type: "text/html" });
  add("img", { src: own + path });
  add("script", { src: own + path });
  add("link", { rel: "stylesheet", href: own + path });
  add("link", { rel: "prefetch", href: own + path });
  for (const mode of ["cors", "no-cors"]) {
    for (const method of ["GET", "POST"]) {
      for (const credentials of ["include", "omit"]) {
        attempt((end) => fetch(own + path, { mode, method, credentials }).then(end, end));
      }
    }
  }
  attempt((end) => { navigator.sendBeacon(own + path); end(); });
  for (const method of ["get", "post"]) {
    attempt((end) => {
      const frame = document.createElement("iframe");
      frame.name = `${method}-${path}`;
      document.body.append(frame);
      frame.onload = end;
      form(method, path, frame.name);
    });
  }
}
const inner = `<form method=post action="${own}next"></form><script>document.forms[0].submit()</` + "script>";
add("iframe", { srcdoc: inner, sandbox: "allow-scripts allow-forms" });
add("iframe", { srcdoc: inner });
const rules = document.createElement("script");
rules.type = "speculationrules";
rules.textContent = JSON.stringify({
  prefetch: [{ source: "list", urls: [own] }], prerender: [{ source: "list", urls: [own + "next"] }],
});
document.head.append(rules);
window.done = Promise.all(tried).then(() => tried.length);
</script><a href="OWN/.souk/next">take one</a>"""


@pytest.mark.browser
@pytest.mark.parametrize("reverse", [True, False], ids=["in the place of a shop", "a usual proxy"])
async def test_nothing_that_a_page_of_another_site_does_begins_a_trial(ca_dir: Path, reverse: bool) -> None:
    door, asked = Door(), Asked()
    async with (
        pages({"/": "the shop"}) as shop,
        run_proxy(ca_dir, guests=Guests(door.welcome, by_cookie=reverse)) as proxy,
        run_browsers() as browsers,
        browsers.context(None) as context,
    ):
        proxy._master.addons.add(asked)
        slot = await proxy.open_slot(reverse=shop if reverse else None)
        async with pages({"/": STRANGER.replace("OWN", slot.url)}) as stranger:
            # On another port of the same host, which cookies take for the same site, and on another host.
            for site in (stranger, stranger.replace("127.0.0.1", "localhost")):
                page = await context.new_page()
                await page.goto(site)
                assert await page.evaluate("done") > 60
                for way in ("window.open(own + 'next')", "form('post', 'next', '_blank')"):
                    async with context.expect_page() as opened:
                        await page.evaluate(way)
                    await (await opened.value).wait_for_load_state()
                await page.click("a")
                await page.wait_for_url("**/.souk/next")
                await page.goto(site)
                async with page.expect_navigation(url="**/.souk/next"):
                    await page.evaluate("form('post', 'next', '_self')")
        assert door.begun == []
        assert {"document", "iframe", "embed", "object", "image", "empty"} <= asked.kinds
        # The same browser, in the hands of somebody who means it.
        page = await context.new_page()
        await page.goto(f"{slot.url}/.souk/")
        await page.click("text=Begin")
        await page.wait_for_selector("text=Your task")
        assert len(door.begun) == 1
        await page.goto(f"{slot.url}/.souk/")
        await page.click("text=I want none of them")
        await page.wait_for_selector("text=This trial has ended")
    assert [visit.outcome for visit in door.begun] == ["no_choice"]


@pytest.mark.browser
async def test_a_name_that_is_made_to_lead_here_begins_no_trial(ca_dir: Path, monkeypatch) -> None:
    monkeypatch.setattr(
        "environments.browser.pool.FLAGS", ("--host-resolver-rules=MAP evil.example 127.0.0.1",)
    )
    door = Door()
    async with (
        pages({"/": "the shop"}) as shop,
        run_proxy(ca_dir, guests=Guests(door.welcome, by_cookie=True)) as proxy,
        run_browsers() as browsers,
        browsers.context(None) as context,
    ):
        slot = await proxy.open_slot(reverse=shop)
        page = await context.new_page()
        await page.goto(f"http://evil.example:{slot.port}/.souk/")
        assert "not the testbed's own" in await page.inner_text("body")
        tried = "fetch('/.souk/next', {method: 'POST'}).then((answer) => answer.status)"
        assert await page.evaluate(tried) == 403
    assert door.begun == []
