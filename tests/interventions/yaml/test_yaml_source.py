"""YAML files: what is read, and the one line that each mistake gets."""

# ruff: noqa: E501 - markup and messages stand as they are compared

import math
import re
from pathlib import Path
from typing import Literal

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, model_validator

from interventions.yaml.yaml_source import (
    YamlError,
    did_you_mean,
    dotted,
    load_model,
    load_yaml,
    parse_yaml,
    problem_at,
    validate,
)
from tests.support import size


class Edit(BaseModel, extra="forbid"):
    after: str
    style: Literal["plain", "badge"] = "plain"
    n: int = 0


class Model(BaseModel, extra="forbid"):
    name: str
    edits: list[Edit] = []
    table: dict[str, Edit] = {}
    either: Edit | str = "x"
    share: float = 0.5
    flag: bool = False

    @model_validator(mode="after")
    def _no_ghosts(self) -> "Model":
        for index, edit in enumerate(self.edits):
            if edit.after == "ghost":
                raise problem_at("edits", index, "after", message="no ghosts; name the living")
        return self


class Anything(BaseModel, extra="allow"):
    pass


def problems_of(text: str, model: type[BaseModel] = Anything, name: str = "f") -> list[str]:
    """What is said of a text; nothing where it is right."""
    try:
        validate(parse_yaml(text, name), model)
    except YamlError as error:
        assert str(error) == str(error.problems[0])
        return [str(problem) for problem in error.problems]
    return []


def test_scalars_follow_the_core_schema_of_yaml_1_2() -> None:
    text = """
on: no
date: 2025-01-01
time: 12:30
plus: +1
minus: -2
zeros: 010
under: 1_0
half: .5
whole: 1.
power: 1e3
big: -.inf
strange: .nan
none: ~
empty:
yes: true
quoted: "1"
1: x
block: |
  a
  b
"""
    data = parse_yaml(text, "f").data
    assert math.isnan(data.pop("strange"))
    assert data == {
        "on": "no", "date": "2025-01-01", "time": "12:30", "plus": 1, "minus": -2, "zeros": 10, "under": "1_0",
        "half": 0.5, "whole": 1.0, "power": 1000.0, "big": -math.inf, "none": None, "empty": None, "yes": True,
        "quoted": "1", "1": "x", "block": "a\nb\n",
    }  # fmt: skip


def test_lines_and_columns_are_remembered() -> None:
    source = parse_yaml("a:\n  b: [1,\n    {c: 2}]\n# note\nd: 3\n", "f")
    assert source.marks[("a", "b")] == (2, 3)
    assert source.marks[("a", "b", 1)] == (3, 5)
    assert source.place(("a", "b", 1, "c")) == (3, 6)
    assert source.place(("d", "not", "there")) == (5, 1)
    assert str(source.error(("a", "b", 1), "wrong; mend it")) == "f:3:5: a.b[1]: wrong; mend it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml:1:1: the file is empty; write at least one key"),
        ("# only a note\n", "f.yaml:2:1: the file is empty; write at least one key"),
        ("- a", 'f.yaml:1:1: the file holds a list; start it with "key:" lines'),
        ("just text", 'f.yaml:1:1: the file holds a single value; start it with "key:" lines'),
        ("name: x\nname: y", "f.yaml:2:1: name: duplicate key (first on line 1); remove one of the two"),
        ("a:\n- {b: 1, b: 2}", "f.yaml:2:10: a[0].b: duplicate key (first on line 2); remove one of the two"),
        ("a: &x 1\nb: *x", "f.yaml:2:4: b: aliases (*name) are not supported; write the value out"),
        ("a: &x [*x]", "f.yaml:1:8: a[0]: aliases (*name) are not supported; write the value out"),
        ("a: !!python/object:os.system x", "f.yaml:1:4: a: tags (!name) are not supported; remove the tag"),
        ("[a]: 1", "f.yaml:1:1: a key must be plain text; put the key in quotes"),
        ("a: 1\n--- \nb: 2", 'f.yaml:2:1: a second document starts here; remove "---" and what follows'),
        ("name: \x01", "f.yaml:1:7: invalid YAML: a control character is not allowed; remove it"),
        ("n: " + "9" * 5000, "f.yaml:1:4: n: the number is too long; put it in quotes"),
        ("{a: " * 3000, "f.yaml:1:205: nested more than 50 levels deep; make it flatter"),
    ],
)
def test_a_file_that_cannot_be_read(text: str, message: str) -> None:
    assert problems_of(text, name="f.yaml") == [message]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: [", "2:1"),
        ("a: b: c", "1:5"),
        ("b: 1\na: 'x\nc: 1\n", "2:4"),
        ("a: 1\n%x", "2:3"),
        ("{a: 1", "1:1"),
    ],
)
def test_invalid_yaml_names_the_place(text: str, place: str) -> None:
    (problem,) = problems_of(text)
    assert re.fullmatch(rf"f:{place}: invalid YAML: .*; check quotes, colons and indentation", problem)


