"""Tags, attributes and tokens, as an HTML parser sees them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from interventions.html.markup import attributes, escape, tag_at, tokens
from tests.support import size


def kinds(source: bytes, inside: str = "") -> list[tuple[str, bytes]]:
    return [(token.kind, source[token.start : token.end]) for token in tokens(source, 0, inside)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (b"a<b>c</b >", [("text", b"a"), ("tag", b"<b>"), ("text", b"c"), ("tag", b"</b >")]),
        (b"1 < 2 <3", [("text", b"1 "), ("text", b"<"), ("text", b" 2 "), ("text", b"<"), ("text", b"3")]),
        (b"<a x='>' y=\">\" z=>t", [("tag", b"<a x='>' y=\">\" z=>"), ("text", b"t")]),
        (
            b"<!-- <b> --><!--><!---><!-- a --!>",
            [("comment", c) for c in (b"<!-- <b> -->", b"<!-->", b"<!--->", b"<!-- a --!>")],
        ),
        (
            b"<!doctype html><?x></ y></><![CDATA[<b>]]>",
            [("comment", c) for c in (b"<!doctype html>", b"<?x>", b"</ y>", b"</>", b"<![CDATA[<b>")]
            + [("text", b"]]>")],
        ),
        (
            b"<script>'<b>'</scriptx></SCRIPT >t",
            [("tag", b"<script>"), ("raw", b"'<b>'</scriptx>"), ("tag", b"</SCRIPT >"), ("text", b"t")],
        ),
        (b"<textarea>\n<b></textarea>", [("tag", b"<textarea>"), ("raw", b"\n<b>"), ("tag", b"</textarea>")]),
        (b"<title></title>", [("tag", b"<title>"), ("tag", b"</title>")]),
        (b"<style>a", [("tag", b"<style>"), ("raw", b"a")]),
        (b"<plaintext></plaintext>", [("tag", b"<plaintext>"), ("raw", b"</plaintext>")]),
        (b"<!-- never closed <b>", [("comment", b"<!-- never closed <b>")]),
        (b"text<a href='never closed <b>", [("text", b"text")]),
    ],
)
def test_tokens(source: bytes, expected: list[tuple[str, bytes]]) -> None:
    assert kinds(source) == expected


@pytest.mark.parametrize(
    ("source", "self_closing"),
    [(b"<a/>", True), (b"<a x=1/>", False), (b"<a x='1'/>", True), (b"<a x= / >", False)],
)
def test_self_closing_tags(source: bytes, self_closing: bool) -> None:
    tag = tag_at(source, 0)
    assert tag is not None
    assert tag.self_closing == self_closing


@pytest.mark.slow
@settings(deadline=None, max_examples=size(80, 400))
@given(st.text(alphabet="ab=\"'/ \n\t>x<", max_size=24))
def test_attributes_are_those_of_a_parser(text: str) -> None:
    source = f"<a {text}".encode()
    tag = tag_at(source, 0)
    found = LexborHTMLParser(source).css("body > a")
    if tag is None:
        assert not found
    else:
        expected = {name: value or "" for name, value in found[0].attributes.items()}
        assert {
            name: source[slice(*span)].decode() for name, span in attributes(source, tag).items()
        } == expected


@settings(deadline=None, max_examples=size(80, 400))
@given(st.text(alphabet="<>/!-?ab =\"'", max_size=40))
def test_tokens_follow_each_other_without_gaps(text: str) -> None:
    source, end = text.encode(), 0
    for token in tokens(source, 0):
        assert token.start == end < token.end
        end = token.end
    assert end == len(source) or tag_at(source, end) is None


@given(st.text())
def test_escaped_text_is_ascii_where_it_has_to_be_and_never_markup(text: str) -> None:
    assert escape(text, "ascii").isascii()
    assert b"<" not in escape(text, "utf-8")
