"""Starter files are right as they are written, and a file that exists keeps every byte."""

from pathlib import Path

import pytest

from interventions.apply.plan import ProductFacts
from interventions.authoring.check import check
from interventions.authoring.starter import EXAMPLES, Starter, add, check_kind, slug
from interventions.errors import UserError
from interventions.files.schema import load_interventions
from interventions.yaml.sitemap import load_site_map

SITE = load_site_map("onestopmarket")
PRODUCT = ProductFacts("x", "Cookies", "Example", 19.99, 84, 12)
# Its last line looks like a comment and is none.
TITLE = "interventions:\n- id: first\n  kind: title\n  edits:\n  - set_title: |\n      a\n      # b\n"
INDENTED = "interventions:\n  -   id: first\n      kind: price\n      edits: [{set_price: 1}]\n"
FIRST = "interventions:\n- id: first\n  kind: price\n  edits: [{set_price: 1}]\n"


def starter(
    kind: str = "nudge", id: str = "mine", value: str = "Hurry: only 2 left", **other: object
) -> Starter:
    return Starter(kind, id, value, **other)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_kind_gives_a_file_that_is_right(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "deep" / "mine.yaml"
    assert add(path, starter(kind, value=EXAMPLES[kind][1]), SITE) == "written"
    assert add(path, starter(kind, "second", EXAMPLES[kind][1]), SITE) == "added"
    found = check(path, SITE, [PRODUCT])
    assert found.errors == ()
    assert found.file is not None
    made = [
        (item.id, item.kind, item.edits[0].kind() if item.edits else "card")
        for item in found.file.interventions
    ]
    assert made == [("mine", kind, EXAMPLES[kind][0]), ("second", kind, EXAMPLES[kind][0])]


def test_what_is_asked_for_is_written(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    wanted = starter(
        role="product.price_box",
        where="before",
        style="note",
        family="social: proof",
        direction=-1,
        pages=("cart",),
    )
    add(path, wanted, SITE)
    item = load_interventions(path)["mine"]
    assert (item.family, item.direction, item.pages) == ("social: proof", -1, ("cart",))
    assert item.edits[0].model_dump(exclude_defaults=True) == {  # type: ignore[attr-defined]
        "before": "product.price_box", "text": "Hurry: only 2 left", "style": "note",
    }  # fmt: skip


def test_what_looks_like_something_else_than_text_is_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    add(path, starter(id="50", family="null"), SITE)
    add(path, starter("title", "title", "1984"), SITE)
    add(path, starter("price", "price", "19.90"), SITE)
    mine = load_interventions(path)
    assert (mine["50"].family, mine["title"].edits[0].model_dump()) == ("null", "1984")
    assert "set_price: 19.90\n" in path.read_text()


@pytest.mark.parametrize(
    ("old", "before", "after"),
    [
        (FIRST, FIRST, ""),
        (FIRST.rstrip("\n"), FIRST, ""),
        (FIRST + "\n# the end\n", FIRST, "\n# the end\n"),
        (FIRST + "\n# tables\ntables: {a: {b: c}}\n", FIRST, "\n# tables\ntables: {a: {b: c}}\n"),
        ("tables: {a: {b: c}}\n" + FIRST, "tables: {a: {b: c}}\n" + FIRST, ""),
        ("\ufeff" + FIRST, "\ufeff" + FIRST, ""),
        (FIRST.replace("\n", "\r\n"), FIRST.replace("\n", "\r\n"), ""),
        (INDENTED, INDENTED, ""),
    ],
    ids=["plain", "no line end", "comment", "tables after", "tables before", "BOM", "CRLF", "indented"],
)
def test_what_was_there_stays_byte_for_byte(tmp_path: Path, old: str, before: str, after: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(old.encode())
    add(path, starter(), SITE)
    new = path.read_bytes().decode()
    assert new.startswith(before)
    assert new.endswith(after)
    added = new[len(before) : len(new) - len(after)]
    assert added.lstrip().startswith("- id: mine")
    assert ("\r\n" in old) == ("\r\n" in added)
    assert "\n" not in added.replace("\r\n", "") or "\r\n" not in old
    assert [item.id for item in load_interventions(path).interventions] == ["first", "mine"]


@pytest.mark.parametrize(
    ("old", "message"),
    [
        (FIRST.replace("first", "mine"), 'the id "mine" is taken; choose another one with --id'),
        ("interventions: [{id: a, kind: price, edits: [{set_price: 1}]}]\n", "not written in lines"),
        ("tables: {}\n", "missing or no list; write it, or choose another file"),
        (FIRST + "kind: [\n", "invalid YAML"),
        (FIRST.replace("set_price", "set_prize"), 'unknown key; did you mean "set_price"'),
        ("", "the file is empty"),
        (TITLE, "written too unusually to add to; add the item by hand"),
    ],
)
def test_a_file_that_cannot_be_added_to_stays_as_it_is(tmp_path: Path, old: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(old)
    with pytest.raises(UserError, match=message):
        add(path, starter(), SITE)
    assert path.read_text() == old


def test_mistakes_in_what_is_asked_for_write_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    for wrong in (
        starter(id="Not an id"),
        starter(role="product.titel"),
        starter("price", value="cheap"),
        starter(style="huge"),
    ):
        with pytest.raises(UserError, match="; "):
            add(path, wrong, SITE)
    assert not path.exists()
    with pytest.raises(UserError, match='no starter for this kind; did you mean "price"'):
        check_kind("prize")


def test_the_schema_beside_is_named_for_editors(tmp_path: Path) -> None:
    (tmp_path / "interventions.schema.json").write_text("{}")
    add(tmp_path / "mine.yaml", starter(), SITE)
    first = (tmp_path / "mine.yaml").read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=interventions.schema.json"


def test_ids_are_made_from_texts() -> None:
    assert slug("Only 2 left in stock!") == "only-2-left-in-stock"
    assert slug("«»") == "my-nudge"
