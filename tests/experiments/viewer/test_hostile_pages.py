"""What is recorded comes from strangers: in real Chromium it runs nothing and asks for nothing."""

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import Page, sync_playwright
from selectolax.lexbor import LexborHTMLParser

from environments.browser.pool import find_browser
from experiments.records.reading.notes import LONGEST_TAG, write_note
from experiments.records.reading.trial_search import Selection
from experiments.viewer.recorded_page import MOST_TAGS, frame, harmless, marked_source
from experiments.viewer.site import write_site
from interventions.apply.engine import EditFailed
from tests.experiments.viewer.made_run import (
    PAGE,
    RUN,
    record,
    sqlite,
    stored,
    trial,
    viewing,
    with_sent_page,
)

# ruff: noqa: E501
EVIL = "http://evil.example"
ATTACKS = (
    "<script>top.ran=1;fetch('{evil}/a')</script>",
    "<img src=x onerror=\"top.ran=1\"><img src='{evil}/b.png' srcset='{evil}/c.png 2x'>",
    "<svg onload=top.ran=1><script href='{evil}/d.js'/><image href='{evil}/e.png'/></svg>",
    "<iframe src='{evil}/f'></iframe><iframe srcdoc='<script>top.ran=1</script>'></iframe>",
    "<object data='{evil}/g'></object><embed src='{evil}/h'><video src='{evil}/i' autoplay poster='{evil}/j'>",
    "<link rel=stylesheet href='{evil}/k.css'><link rel=preconnect href='{evil}'><link rel=dns-prefetch href='{evil}'>",
    "<meta http-equiv=refresh content='0;url={evil}/l'><base href='{evil}/'>",
    "<style>@import '{evil}/m.css'; body {{ background: url({evil}/n) }}</style><p style='background:url({evil}/o)'>x",
    "<form action='{evil}/p' method=post><input name=q autofocus onfocus=top.ran=1><button>go</button></form>",
    "<a href='javascript:top.ran=1' ping='{evil}/q' target=_top>link</a><a href='{evil}/r' target=_blank>out</a>",
    "</iframe></body></html><script>window.ran=1</script><body onload=top.ran=1>",
    '"><script>window.ran=1</script>',
    "'\"></textarea></title></style></pre><img src=x onerror=window.ran=1>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=top.ran=1&gt;'>",
    "<noscript><p title='</noscript><img src=x onerror=top.ran=1>'>",
    "<template><script>top.ran=1</script></template><!--><script>top.ran=1</script>-->",
    '<script type=speculationrules>{{"prefetch":[{{"urls":["{evil}/s"]}}]}}</script>',
    "{{{{ 7*7 }}}}{{% raw %}}",
)


class Stranger(ThreadingHTTPServer):
    """The server of all names but those of this machine; it notes who so much as connects."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), BaseHTTPRequestHandler)
        self.connections = 0

    def get_request(self) -> Any:
        self.connections += 1
        return super().get_request()


@pytest.fixture(scope="module")
def stranger() -> Iterator[Stranger]:
    with Stranger() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def page(stranger: Stranger) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(playwright),
            args=[f"--host-resolver-rules=MAP evil.example 127.0.0.1:{stranger.server_port}"],
        )
        yield browser.new_page(viewport={"width": 1280, "height": 900})
        browser.close()


@pytest.mark.browser
def test_attacks_run_nothing_and_send_nothing(page: Page, stranger: Stranger, tmp_path: Path) -> None:
    attacks = [attack.format(evil=EVIL) for attack in ATTACKS]
    made = [
        record(trial(n, set=attack, agent=attack, nudge=attack), PAGE + attack, attack)
        for n, attack in enumerate(attacks)
    ]
    url = sqlite(tmp_path)
    told: list[str] = []
    page.on("dialog", lambda dialog: told.append(dialog.message))
    records = stored(url, made)
    for each, attack in zip(made, attacks, strict=True):
        write_note(records, RUN, each.trial.trial, attack.replace(",", "")[:LONGEST_TAG], attack)
    with viewing(records, url) as address:
        write_site(records, Selection(RUN), tmp_path / "site", lambda *_: None)
        root = f"{address}/runs/{RUN}"
        of_trials = [f"{root}/trials/{each.trial.trial}" for each in made]
        views = [f"{each}{more}" for each in of_trials for more in ("", "?view=source", "/twin")]
        screens = (f"{address}/", root, f"{root}/trials", f"{root}/trials?q=%3Cscript%3E", f"{root}/delete")
        for place in (*screens, *views):
            page.goto(place)
            for each in page.frames:
                assert each.evaluate("typeof ran") == "undefined", place
            assert len(page.frames) <= 2, place  # no frame of a stranger's
            if place in of_trials:
                inner = page.frames[-1]
                assert inner.url == "about:srcdoc"
                assert "A lamp" in inner.locator("body").inner_text()
                for link in inner.locator("a").all():
                    link.click()
                assert page.url == place
        for file in sorted((tmp_path / "site").rglob("*.html")):
            page.goto(file.as_uri())
            assert not [each for each in page.frames if each.evaluate("typeof ran") != "undefined"], file
        # The frame's sandbox and policy hold without what was taken out of the page, too.
        page.goto(of_trials[0])
        for attack in attacks:
            page.evaluate(
                "page => new Promise(done => { const frame = document.querySelector('iframe');"
                " frame.onload = done; frame.srcdoc = page; })",
                frame("").replace("<body>", "<body>" + attack),
            )
            assert page.evaluate("typeof ran") == "undefined", attack
        assert not told
        assert stranger.connections == 0
        page.goto(f"{EVIL}/")  # what is counted is what arrives
        assert stranger.connections > 0


@pytest.mark.thorough
@pytest.mark.browser
def test_attacks_in_what_the_shop_sent_run_and_send_nothing(
    page: Page, stranger: Stranger, tmp_path: Path
) -> None:
    made = []
    for number, attack in enumerate(ATTACKS):
        with suppress(EditFailed):  # then nobody was shown the page
            made.append(with_sent_page(record(trial(number)), attack.format(evil=EVIL)))
    assert len(made) > len(ATTACKS) / 2
    url, before = sqlite(tmp_path), stranger.connections
    page.set_viewport_size({"width": 1280, "height": 9_000})  # frames out of sight are not loaded
    with viewing(stored(url, made), url) as address:
        for each in made:
            page.goto(f"{address}/runs/{RUN}/trials/{each.trial.trial}", wait_until="networkidle")
            assert len(page.frames) == 4, "what was seen, sent and made of it, and no frame of a stranger's"
            for inner in page.frames:
                assert inner.evaluate("typeof ran") == "undefined"
            for inner in page.frames[2:]:
                assert inner.url == "about:srcdoc"
                assert "Quiet Harbor" in inner.locator("body").inner_text()
    assert stranger.connections == before


@pytest.fixture(scope="module")
def of_eight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the screens of a run with eight trials, in which long words were seen."""
    url = sqlite(tmp_path_factory.mktemp("eight"))
    made = [record(trial(number), text="W" * 200 + " ") for number in range(8)]
    with viewing(stored(url, made), url) as address:
        yield address


