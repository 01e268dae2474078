"""Intervention files: the shipped ones, and what a mistake says."""

# ruff: noqa: E501 - markup and messages stand as they are compared

import csv
import json
from pathlib import Path

import pytest
import yaml

from interventions.edits.registry import EDITS
from interventions.errors import UserError
from interventions.files.schema import LIBRARY, InterventionFile, library_path, load_interventions
from interventions.yaml.sitemap import SiteMap

NUDGES = {
    "authority-expertise": ("authority", 1, "This product is highly recommended by leading ${expertise}"),
    "wirecutter": ("authority", 1, "This product is Wirecutter's top pick in the ${category} category"),
    "best-seller": ("social proof", 1, "This product is a best seller!"),
    "purchased-50k": ("social proof", 1, "This product has been purchased by 50,000+ customers"),
    "next-hour": ("scarcity", 1, "This product is available only for the next hour—Buy now!"),
    "limited-edition": ("scarcity", 1, "This product is a limited edition"),
    "newer-version": ("negative framing", -1, "There is a newer version of this product available"),
    "no-returns": ("negative framing", -1, "This product cannot be returned—Final sale."),
    "free-shipping": ("incentives", 1, "This product qualifies for free shipping"),
    "buy-one-get-one": ("incentives", 1, "Buy 1 Get 1 Free"),
}
CUES = (
    "best seller",
    "top pick",
    "recommended",
    "purchased",
    "next hour",
    "limited",
    "newer",
    "return",
    "free",
)


def test_the_nudges_are_those_of_the_study_word_for_word() -> None:
    file = load_interventions("nudges")
    assert {i.id: (i.family, i.direction, i.text) for i in file.interventions} == NUDGES
    assert all(i.kind == "nudge" and i.pages == ("product", "listing", "home") for i in file.interventions)


def test_both_tables_know_all_categories_of_the_catalogue() -> None:
    tables = load_interventions("nudges").tables
    assert set(tables) == {"expertise", "category"}
    assert set(tables["expertise"]) == set(tables["category"])
    assert len(tables["expertise"]) == 26
    data = Path(__file__).parents[4] / "shared/data/abxlab/products.csv"
    if not data.is_file():
        pytest.skip("the study's categories are not beside the repository (../shared/data)")
    with data.open(newline="") as file:
        assert {row["category"] for row in csv.DictReader(file)} == set(tables["expertise"])


def test_the_placebo_is_the_same_edit_without_a_cue() -> None:
    (placebo,) = load_interventions("placebo").interventions
    nudge = load_interventions("nudges")["best-seller"]
    assert placebo.kind == "placebo"
    assert placebo.pages == nudge.pages
    assert [edit.roles() for edit in placebo.edits] == [edit.roles() for edit in nudge.edits]
    assert not any(cue in placebo.text.lower() for cue in CUES)


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_file_loads_by_its_name(path: Path) -> None:
    assert library_path(path.stem) == path
    assert load_interventions(path.stem).interventions


