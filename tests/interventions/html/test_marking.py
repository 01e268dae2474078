"""Marked copies of a page."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from interventions.html.marking import ALL_TAGS, MARK, hints, mark, marks_for, unmark


@pytest.mark.parametrize(
    ("selectors", "literals", "near"),
    [
        (["div.rating-summary"], {b"rating-summary"}, set()),
        (["main#maincontent > div.a span"], set(), {b"a"}),
        (["span"], {b"<span"}, set()),
        (["a.action.view"], {b"action"}, set()),
        (["h1.x, #price"], {b"<h1", b"price"}, set()),
        (['meta[property="og:url"]'], {b"<meta"}, set()),
        (["input[data-item-qty]"], {b"data-item-qty"}, set()),
        (["span[style*='width']:first-child"], {b"width"}, set()),
        (["li:not(.gone:is(a, b)) > b.c"], {b"c"}, set()),
        (["span.price-wrapper", "span.price"], {b"price"}, set()),
        (["*"], *ALL_TAGS[:2]),
        (["a[href='x' i]"], *ALL_TAGS[:2]),
        ([], set(), set()),
    ],
)
def test_marks_tell_the_subject(selectors: list[str], literals: set[bytes], near: set[bytes]) -> None:
    assert marks_for(selectors)[:2] == (literals, near)


def test_hints_are_of_any_element_around() -> None:
    assert hints(["table#shopping-cart-table tbody.item", "li.x > a, li.product-item"]) == {
        b"shopping-cart-table",
        b"x",
        b"product-item",
    }


def test_marks_are_offsets() -> None:
    source = b"<!doctype html><DIV><br/><p class=x>a</p></DIV>"
    tree = LexborHTMLParser(mark(source, ALL_TAGS))
    for node in tree.css("div, br, p"):
        offset = int(node.attributes[MARK] or "")
        assert source[offset + 1 :].lower().startswith((node.tag or "").encode())
    assert unmark(tree.html or "") == LexborHTMLParser(source).html


def test_only_tags_that_hold_a_literal_are_marked() -> None:
    source = b"<p>price</p><b class=price>x</b><i title=price>y</i></price><1price>"
    assert mark(source, marks_for(["b.price"])).count(MARK.encode()) == 3  # <p> too: no harm


def test_what_only_its_tag_tells_is_marked_after_the_element_around() -> None:
    source = b"<i>0</i><div class=price><i>1</i><b>2</b></div>"
    marked = mark(source, marks_for(["div.price > i"]))
    assert [node.text() for node in LexborHTMLParser(marked).css(f"i[{MARK}], b[{MARK}]")] == ["1", "2"]


def test_a_limit_marks_the_first_ones() -> None:
    assert mark(b"<b>x</b>" * 9, marks_for(["b"], limit=4)).count(MARK.encode()) == 4