@pytest.mark.browser
def test_keys_lead_through_a_run(page: Page, of_eight: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(f"{of_eight}/runs/{RUN}/trials?condition=nudged")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{trial(3).trial}?condition=nudged")
    assert page.frame_locator("iframe").locator(".souk-acted").inner_text() == "Add to Cart"
    assert page.frame_locator("iframe").locator(".souk-edited").inner_text() == "Best of all lamps"
    page.keyboard.press("j")
    page.wait_for_url(f"**/{trial(5).trial}?condition=nudged")
    page.keyboard.press("d")
    page.wait_for_url(f"**/{trial(5).trial}/twin?condition=nudged")


def test_only_this_machine_is_answered(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    with viewing(stored(url, [record(trial(0))]), url) as address:
        port = urlsplit(address).port

        def status(method: str, headers: dict[str, str]) -> int:
            connection = HTTPConnection("127.0.0.1", port)
            connection.request(method, "/", headers=headers)
            answer = connection.getresponse()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
            connection.close()
            return answer.status

        for host in ("127.0.0.1", f"localhost:{port}", "LOCALHOST:9000", "[::1]:1"):
            assert status("GET", {"Host": host}) == 200, host
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "", "10.0.0.1:8090"):
            assert status("GET", {"Host": host}) == 421, host
        for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
            assert status(method, {}) == 405
        assert status("GET", {"Origin": "https://evil.example"}) == 403
        assert status("GET", {"Origin": "null"}) == 403
        assert status("GET", {"Origin": f"http://localhost:{port}"}) == 200
        assert status("GET", {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}) == 403


def test_what_was_not_kept_is_said(tmp_path: Path) -> None:
    url = sqlite(tmp_path)
    bare, light = record(trial(0)), record(trial(1))
    bare.steps.clear()
    light.steps[0]["observation"] = None
    with viewing(stored(url, [bare, light]), url) as address:

        def body(path: str) -> str:
            return httpx.get(f"{address}/runs/{path}", trust_env=False).text

        assert "No steps of this trial are stored" in body(f"{RUN}/trials/{bare.trial.trial}")
        assert "Pages were not kept" in body(f"{RUN}/trials/{light.trial.trial}")
        assert "has no trial" in body(f"{RUN}/trials/none")
        assert "in this database; runs: made" in body("none")
        assert "made-1" in body("made/trials"), "a run is found by its name too"


DANGEROUS = st.sampled_from(
    ["<script>", "</script>", "<img src=x onerror=1>", "<svg/onload=1>", "<style>", "-->", "<!--",
     "<a href='javascript:1'>"]
)  # fmt: skip
TAGS = {"script", "style", "link", "meta", "base", "iframe", "object", "embed", "svg", "math"}
ATTRIBUTES = {"href", "src", "action", "srcset", "style", "background", "ping"}


@given(
    st.lists(st.one_of(st.text(max_size=20), DANGEROUS), max_size=12).map("".join),
    st.lists(st.text(max_size=9), max_size=3),
)
def test_no_page_keeps_what_could_run_or_ask(text: str, edited: list[str]) -> None:
    tree = LexborHTMLParser(harmless(text, edited, "7"))
    for node in tree.css("*"):
        assert node.tag not in TAGS, text
        assert not {name for name in node.attributes if name.startswith("on") or name in ATTRIBUTES}, text
    source = LexborHTMLParser(f"<pre>.{marked_source(text, edited, '7')}</pre>")
    assert {node.tag for node in source.css("pre *")} <= {"mark"}


def test_a_page_that_would_take_long_is_not_rendered() -> None:
    assert "too large" in harmless("<div>" * (MOST_TAGS + 1))
    assert json.dumps(harmless("<div>" * 900 + "deep")).count("div") == 1_800