def test_a_variable_without_quotes_is_told_so() -> None:
    (problem,) = problems_of("a: {text: Buy ${name} now}")
    assert problem.startswith("f:1:16: invalid YAML: ")
    assert problem.endswith("; put texts that hold ${variables} in quotes")


@pytest.mark.parametrize(("text", "place"), [("a:\n\tb: 1", "2:1"), ("a:\n  b: 1\n\tc: 2", "3:1")])
def test_a_tab_is_called_by_its_name(text: str, place: str) -> None:
    assert problems_of(text) == [
        f"f:{place}: invalid YAML: a tab character stands in the indentation; indent with spaces"
    ]


NAMELESS = {
    "nam: x": '1:1: nam: unknown key; did you mean "name"?',
    "edits: []": "1:1: name: missing; add this key",
    "name: 1": '1:1: name: expected text, found 1; put it in quotes: "..."',
    "name: [a]": "1:1: name: expected text, found a list; write one text",
    "name:": "1:1: name: the value is empty; write text after the colon, or remove the key",
}
NAMED = {
    "zzz: 1": "2:1: zzz: unknown key; known keys: edits, either, flag, name, share, table",
    "edits:\n- style: badge": "3:3: edits[0].after: missing; add this key",
    "edits:\n- after: a\n  styl: badge": '4:3: edits[0].styl: unknown key; did you mean "style"?',
    "edits: [{after: a, style: bagde}]": '2:20: edits[0].style: unknown value "bagde"; did you mean "badge"?',
    "edits: [{after: a, style: q}]": '2:20: edits[0].style: unknown value "q"; use one of: badge, plain',
    "table:\n  k: {after: a,\n    sytle: b}": '4:5: table.k.sytle: unknown key; did you mean "style"?',
    "either: {after: a,\n  stile: b}": '3:3: either.stile: unknown key; did you mean "style"?',
    "edits: 3": '2:1: edits: expected a list, found 3; write "[a, b]" or lines that start with "- "',
    "edits: [a]": '2:9: edits[0]: expected keys with values, found "a"; write "key: value" lines',
    "share: much": '2:1: share: expected a number, found "much"; write it without quotes or other signs',
    "share: [1]": "2:1: share: expected a number, found a list; write one number",
    "flag: maybe": '2:1: flag: expected true or false, found "maybe"; write one of the two',
    "edits:\n- {after: a}\n- {after: ghost}": "4:4: edits[1].after: no ghosts; name the living",
}


@pytest.mark.parametrize(
    ("text", "message"), [*NAMELESS.items(), *((f"name: x\n{text}", told) for text, told in NAMED.items())]
)
def test_a_mistake_is_one_line_with_its_place_and_a_way_out(text: str, message: str) -> None:
    assert problems_of(text, Model) == [f"f:{message}"]


