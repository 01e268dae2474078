"""What Chromium builds from a rewritten page is the original's document with the same edit made by script."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from playwright.sync_api import Page as Tab

from interventions.errors import CannotEdit
from interventions.html.marking import ALL_TAGS, marks_for
from interventions.html.markup import escape
from interventions.html.page import Page
from interventions.html.source_page import Unmarked
from tests.interventions.corpus import PAGES
from tests.support import figures_as

pytestmark = [pytest.mark.browser]

TEXT = "Best “seller” — 1 < 2 & more"
VALUE = 'it\'s "1 & 2" — <b>é'
DATA = '{"name":"\\u003c/script>"}'
MARKUP = f'<span class="new" style="display:block">{TEXT.replace("&", "&amp;").replace("<", "&lt;")}</span>'

# Each operation by script, in a copy of the original's document.
SCRIPTS = {
    "before": "target.insertAdjacentHTML('beforebegin', markup)",
    "after": "target.insertAdjacentHTML('afterend', markup)",
    "prepend": "target.insertAdjacentHTML('afterbegin', markup)",
    "append": "target.insertAdjacentHTML('beforeend', markup)",
    "remove": "target.remove()",
    "set_text": "target.textContent = text",
    "figure": "each(price, (node) => { node.data = node.data.replace('12.50', '1,999.00') })",
    "amount": "price.setAttribute('data-amount', '1999')",
    "attribute": "price.setAttribute('data-x', value)",
    "attributes": "price.setAttribute('data-x', ''); price.setAttribute('title', text)",
    "words": "each(target, (node) => { node.data = node.data.replaceAll('Harbor', 'Bay & <Sea>')"
    ".replace(/Oat[ \\t\\n\\f\\r]+Cookies/g, '') })",
    "title": "{const title = copy.querySelector('title'); if (title) title.textContent = text}",
    "data": "{const script = copy.querySelector('script#data'); if (script) script.textContent = data}",
    "arrange": "arrange()",
    "arrange_edited": "cards.forEach((card, n) => {"
    " card.querySelector('b').textContent = text; if (n % 2) card.insertAdjacentHTML('beforeend', markup)});"
    " cards.at(-1)?.setAttribute('title', value); arrange()",
    "arrange_removed": "arrange(); cards[0]?.remove()",
}

# What is tried, several operations at a time; other operations on the pages that were made for them.
TRIED = "before+attribute+title after+figure+data prepend+words append+amount remove set_text"
TRIED_ON = {
    "cards": "before+arrange after+arrange_edited arrange_removed+remove set_text",
    "attribute": "attribute attributes",
    "words": "words",
    "title": "title after",
    "large": "after+arrange_edited",
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
    # Too deep for Chromium to show it there:
    "deep": "before after prepend append remove set_text figure amount attribute words",
    "in-svg": "before after prepend append remove set_text",
    "void-target": "prepend append set_text",
    # The cards are not pieces of source that mean the same wherever they stand:
    "cards-nested": "arrange arrange_edited arrange_removed",
    "cards-unclosed": "arrange arrange_edited arrange_removed",
    "cards-some-unclosed": "arrange arrange_edited arrange_removed",
    "cards-misnested": "arrange arrange_edited arrange_removed",
    "cards-open-formatting": "before after set_text arrange arrange_edited arrange_removed",
    "cards-stray-end": "arrange arrange_edited arrange_removed",
    "cards-in-anchors": "before after set_text arrange arrange_edited arrange_removed",
    "cards-in-custom-elements": "arrange arrange_edited arrange_removed",
    "cards-in-bodies": "arrange arrange_edited arrange_removed",
    "cards-in-unclosed-cells": "arrange arrange_edited arrange_removed",
    "cards-in-paragraphs": "arrange arrange_edited arrange_removed",
    "cards-end-page": "arrange arrange_edited arrange_removed",
    # White space goes elsewhere when the first one is gone, and nothing but cells can stand in a row:
    "cards-in-rows": "arrange_edited",
    "cards-in-rows-without-tbody": "arrange_edited arrange_removed",
    "cards-in-definitions": "arrange_removed",
}


def cards(page: Page) -> list[object]:
    found = page.find(".card")
    return [card for card in found if card.parent == found[0].parent]


def arrange(page: Page) -> None:
    if found := cards(page):
        page.arrange(found, found[2:] + found[1::-1])


def arrange_edited(page: Page, markup: bytes) -> None:
    for number, card in enumerate(found := cards(page)):
        page.set_text(page.find("b", card)[0], TEXT)
        if number % 2:
            page.insert(card, "append", markup)
    if found:
        page.set_attribute(found[-1], "title", VALUE)
    arrange(page)


def arrange_removed(page: Page) -> None:
    found = cards(page)
    arrange(page)
    if found:
        page.remove(found[0])


def operate(page: Page, operation: str) -> None:
    target, price = page.find("#target")[0], page.find("#price")[0]
    markup = b'<span class="new" style="display:block">' + escape(TEXT, page.output) + b"</span>"
    match operation:
        case "before" | "after" | "prepend" | "append":
            page.insert(target, operation, markup)
        case "remove":
            page.remove(target)
        case "set_text":
            page.set_text(target, TEXT)
        case "figure":
            assert page.replace(price, None, figures_as("1,999.00"))
        case "amount":
            assert page.replace(price, "data-amount", figures_as("1999"))
        case "attribute":
            page.set_attribute(price, "data-x", VALUE)
        case "attributes":
            page.set_attribute(price, "data-x", "")
            page.set_attribute(price, "title", TEXT)
        case "words":
            page.replace_text(target, "Harbor", "Bay & <Sea>")
            page.replace_text(target, "Oat Cookies", "")
        case "title":
            for node in page.find("title")[:1]:
                page.set_text(node, TEXT)
        case "data":
            for node in page.find("script#data"):
                page.set_data(node, DATA)
        case "arrange":
            arrange(page)
        case "arrange_edited":
            arrange_edited(page, markup)
        case "arrange_removed":
            arrange_removed(page)


def edit(name: str, operations: str) -> bytes:
    """The page of the corpus after operations that are joined by `+`. Raises CannotEdit."""
    roles = ["[id=target]", "[id=price]", "[class~=card]", "b", "title", "script"]
    for marks in (marks_for(roles), ALL_TAGS):
        page = Page(PAGES[name][1], PAGES[name][0], marks)
        try:
            for operation in operations.split("+"):
                operate(page, operation)
            return page.finish()
        except Unmarked:
            continue
    raise AssertionError("the target was not found in the source")


class Handler(BaseHTTPRequestHandler):
    """`/NAME/` is a page of the corpus, `/NAME/OPERATIONS` the edited page."""

    def do_GET(self) -> None:
        name, _, operations = self.path[1:].partition("/")
        content_type, body = PAGES.get(name, ("text/plain", b""))
        if operations:
            body = edit(name, operations)
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module", autouse=True)
def origin(tab: Tab) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    tab.goto(f"http://127.0.0.1:{server.server_port}")
    yield
    server.shutdown()
    server.server_close()


# Each page is loaded in a frame of its own; the script edits a copy of the original's document.
COMPARE = """async ([name, scripts, markup, text, value, data]) => {
  const load = (path) => new Promise((done) => {
    const frame = document.createElement('iframe');
    frame.onload = () => done(frame.contentDocument);
    frame.src = path;
    document.body.append(frame);
  });
  // Copies on both sides: a document without a window writes <noscript> in another way.
  const dom = (loaded) => {
    const root = loaded.cloneNode(true).documentElement;
    // The order of attributes means nothing.
    for (const name of ['title', 'data-x']) for (const element of root.querySelectorAll(`[${name}]`)) {
      const value = element.getAttribute(name);
      element.removeAttribute(name);
      element.setAttribute(name, value);
    }
    return loaded.compatMode + root.outerHTML;
  };
  const each = (root, change) => {
    const walk = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (!walk.currentNode.parentNode.matches('script, style, textarea'))
      change(walk.currentNode);
  };
  const paths = ['', ...Object.keys(scripts)].map((operation) => `/${name}/${operation}`);
  const [original, ...edited] = await Promise.all(paths.map(load));
  const result = {};
  Object.entries(scripts).forEach(([operation, script], index) => {
    const copy = original.cloneNode(true);
    const [target, price] = ['target', 'price'].map((id) => copy.getElementById(id));
    const found = [...copy.querySelectorAll('.card')];
    const cards = found.filter((card) => card.parentNode === found[0].parentNode);
    const arrange = () => {
      const places = cards.map((card) => card.replaceWith(card.place = copy.createComment('')) ?? card.place);
      [...cards.slice(2), ...cards.slice(0, 2).reverse()].forEach((card, n) => places[n].replaceWith(card));
    };
    eval(script);
    const [rewritten, scripted] = [dom(edited[index]), dom(copy)];
    if (rewritten === scripted) return;
    const start = [...scripted].findIndex((char, at) => char !== rewritten[at]);
    result[operation] = [rewritten, scripted].map((text) => text.slice(Math.max(0, start - 50), start + 200));
  });
  document.body.replaceChildren();
  return result;
}"""


def tried(name: str) -> list[str]:
    return TRIED_ON.get(name.partition("-")[0], TRIED).split()


@pytest.mark.parametrize("name", PAGES)
def test_the_rewritten_page_is_the_page_edited_by_script(name: str, tab: Tab) -> None:
    refused = REFUSED.get(name, "").split()
    for operation in refused:
        with pytest.raises(CannotEdit):
            edit(name, operation)
    scripts = {}
    for combination in tried(name):
        operations = [each for each in combination.split("+") if each not in refused]
        if operations:
            scripts["+".join(operations)] = ";".join(SCRIPTS[operation] for operation in operations)
    assert tab.evaluate(COMPARE, [name, scripts, MARKUP, TEXT, VALUE, DATA]) == {}
