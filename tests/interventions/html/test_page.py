"""Edits of one page: the spliced bytes have to parse to the tree in which the same edit was made."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode

from interventions.errors import CannotEdit
from interventions.html.marking import ALL_TAGS
from interventions.html.page import Page
from interventions.html.source_page import TargetNotMarked
from tests.support import figures_as, size

MARKUP = b'<span class="new">new &amp; text</span>'
PLACES = ("before", "after", "prepend", "append")

# fmt: off
NAMES = [
    "a", "b", "i", "p", "div", "span", "ul", "li", "dl", "dd", "table", "tr", "td", "th", "tbody", "caption",
    "select", "option", "button", "form", "h1", "h2", "pre", "textarea", "script", "style", "title", "svg",
    "desc", "path", "math", "mi", "template", "noscript", "nobr", "font", "center", "br", "img", "input",
    "hr", "body", "head", "em", "strong",
]
PIECES = [
    "text", " ", "\n", "&amp;", "1 < 2", "<!-- c -->", "<!-->", "<![CDATA[x]]>", "<a href=x/>", "<div/>",
    "<p title='<div id=t>'>", "<svg/>", "<br/>", '<INPUT value="a>b">', "</p x>", "<td a=b a=c>", "<?x>",
]
# fmt: on
SOUP = st.lists(
    st.one_of(
        st.sampled_from(NAMES).map(lambda name: f"<{name}>"),
        st.sampled_from(NAMES).map(lambda name: f"</{name}>"),
        st.sampled_from(PIECES),
    ),
    max_size=12,
).map("".join)
TARGETS = st.sampled_from(
    [
        "<{0} id=t>{1}</{0}>",
        "<{0} class='x y' id=\"t\">{1}</{0}>",
        "<{0} id=t>{1}",
        "<B><{0} id=t></b>{1}</{0}>",
        "<{0} id=t>text</{0}>",
        "<{0} id=t>text {1}</{0}> text",
        "<div><{0} id=t>{1}</{0}> </div>",
    ]
)
# Half of the time an element as titles and prices are.
TARGET_NAMES = st.one_of(st.sampled_from(["div", "span", "h1", "strong", "td", "p"]), st.sampled_from(NAMES))


def open_page(source: str) -> Page:
    return Page(source.encode(), "text/html; charset=utf-8", ALL_TAGS)


def edit(page: Page, node: LexborNode, kind: str) -> bool:
    match kind:
        case "remove":
            page.remove(node)
        case "set_text":
            page.set_text(node, "new <text>")
        case "figure":
            return "$12.50" in (node.text() or "") and bool(page.replace(node, None, figures_as("99")))
        case where:
            page.insert(node, where, MARKUP)
    return True


def tree(source: bytes) -> str:
    return LexborHTMLParser(source, scripting=True).html or ""


def edited_tree(source: str, kind: str) -> str:
    """The tree in which the same edit was made by the parser's own means."""
    parsed = LexborHTMLParser(source.encode(), scripting=True)
    node = parsed.css_first("#t")
    match kind:
        case "remove":
            node.decompose()
        case "set_text":
            node.inner_html = "new &lt;text&gt;"
        case "after":
            node.insert_after("@@")
        case "before":
            node.insert_before("@@")
        case "prepend" if node.first_child is not None:
            node.first_child.insert_before("@@")
        case "prepend" | "append":
            node.insert_child("@@")
        case "figure":
            return (parsed.html or "").replace("12.50", "99")
    return (parsed.html or "").replace("@@", MARKUP.decode())


@pytest.mark.parametrize(
    "kinds", [PLACES, ("remove",), ("set_text",), ("figure",)], ids=lambda kinds: kinds[0]
)
@settings(deadline=None, max_examples=size(60, 250))
@given(SOUP, TARGET_NAMES, TARGETS, SOUP, SOUP, st.data())
def test_an_edit_in_tag_soup_is_right_or_refused(
    kinds: tuple[str, ...], before: str, name: str, target: str, content: str, after: str, data: st.DataObject
) -> None:
    kind = data.draw(st.sampled_from(kinds))
    source = before + target.format(name, content + "$12.50" * (kind == "figure")) + after
    page = open_page(source)
    found = page.find("#t")
    if len(found) != 1:
        return
    try:
        if not edit(page, found[0], kind):
            return
        result = page.finish()
    except (CannotEdit, TargetNotMarked):
        return
    assert tree(result) == edited_tree(source, kind)
    if kind in PLACES:
        end = f"</{name}>".encode()
        assert result.replace(MARKUP, b"", 1).replace(end, b"") == source.encode().replace(end, b"")


def test_the_copy_of_a_chosen_option_is_none_of_the_source() -> None:
    option = "<option selected>Small <span class=price>$9.00</span></option>"
    source = f"<select><button><selectedcontent></selectedcontent></button>{option}</select>"
    page = open_page(source)
    (price,) = page.find(".price")
    assert page.replace(price, None, figures_as("99"))
    assert page.finish().decode() == source.replace("9.00", "99")
