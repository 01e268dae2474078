"""Whatever a text is, it is read as it was written: by Souk and by YAML 1.1, in C and in Python."""

from collections.abc import Callable

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from interventions.proposal.site import flow
from interventions.yaml.writing import quoted, scalar
from interventions.yaml.yaml_source import parse_yaml

LOADERS = {yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)}
STRANGE = (
    *("on", "Off", "NO", "y", "~", "null", "Null", "true", "", " ", "a ", " a", ".5", "1e3", ".inf", "1:30"),
    *("2025-01-01", "2025-99-99", "0x1F", "0o7", "9" * 5000, "=", "<<", "- a", "---", "? a", "a: b", "a #b"),
    *("#a", "&a", "*a", "!a", "!!str a", "%a", "@a", "`a", "|", ">", "[" * 3000, "{a", "a]", "a, b", "a:"),
    *("?a", "a\tb", "a\nb", "a\n\nb", "a\r\nb", "a\x85b", "a\u2028b", "\ufeff", "\xa0", "a\x07b", "a\x7fb"),
    "\0",
    *("a'b", 'a"b', "a'b\n\"c", "\\d+", "\\", "'", '"', "\U0001f600", "\u200d", "x" * 3000, "${a}", "$.a[0]"),
)
TEXTS = st.sampled_from(STRANGE) | st.text() | st.text("aon1.:-#,[]{}'\" \\\t\n\x85")


def everywhere(written: Callable[..., str], text: str) -> str:
    """A text in each kind of place, with the last line a witness that nothing was swallowed."""
    line, inside = written(text), written(text, inside=True)
    return (
        f"a: {line}\nb: {line}  # why\nc:\n    - {line}\n    - {{x: {inside}, y: {inside}}}\n"
        f"d: [{inside}, {inside}]\ne: {{x: [{inside}]}}\nend: end\n"
    )


def read(text: str) -> object:
    inner = {"x": text, "y": text}
    return {"a": text, "b": text, "c": [text, inner], "d": [text, text], "e": {"x": [text]}, "end": "end"}


def check(text: str) -> None:
    for written in (scalar, lambda text, inside=False: quoted(text)):
        document = everywhere(written, text)
        source = parse_yaml(document, "any.yaml")
        assert (source.data, source.problems) == (read(text), ())
        for loader in LOADERS:
            assert yaml.load(document, loader) == read(text)


@pytest.mark.parametrize("text", STRANGE)
def test_strange_texts_are_read_as_they_were_written(text: str) -> None:
    check(text)


@given(TEXTS)
def test_any_text_is_read_as_it_was_written(text: str) -> None:
    check(text)


@given(
    st.dictionaries(
        st.sampled_from("abc"), TEXTS | st.integers() | st.booleans() | st.lists(TEXTS).map(tuple)
    )
)
@example({"a": ("on", ".5"), "b": 3, "c": True})
def test_a_mapping_on_one_line_is_read_as_it_was(parts: dict[str, object]) -> None:
    wanted = {key: list(value) if isinstance(value, tuple) else value for key, value in parts.items()}
    assert yaml.safe_load(f"- {flow(parts)}") == [wanted]
    assert parse_yaml(f"k: {flow(parts)}", "any.yaml").data == {"k": wanted}


def test_half_a_character_does_not_break_the_file() -> None:
    assert parse_yaml(f"k: {scalar(chr(0xD800))}", "any.yaml").data == {"k": "\ufffd"}


@pytest.mark.parametrize(
    ("text", "line", "inside"),
    [
        ("div.price > span", "div.price > span", "div.price > span"),
        ("a[href], b", "a[href], b", '"a[href], b"'),
        ("#price", '"#price"', '"#price"'),
        ('meta[name="x"]', 'meta[name="x"]', """'meta[name="x"]'"""),
        (r"([0-9.]+) \w", r"([0-9.]+) \w", r"'([0-9.]+) \w'"),
        ("no", '"no"', '"no"'),
    ],
)
def test_quotes_stand_where_they_are_needed(text: str, line: str, inside: str) -> None:
    assert (scalar(text), scalar(text, inside=True)) == (line, inside)
