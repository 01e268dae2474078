"""What Chromium builds from a rewritten page is the original's document with the same edit made by script."""

import os
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import sync_playwright

from interventions.marking import ALL_TAGS, literals
from interventions.markup import escape
from interventions.errors import CannotEdit
from interventions.page import Page, Unmarked
from tests.interventions.corpus import PAGES

TEXT = "Best “seller” — 1 < 2 & more"
MARKUP = f'<span class="new" style="display:block">{TEXT.replace("&", "&amp;").replace("<", "&lt;")}</span>'

SCRIPTS = {
    "before": "target.insertAdjacentHTML('beforebegin', markup)",
    "after": "target.insertAdjacentHTML('afterend', markup)",
    "prepend": "target.insertAdjacentHTML('afterbegin', markup)",
    "append": "target.insertAdjacentHTML('beforeend', markup)",
    "remove": "target.remove()",
    "set_text": "target.textContent = text",
    "figure": "{const walk = copy.createTreeWalker(price, 4); while (walk.nextNode())"
    " walk.currentNode.data = walk.currentNode.data.replace('12.50', '1,999.00')}",
    "attribute": "price.setAttribute('data-amount', '1999')",
}

# What cannot be done by a splice, and has to be refused; whatever is not named here has to succeed.
REFUSED = {
    "in-pre": "prepend",  # the dropped line break would come back
    "no-head": "remove",  # white space at the start of a body is dropped
    "carriage-returns": "remove",  # what stood on both sides would become one line break
    # Closed only by the target's start tag:
    "attributes": "before remove",
    "unquoted": "before remove",
    "unclosed-paragraphs": "before remove",
    "unclosed-target": "before",
    "math": "before remove",
    # Nothing but cells and rows can stand there:
    "unclosed-cells": "before after",
    "target-is-row": "before after prepend append set_text",
    # In the reach of formatting that was left open:
    "open-formatting": "before after prepend append set_text",
    "leaking-formatting": "after append remove set_text",
    "broken-anchor": "before prepend remove set_text",
    "in-svg": "before after prepend append remove set_text",
    "void-target": "prepend append set_text",
}


def edit(name: str, operation: str) -> bytes:
    """The page of the corpus, edited. Raises CannotEdit."""
    for marked in (literals(["[id=target]", "[id=price]"]), ALL_TAGS):
        page = Page(PAGES[name][1], PAGES[name][0], marked)
        target, price = page.find("#target")[0], page.find("#price")[0]
        markup = b'<span class="new" style="display:block">' + escape(TEXT, page.output) + b"</span>"
        try:
            match operation:
                case "figure":
                    assert page.replace(price, None, lambda old: "1,999.00")
                case "attribute":
                    assert page.replace(price, "data-amount", lambda old: "1999")
                case "remove":
                    page.remove(target)
                case "set_text":
                    page.set_text(target, TEXT)
                case "before" | "after" | "prepend" | "append":
                    page.insert(target, operation, markup)
            return page.finish()
        except Unmarked:
            continue
    raise AssertionError("the target was not found in the source")


class Handler(BaseHTTPRequestHandler):
    """`/NAME/` is a page of the corpus, `/NAME/OPERATION` the edited page."""

    def do_GET(self) -> None:
        name, _, operation = self.path[1:].partition("/")
        content_type, body = PAGES.get(name, ("text/plain", b""))
        if operation:
            body = edit(name, operation)
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=executable, args=sandbox)
        yield browser.new_page()
        browser.close()


# Each page is loaded in a frame of its own; the script edits a copy of the original's document.
COMPARE = """async ([name, scripts, markup, text]) => {
  const load = (path) => new Promise((done) => {
    const frame = document.createElement('iframe');
    frame.onload = () => done(frame.contentDocument);
    frame.src = path;
    document.body.append(frame);
  });
  // Copies on both sides: a document without a window writes <noscript> in another way.
  const dom = (loaded) => loaded.compatMode + loaded.cloneNode(true).documentElement.outerHTML;
  const paths = ['', ...Object.keys(scripts)].map((operation) => `/${name}/${operation}`);
  const [original, ...edited] = await Promise.all(paths.map(load));
  const result = {};
  Object.entries(scripts).forEach(([operation, script], index) => {
    const copy = original.cloneNode(true);
    const [target, price] = ['target', 'price'].map((id) => copy.getElementById(id));
    eval(script);
    result[operation] = [dom(edited[index]), dom(copy)];
  });
  document.body.replaceChildren();
  return result;
}"""


@pytest.mark.parametrize("name", PAGES)
def test_the_rewritten_page_is_the_page_edited_by_script(name: str, origin: str, tab: Tab) -> None:
    refused = REFUSED.get(name, "").split()
    for operation in refused:
        with pytest.raises(CannotEdit):
            edit(name, operation)
    tab.goto(origin)
    wanted = {operation: script for operation, script in SCRIPTS.items() if operation not in refused}
    for operation, (rewritten, scripted) in tab.evaluate(COMPARE, [name, wanted, MARKUP, TEXT]).items():
        assert rewritten == scripted, operation
