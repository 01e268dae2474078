"""Edits of one page: the spliced bytes have to parse to the tree in which the same edit was made."""

from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from interventions.errors import CannotEdit
from interventions.html.marking import ALL_TAGS
from interventions.html.numbers import figures
from interventions.html.page import Page, Piece
from interventions.html.source_page import Unmarked
from tests.support import size

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


def tree(source: bytes) -> str:
    return LexborHTMLParser(source, scripting=True).html or ""


def edited_tree(source: str, where: str) -> str | None:
    """The tree with a marker in place, made by the parser's own means."""
    parsed = LexborHTMLParser(source.encode(), scripting=True)
    node = parsed.css_first("#t")
    if node is None:
        return None
    if where == "after":
        node.insert_after("@@")
    elif where == "before":
        node.insert_before("@@")
    elif where == "append" or node.first_child is None:
        node.insert_child("@@")
    else:
        node.first_child.insert_before("@@")
    return (parsed.html or "").replace("@@", MARKUP.decode())


@settings(deadline=None, max_examples=size(60, 250))
@given(SOUP, TARGET_NAMES, TARGETS, SOUP, SOUP, st.sampled_from(PLACES))
def test_an_insertion_in_tag_soup_is_right_or_refused(
    before: str, name: str, target: str, content: str, after: str, where: str
) -> None:
    source = before + target.format(name, content) + after
    expected = edited_tree(source, where)
    page = open_page(source)
    found = page.find("#t")
    if expected is None or len(found) != 1:
        return
    try:
        page.insert(found[0], where, MARKUP)
        result = page.finish()
    except (CannotEdit, Unmarked):
        return
    assert tree(result) == expected
    assert result.replace(MARKUP, b"", 1).replace(f"</{name}>".encode(), b"") == source.encode().replace(
        f"</{name}>".encode(), b""
    )


@settings(deadline=None, max_examples=size(60, 250))
@given(SOUP, TARGET_NAMES, TARGETS, SOUP, SOUP)
def test_a_removal_in_tag_soup_is_right_or_refused(
    before: str, name: str, target: str, content: str, after: str
) -> None:
    source = before + target.format(name, content) + after
    page = open_page(source)
    found = page.find("#t")
    if len(found) != 1:
        return
    try:
        page.remove(found[0])
        result = page.finish()
    except (CannotEdit, Unmarked):
        return
    parsed = LexborHTMLParser(source.encode(), scripting=True)
    parsed.css_first("#t").decompose()
    assert tree(result) == parsed.html


@settings(deadline=None, max_examples=size(60, 250))
@given(SOUP, TARGET_NAMES, TARGETS, SOUP, SOUP)
def test_new_text_in_tag_soup_is_right_or_refused(
    before: str, name: str, target: str, content: str, after: str
) -> None:
    source = before + target.format(name, content) + after
    page = open_page(source)
    found = page.find("#t")
    if len(found) != 1:
        return
    try:
        page.set_text(found[0], "new <text>")
        result = page.finish()
    except (CannotEdit, Unmarked):
        return
    parsed = LexborHTMLParser(source.encode(), scripting=True)
    parsed.css_first("#t").inner_html = "new &lt;text&gt;"
    assert tree(result) == parsed.html


def all_99(text: str) -> list[Piece]:
    return [Piece(figure.start, figure.end, "99") for figure in figures(text)]


@settings(deadline=None, max_examples=size(60, 250))
@given(SOUP, TARGET_NAMES, TARGETS, SOUP, SOUP)
def test_a_new_figure_in_tag_soup_is_right_or_refused(
    before: str, name: str, target: str, content: str, after: str
) -> None:
    source = before + target.format(name, content + "$12.50") + after
    page = open_page(source)
    found = page.find("#t")
    if len(found) != 1 or "$12.50" not in (found[0].text() or ""):
        return
    try:
        if not page.replace(
            found[0], None, lambda text: [Piece(f.start, f.end, "99") for f in figures(text)]
        ):
            return
        result = page.finish()
    except (CannotEdit, Unmarked):
        return
    assert tree(result) == tree(source.encode()).replace("12.50", "99")


def test_the_copy_of_a_chosen_option_is_none_of_the_source() -> None:
    option = "<option selected>Small <span class=price>$9.00</span></option>"
    source = f"<select><button><selectedcontent></selectedcontent></button>{option}</select>"
    page = open_page(source)
    (price,) = page.find(".price")
    assert page.replace(price, None, all_99)
    assert page.finish().decode() == source.replace("9.00", "99")
