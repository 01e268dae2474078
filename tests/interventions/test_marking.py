"""Marked copies of a page."""

import pytest
from selectolax.lexbor import LexborHTMLParser

from interventions.marking import ALL_TAGS, MARK, literals, mark, unmark


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (["div.rating-summary"], {b"rating-summary"}),
        (["main#maincontent > div.a span"], {b"<span"}),
        (["a.action.view"], {b"action"}),
        (["h1.x, #price"], {b"x", b"price"}),
        (['meta[property="og:url"]'], {b"og:url"}),
        (["input[data-item-qty]"], {b"data-item-qty"}),
        (["span[style*='width']:first-child"], {b"width"}),
        (["li:not(.gone:is(a, b)) > b.c"], {b"c"}),
        (["span.price-wrapper", "span.price"], {b"price"}),
        (["*"], ALL_TAGS),
        (["a[href='x' i]"], ALL_TAGS),
        ([], set()),
    ],
)
def test_literals_of_the_subject(selectors: list[str], expected: set[bytes]) -> None:
    assert literals(selectors) == expected


def test_marks_are_offsets() -> None:
    source = b"<!doctype html><DIV><br/><p class=x>a</p></DIV>"
    tree = LexborHTMLParser(mark(source, ALL_TAGS))
    for node in tree.css("div, br, p"):
        offset = int(node.attributes[MARK] or "")
        assert source[offset + 1 :].lower().startswith((node.tag or "").encode())
    assert unmark(tree.html or "") == LexborHTMLParser(source).html


def test_only_tags_that_hold_a_literal_are_marked() -> None:
    source = b"<p>price</p><b class=price>x</b><i title=price>y</i></price><1price>"
    assert mark(source, literals(["b.price"])).count(MARK.encode()) == 3  # <p> too: no harm
