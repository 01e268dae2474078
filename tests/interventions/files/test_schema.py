"""Intervention files: the shipped ones, and what a mistake says (tests/interventions/authoring has more)."""

# ruff: noqa: E501 - markup and messages stand as they are compared

import csv
from pathlib import Path

import pytest

from interventions.errors import UserError
from interventions.files.schema import load_interventions
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


PRICE = "\n    edits:\n      - set_price: 1"
EDIT = "id: a\n    kind: nudge\n    edits:\n      - "


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (f"id: a{PRICE}", "2:5: interventions[0].kind: missing; add this key"),
        ("id: a\n    kind: nudge\n    edits:\n      []", "4:5: interventions[0].edits: the list is empty; write at least one item"),
        (f"id: a\n    kind: nudge\n    pages: product{PRICE}", '4:5: interventions[0].pages: expected a list, found "product"; write "[a, b]" or lines that start with "- "'),
        (EDIT + "insert_text: {after: product.title}", "5:9: interventions[0].edits[0].insert_text.text: missing; add this key"),
        (EDIT + "set_price: -1", '5:9: interventions[0].edits[0].set_price: "-1" is not a price; write an amount such as 19.99'),
        (EDIT + "set_reviews: 2.5", '5:9: interventions[0].edits[0].set_reviews: "2.5" is not a number of reviews; write a whole number from 1'),
        (EDIT + "set_price: 1\n        set_rating: 2", "5:9: interventions[0].edits[0]: an item of the list is one edit; start each edit with its own dash"),
        ("id: a\n    kind: pattern\n    deceived_when: accepted\n    edits:\n      - fee: {label: Fee, amount: 1}", '4:5: interventions[0].deceived_when: no edit here can end in "accepted"; write paid_more, or leave the key out'),
        ("id: a\n    kind: pattern\n    edits: [dialog: {text: Go?, accept: A, decline: B}, dialog: {text: Go?, accept: C, decline: D}]", "4:5: interventions[0].edits: two edits ask in the same words: one answer would count for both; write others"),
        ("id: a\n    kind: pattern\n    combines: [a, b]", '4:19: interventions[0].combines[1]: no intervention "b"; known: a'),
        ("id: a\n    kind: pattern\n    control: a\n    edits: [banner: Free returns]", "4:5: interventions[0].control: it is its own control; name another, or none"),
        ("id: a\n    kind: pattern\n    combines: [a, a]", '4:5: interventions[0].combines: "a" has no edits of its own; name interventions that have some'),
    ],
)  # fmt: skip
def test_mistakes_that_are_not_in_the_file_of_mistakes(tmp_path: Path, item: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"interventions:\n  - {item}\n")
    with pytest.raises(UserError) as error:
        load_interventions(path)
    assert str(error.value) == f"{path}:{message}"


def test_an_experiment_is_no_file_of_interventions(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text("name: e\ngoal: Buy.\n")
    with pytest.raises(UserError, match="this is an experiment; `souk run FILE --dry-run` checks it"):
        load_interventions(tmp_path / "e.yaml")


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


BOX = "checkout_option: {label: Send me offers"


@pytest.mark.parametrize(
    ("first", "second", "more", "message"),
    [
        (f"edits: [{BOX}}}]", f"edits: [{BOX}, ticked: true}}]", "", "both ask in the same words"),
        (
            "pages: [product], edits: [set_price: 1]",
            "edits: [set_stock: Two left]",
            "",
            "their `pages` is not that of this one",
        ),
        ("tool: t, edits: [badge: {text: A}]", "edits: [badge: {text: B}]", "", "their `tool` is not that"),
        (
            "edits: [set_price: 1]",
            "edits: [set_price: 2]",
            "",
            "both have set_price, and a product has one value",
        ),
        (
            "variables: {x: a}, edits: [set_stock: One left]",
            "variables: {x: b}, edits: [set_price: 1]",
            "",
            "a variable",
        ),
        (f"edits: [{BOX}}}]", f"edits: [{BOX}, ticked: true}}]", ", edits: [set_price: 1]", ""),
        ("edits: [set_price: 1]", "deceptive: true, edits: [set_stock: Two left]", "", ""),
    ],
)
def test_a_combination_has_the_edits_of_both_unless_it_has_its_own(
    tmp_path: Path, first: str, second: str, more: str, message: str
) -> None:
    both = f"{{id: c, kind: pattern, combines: [a, b]{more}}}"
    parts = [f"{{id: {id}, kind: pattern, {rest}}}" for id, rest in (("a", first), ("b", second))]
    path = tmp_path / "mine.yaml"
    path.write_text("\n".join(["interventions:", *(f"  - {each}" for each in (both, *parts))]))
    if message:
        with pytest.raises(UserError, match=message) as error:
            load_interventions(path)
        assert str(error.value).startswith(f"{path}:2:")
        return
    file = load_interventions(path)
    own = [edit.kind() for edit in file["c"].edits]
    assert own == (["set_price"] if more else [edit.kind() for id in "ab" for edit in file[id].edits])
    assert file["c"].deceptive == ("deceptive" in second)