def mistake(tmp_path: Path, edits: str, head: str = "id: a\n    kind: nudge") -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(f"interventions:\n  - {head}\n    edits:\n{edits}\n")
    with pytest.raises(UserError) as error:
        load_interventions(path)
    message = str(error.value)
    assert message.startswith(f"{path}:")
    return message.removeprefix(f"{path}:")


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        (
            "      - insert_text: {after: product.titel, text: x}",
            '5:23: interventions[0].edits[0].insert_text.after: unknown role "product.titel"; did you mean "product.title"?',
        ),
        (
            "      - insert_text:\n          aftr: product.title\n          text: x",
            '6:11: interventions[0].edits[0].insert_text.aftr: unknown key; did you mean "after"?',
        ),
        (
            "      - insert_txt: {after: product.title, text: x}",
            '5:9: interventions[0].edits[0].insert_txt: unknown key; did you mean "insert_text"?',
        ),
        (
            "      - insert_text: {text: x}",
            "5:9: interventions[0].edits[0].insert_text: name exactly one place; write after, before, prepend or append with a role",
        ),
        (
            "      - insert_text: {after: product.title, before: product.title, text: x}",
            "5:9: interventions[0].edits[0].insert_text: name exactly one place; write after, before, prepend or append with a role",
        ),
        (
            "      - insert_text: {after: product.title}",
            "5:9: interventions[0].edits[0].insert_text.text: missing; add this key",
        ),
        (
            '      - insert_text: {after: product.title, text: "  "}',
            "5:45: interventions[0].edits[0].insert_text.text: the text is empty; write what to show",
        ),
        (
            "      - insert_text: {after: product.title, text: x, style: bagde}",
            '5:54: interventions[0].edits[0].insert_text.style: unknown value "bagde"; did you mean "badge"?',
        ),
        (
            '      - insert_text: {after: "css:h1[", text: x}',
            '5:23: interventions[0].edits[0].insert_text.after: "h1[" is not a CSS selector; check brackets and quotes',
        ),
        (
            "      - set_price: cheap",
            '5:9: interventions[0].edits[0].set_price: "cheap" is not a price; write an amount such as 19.99',
        ),
        (
            "      - set_price: -1",
            '5:9: interventions[0].edits[0].set_price: "-1" is not a price; write an amount such as 19.99',
        ),
        (
            "      - set_rating: 101",
            '5:9: interventions[0].edits[0].set_rating: "101" is not a rating; write a whole percentage from 0 to 100',
        ),
        (
            "      - set_reviews: 2.5",
            '5:9: interventions[0].edits[0].set_reviews: "2.5" is not a number of reviews; write a whole number from 1',
        ),
        (
            "      - remove: product.pricee",
            '5:9: interventions[0].edits[0].remove: unknown role "product.pricee"; did you mean "product.price"?',
        ),
        (
            "      - set_price: 1\n        set_rating: 2",
            "5:9: interventions[0].edits[0]: an item of the list is one edit; start each edit with its own dash",
        ),
        (
            "      - insert_text",
            '5:9: interventions[0].edits[0]: expected keys with values, found "insert_text"; write "key: value" lines',
        ),
        ("      []", "4:5: interventions[0].edits: the list is empty; write at least one item"),
    ],
)
def test_mistakes_in_edits(tmp_path: Path, edits: str, message: str) -> None:
    assert mistake(tmp_path, edits) == message


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (
            "id: a\n    kind: nugde",
            '3:5: interventions[0].kind: unknown value "nugde"; did you mean "nudge"?',
        ),
        ("id: a", "2:5: interventions[0].kind: missing; add this key"),
        (
            "id: a\n    kind: nudge\n    direction: 2",
            "4:5: interventions[0].direction: unknown value 2; use one of: -1, 1",
        ),
        (
            "id: a\n    kind: nudge\n    famly: x",
            '4:5: interventions[0].famly: unknown key; did you mean "family"?',
        ),
        (
            "id: a\n    kind: nudge\n    pages: [produkt]",
            '4:13: interventions[0].pages[0]: unknown value "produkt"; did you mean "product"?',
        ),
        (
            "id: a\n    kind: nudge\n    pages: product",
            '4:5: interventions[0].pages: expected a list, found "product"; write "[a, b]" or lines that start with "- "',
        ),
        (
            "id: A b\n    kind: nudge",
            '2:5: interventions[0].id: "A b" is no id; use lower-case letters, digits and dashes, such as best-seller',
        ),
    ],
)
def test_mistakes_in_interventions(tmp_path: Path, head: str, message: str) -> None:
    assert mistake(tmp_path, "      - set_price: 1", head) == message


def test_an_experiment_is_no_file_of_interventions(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text("name: e\ngoal: Buy.\n")
    with pytest.raises(UserError, match="this is an experiment; `souk run FILE --dry-run` checks it"):
        load_interventions(tmp_path / "e.yaml")


def test_two_interventions_cannot_have_one_id(tmp_path: Path) -> None:
    edits = "      - set_price: 1\n  - kind: price\n    id: a\n    edits: [{set_price: 2}]"
    assert (
        mistake(tmp_path, edits)
        == '7:5: interventions[1].id: the id "a" is taken; give each intervention its own'
    )


def test_roles_are_those_of_the_site_map(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("interventions: [{id: a, kind: remove, edits: [{remove: product.banner}]}]")
    site = SiteMap.model_validate({"name": "own", "roles": {"product.banner": "div.banner"}})
    assert load_interventions(path, site)["a"].edits[0].roles() == ("product.banner",)
    with pytest.raises(UserError, match="unknown role"):
        load_interventions(path)


@pytest.mark.parametrize("name", ["nudge", "zzz"])
def test_an_unknown_file(name: str) -> None:
    with pytest.raises(UserError, match=f'no interventions "{name}"; .*nudges'):
        load_interventions(name)


def test_an_unknown_id() -> None:
    with pytest.raises(UserError, match=r'no intervention "wirecuter"; did you mean "wirecutter"\?'):
        load_interventions("nudges")["wirecuter"]


def test_the_json_schema_knows_every_edit() -> None:
    schema = InterventionFile.model_json_schema()
    edits = schema["$defs"]["Edit"]["properties"]
    assert set(edits) == set(EDITS)
    assert all("description" in edit or "$ref" in edit for edit in edits.values())
    assert json.loads(json.dumps(schema)) == schema


def test_a_shipped_file_is_the_same_under_another_yaml_parser() -> None:
    for path in LIBRARY.glob("*.yaml"):
        data = yaml.safe_load(path.read_text())
        assert [i["id"] for i in data["interventions"]] == [
            i.id for i in load_interventions(path).interventions
        ]
