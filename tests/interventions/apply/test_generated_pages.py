"""Pages made at random, edited at random: refused, or what Chromium builds is the page edited by script."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page as Tab
from selectolax.lexbor import LexborNode

from interventions.errors import CannotEdit
from interventions.html.marking import ALL_TAGS
from interventions.html.page import Page
from interventions.html.source_page import Unmarked
from tests.support import figures_as, size

pytestmark = [pytest.mark.browser]

# fmt: off
BLOCKS = ["div", "div", "section", "ul", "ol", "li", "li", "p", "h2", "form", "main", "article", "pre"]
INLINE = ["span", "span", "b", "i", "a", "em", "strong", "button", "label", "font", "nobr", "shop-price"]
TABLES = ["table", "tbody", "tr", "td", "td", "th", "caption", "dl", "dt", "dd"]
OTHERS = ["img", "br", "input", "hr", "wbr", "textarea", "template", "details", "picture", "svg", "noscript"]
TEXTS = [
    "text", " ", "\n", "Oat ", "price $12.50 ", "&amp;", "1 < 2", "é — €", "&nbsp;", "Oat", "\n  ", "&#79;at",
]
PIECES = [
    "<!-- c -->", "<!-- <li> -->", "<!-->", "<script>var a = '<li id=x>' + 1</script>", "<style>a{}</style>",
    "</p>", "</b>", "</li>", "</div>", "</span>", "<br/>", "</br>", "<b>", "<i>", "<a href=x/>", "<p>",
    "<li>", "<td>", "<tr>", "<?x>", "<img src='a>b'>", "</td>", "</table>", "</h2>", "<input value=</div>>",
]
ATTRIBUTES = [
    "", "", "", " class='card'", ' title="a > b"', " data-x", " data-x=a", " data-x='&quot;'", ' data-x="a"b',
    " data-x=", " DATA-X=a data-x=b", " hidden/", " href=/a/", "\n title\n=\n'x'",
]
# fmt: on
KINDS = [
    *("prepend", "set_text", "after", "append", "before", "remove", "set_attribute"),
    *("replace", "replace_text", "arrange"),
]


@dataclass(frozen=True)
class Operation:
    """An edit of the element `#eN`."""

    kind: str
    number: int

    @property
    def markup(self) -> str:
        return f'<span class="new">{self.kind} {self.number} &amp; é</span>'


@st.composite
def elements(draw: st.DrawFn, content: st.SearchStrategy[str]) -> str:
    name = draw(st.sampled_from(draw(st.sampled_from([BLOCKS, BLOCKS, INLINE, INLINE, TABLES, OTHERS]))))
    start = f"<{name} id=@{draw(st.sampled_from(ATTRIBUTES))}>"
    # One in eight is never closed.
    end = f"</{name}>" if draw(st.integers(0, 7)) else ""
    if name in ("img", "br", "input", "hr", "wbr"):
        return start
    return start + draw(content) + end


@st.composite
def lists(draw: st.DrawFn, content: st.SearchStrategy[str]) -> str:
    around, name = draw(
        st.sampled_from(
            [("ul", "li"), ("div", "div"), ("table", "tr"), ("tr", "td"), ("p", "span"), ("dl", "dd")]
        )
    )
    between = draw(st.sampled_from(["", "\n", "<!-- -->", " text "]))
    end = draw(st.sampled_from([f"</{name}>"] * 5 + [""]))
    items = draw(st.lists(content, min_size=2, max_size=4))
    return f"<{around} id=@>" + between.join(f"<{name} id=@>{item}{end}" for item in items) + f"</{around}>"


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(parts, max_size=4).map("".join)


LEAVES = st.one_of(st.sampled_from(TEXTS), st.sampled_from(TEXTS), st.sampled_from(PIECES))
CONTENT = st.recursive(
    LEAVES,
    lambda inner: st.one_of(elements(joined(inner)), elements(joined(inner)), lists(joined(inner)), LEAVES),
    max_leaves=16,
)


@st.composite
def pages(draw: st.DrawFn) -> str:
    head = "<!doctype html><html><head><meta charset=utf-8><title id=@>Oat</title></head><body>"
    head = draw(st.sampled_from([head] * 6 + ["<!doctype html>", "<title id=@>x</title>", ""]))
    body = "".join(draw(st.lists(CONTENT, min_size=1, max_size=5)))
    tail = draw(st.sampled_from(["</body></html>\n", ""]))
    numbers = iter(range(1000))
    return re.sub("@", lambda _: f"e{next(numbers)} ", head + body + tail)


OPERATIONS = st.lists(
    st.builds(Operation, st.sampled_from(KINDS), st.integers(0, 30)), min_size=1, max_size=4, unique=True
)


def edited(source: str, wanted: list[Operation]) -> tuple[str, list[Operation]] | None:
    """The page with those of the operations that have a target; None when they are refused."""
    page, done = Page(source.encode(), "text/html; charset=utf-8", ALL_TAGS), []
    number_of_elements = source.count(" id=e") or 1
    overwritten: set[int] = set()
    try:
        # Of several insertions at one place the outer ones come last, as they would by script.
        for each in sorted(wanted, key=lambda operation: KINDS.index(operation.kind)):
            operation = Operation(each.kind, each.number % number_of_elements)
            found = page.find(f"#e{operation.number}")
            if len(found) != 1 or operation in done or any(a.mem_id in overwritten for a in above(found[0])):
                continue
            if operate(page, found[0], operation):
                done.append(operation)
                overwritten |= {found[0].mem_id} if operation.kind == "set_text" else set()
        return page.finish().decode(), done
    except (CannotEdit, Unmarked):
        return None


def above(node: LexborNode) -> Iterator[LexborNode]:
    while (node := node.parent) is not None:
        yield node


def alike(node: LexborNode) -> list[LexborNode]:
    """The children that have the name of the first one that has a namesake."""
    children = list(node.iter())
    names = [child.tag for child in children]
    return [child for child in children if child.tag == next((n for n in names if names.count(n) > 1), "")]


def operate(page: Page, node: LexborNode, operation: Operation) -> bool:
    match operation.kind:
        case "remove":
            page.remove(node)
        case "set_text":
            page.set_text(node, "new & <text>")
        case "set_attribute":
            page.set_attribute(node, "data-x", "new & \"'value<>")
        case "replace":
            return page.replace(node, None, figures_as("1,999.00")) is not None
        case "replace_text":
            return page.replace_text(node, "Oat", "R&<ye>") is not None
        case "arrange":
            cards = alike(node)
            if len(cards) < 2:
                return False
            page.arrange(cards, cards[1:] + cards[:1])
        case kind:
            page.insert(node, kind, operation.markup.encode())
    return True


COMPARE = """([source, rewritten, operations]) => {
  const read = (text) => {
    const frame = document.createElement('iframe');
    document.body.append(frame);
    const loaded = frame.contentDocument;
    loaded.open();
    loaded.write(text);
    loaded.close();
    const copy = loaded.cloneNode(true);
    frame.remove();
    return copy;
  };
  const raw = 'script, style, textarea, title, noscript';
  const texts = (root, change) => {
    const walk = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (!walk.currentNode.parentNode.matches(raw)) change(walk.currentNode);
  };
  const dom = (read) => {
    for (const element of read.querySelectorAll('[data-x]')) {
      const value = element.getAttribute('data-x');
      element.removeAttribute('data-x');
      element.setAttribute('data-x', value);
    }
    return read.documentElement.outerHTML;
  };
  const copy = read(source);
  const target = ({number}) => copy.getElementById(`e${number}`);
  const wanted = operations.map((operation) => [operation, target(operation)]);
  const each = (kind, change) => {
    for (const [operation, node] of wanted) if (operation.kind === kind) change(node, operation);
  };
  const reword = (root, old, text) => texts(root, (node) => { node.data = node.data.replaceAll(old, text) });
  each('replace', (node) => reword(node, '12.50', '1,999.00'));
  each('replace_text', (node) => reword(node, 'Oat', 'R&<ye>'));
  each('set_attribute', (node) => node.setAttribute('data-x', 'new & "\\'value<>'));
  each('set_text', (node) => { node.textContent = 'new & <text>' });
  each('prepend', (node, {markup}) => node.insertAdjacentHTML('afterbegin', markup));
  each('after', (node, {markup}) => node.insertAdjacentHTML('afterend', markup));
  each('append', (node, {markup}) => node.insertAdjacentHTML('beforeend', markup));
  each('before', (node, {markup}) => node.insertAdjacentHTML('beforebegin', markup));
  each('arrange', (node) => {
    const names = [...node.children].map((child) => child.localName);
    const name = names.find((name) => names.indexOf(name) !== names.lastIndexOf(name));
    const cards = [...node.children].filter((child) => child.localName === name);
    const places = cards.map((card) => card.replaceWith(card.place = copy.createComment('')) ?? card.place);
    [...cards.slice(1), cards[0]].forEach((card, n) => places[n].replaceWith(card));
  });
  each('remove', (node) => node.remove());
  return [dom(read(rewritten)), dom(copy)];
}"""


def comparison(tab: Tab, source: str, wanted: list[Operation]) -> tuple[str, str] | None:
    """What Chromium makes of the rewritten page, and the page edited by script; None when refused."""
    found = edited(source, wanted)
    if found is None or not found[1]:
        return None
    rewritten, done = found
    operations = [{"kind": each.kind, "number": each.number, "markup": each.markup} for each in done]
    first, second = tab.evaluate(COMPARE, [source, rewritten, operations])
    return first, second


@settings(max_examples=size(40, 200))
@given(pages(), OPERATIONS)
def test_edits_of_generated_pages_are_right_or_refused(
    tab: Tab, source: str, wanted: list[Operation]
) -> None:
    compared = comparison(tab, source, wanted)
    if compared:
        assert compared[0] == compared[1]