def test_all_mistakes_are_listed_in_the_order_of_the_file() -> None:
    text = """\
nam: x
edits:
- {after: !!str b, style: bagde}
- after: *alias
  n: many
- after: ghost
edits: [{after: 1, n: x}, {n: 2, after: a, n: 3}]
shar: 1
either:
\t- 1
"""
    assert problems_of(text, Model) == [
        'f:1:1: nam: unknown key; did you mean "name"?',
        "f:3:11: edits[0].after: tags (!name) are not supported; remove the tag",
        "f:4:10: edits[1].after: aliases (*name) are not supported; write the value out",
        "f:7:1: edits: duplicate key (first on line 2); remove one of the two",
        'f:7:10: edits[0].after: expected text, found 1; put it in quotes: "..."',
        'f:7:20: edits[0].n: expected a whole number, found "x"; write it without quotes or other signs',
        "f:7:44: edits[1].n: duplicate key (first on line 7); remove one of the two",
        'f:8:1: shar: unknown key; did you mean "share"?',
        "f:10:1: invalid YAML: a tab character stands in the indentation; indent with spaces",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "edits: [{",
        "edits:\n- style: badge\n  after: [",
        "either: {\n after",
        "table: {x: *y}",
        "name: *x",
        "edits: [*x]",
    ],
)
def test_what_only_follows_from_another_mistake_is_not_listed(text: str) -> None:
    found = problems_of(text if text.startswith("name") else f"name: x\n{text}", Model)
    assert len(found) == 1
    assert "YAML" in found[0] or "alias" in found[0]


def test_a_problem_is_plain_data() -> None:
    with pytest.raises(YamlError) as error:
        validate(parse_yaml("name: x\nedits: [{after: a, style: q}]", "f"), Model)
    assert [problem.to_dict() for problem in error.value.problems] == [
        {
            "file": "f",
            "line": 2,
            "column": 20,
            "key": "edits[0].style",
            "message": 'unknown value "q"',
            "fix": "use one of: badge, plain",
        }
    ]


def test_files(tmp_path: Path) -> None:
    good = tmp_path / "good.yaml"
    good.write_bytes("\ufeffname: Süß\nedits:\n- after: product.title\n".encode())
    assert load_model(good, Model).name == "Süß"
    with pytest.raises(YamlError, match=r"missing\.yaml: no such file; check the path$"):
        load_yaml(tmp_path / "missing.yaml")
    with pytest.raises(YamlError, match=r"is a directory; check the path$"):
        load_yaml(tmp_path)
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(b"name: x\nother: \xff\n")
    with pytest.raises(YamlError, match=r"bad\.yaml:2:8: the text is not UTF-8; save the file as UTF-8$"):
        load_yaml(bad)


def test_words() -> None:
    assert did_you_mean("pric", ["price", "rating"]) == 'did you mean "price"?'
    assert did_you_mean("zzz", ["b", "a"], noun="roles") == "roles: a, b"
    assert did_you_mean("zzz", []) == "remove it"
    assert dotted(("a", 0, "b", 1)) == "a[0].b[1]"


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
"""A float in the core schema of YAML 1.2; PyYAML follows YAML 1.1, to which `0E0` and `08` are text."""


@pytest.mark.slow
@settings(deadline=None, max_examples=size(60, 150))
@given(st.dictionaries(st.text(), plain, min_size=1, max_size=4), st.booleans())
@example({"": "0E0"}, False)
@example({"": ["08", "1.5e3", "-1e5", ".5e1", "+.5E-1", "7."]}, False)
def test_what_is_dumped_is_read_again(data: dict[str, object], flow: bool) -> None:
    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    Dumper.add_implicit_resolver("tag:yaml.org,2002:float", NUMBER, list("-+.0123456789"))
    text = yaml.dump(data, Dumper=Dumper, default_flow_style=flow, default_style='"' if flow else None)
    if "!!" not in text:  # the dumper tags what it puts in quotes without need
        assert parse_yaml(text, "f").data == data


@settings(deadline=None, max_examples=size(120, 300))
@given(st.text(alphabet="ab:-[]{}'\"#&*!|>%\n\t ,?1", max_size=40))
def test_no_text_raises_anything_but_a_one_line_error(text: str) -> None:
    try:
        validate(parse_yaml(text, "f"), Anything)
    except YamlError as error:
        for problem in error.problems:
            assert re.match(r"f:\d+:\d+: ", str(problem))
            assert "\n" not in str(problem)
