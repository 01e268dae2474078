"""Everything that is wrong with a file is said at once, each with its place and its remedy."""

# ruff: noqa: E501 - messages stand as they are compared

from pathlib import Path

import pytest

from interventions.apply.plan import ProductFacts
from interventions.authoring.check import Findings, check
from interventions.errors import UserError
from interventions.files.schema import LIBRARY
from interventions.yaml.sitemap import load_site_map

MISTAKES = Path(__file__).with_name("mistakes.yaml")
SITE = load_site_map("onestopmarket")
PRODUCTS = [
    ProductFacts(f"p{number}", category, "Example", 19.99, 84, 12)
    for number, category in enumerate(["Cookies", "Wine", "Cheese", "Breads", "Lenses", "Radios"])
]


def checked(tmp_path: Path, text: str, products: list[ProductFacts] = PRODUCTS) -> Findings:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return check(path, SITE, products)


def item(tmp_path: Path, item: str, rest: str = "") -> list[str]:
    """The mistakes of a file with one intervention, without the file's name."""
    found = checked(tmp_path, f"interventions:\n  - id: a\n{item}\n{rest}")
    return [str(problem).removeprefix(f"{tmp_path}/mine.yaml:") for problem in found.errors]


def test_every_mistake_of_a_file_is_a_line_with_place_and_remedy() -> None:
    found = check(MISTAKES, SITE, PRODUCTS)
    assert found.file is None
    assert [str(problem).removeprefix(f"{MISTAKES}:") for problem in found.errors] == [
        '5:5: interventions[0].familly: unknown key; did you mean "family"?',
        '12:9: interventions[1].edits[0].set_prize: unknown key; did you mean "set_price"?',
        '18:23: interventions[2].edits[0].insert_text.after: unknown role "product.titel"; did you mean "product.title"?',
        '19:5: interventions[3].id: the id "misspelt-key" is taken; give each intervention its own',
        "21:5: interventions[3].kind: duplicate key (first on line 20); remove one of the two",
        '23:9: interventions[3].edits[0].set_price: "cheap" is not a price; write an amount such as 19.99',
        "24:5: interventions[4].id: missing; add this key",
        '24:5: interventions[4].kind: unknown value "nugde"; did you mean "nudge"?',
        "26:9: interventions[4].edits[0].insert_text: name exactly one place; write after, before, prepend or append with a role",
        '27:5: interventions[5].id: "Bad Id" is no id; use lower-case letters, digits and dashes, such as best-seller',
        "29:5: interventions[5].family: expected text, found a list; write one text",
        '30:5: interventions[5].direction: unknown value "up"; use one of: -1, 1',
        '31:22: interventions[5].pages[1]: unknown value "lising"; did you mean "listing"?',
        '33:23: interventions[5].edits[0].insert_text.after: "h1[" is not a CSS selector; check brackets and quotes',
        "33:41: interventions[5].edits[0].insert_text.text: the text is empty; write what to show",
        '33:53: interventions[5].edits[0].insert_text.style: unknown value "bagde"; did you mean "badge"?',
        "34:5: interventions[6].family: missing, and a placebo needs it; name the group that it is analysed with, such as authority",
        "34:5: interventions[6].direction: missing, and a placebo needs it; write +1 when it should pull towards its product, -1 when it should push away",
        '37:45: interventions[6].edits[0].insert_text.text: nothing is known of "${categry}"; did you mean "product.category"?',
        '45:9: interventions[7].edits[1].set_rating: "120" is not a rating; write a whole percentage from 0 to 100',
        "48:13: interventions[8].family: aliases (*name) are not supported; write the value out",
        "51:51: interventions[8].edits[0].insert_text.text: tags (!name) are not supported; remove the tag",
        '52:9: interventions[8].edits[1].insert_text: expected keys with values, found "Buy now"; write "key: value" lines',
        '59:45: interventions[9].edits[0].insert_text.text: a product has no "town"; known: category, key, name, price, rating, reviews',
        '65:45: interventions[10].edits[0].insert_text.text: the table "expert" has no entry for the category "Wine" (nor for Cheese, Breads, Lenses and 1 more); add one',
        "69:1: invalid YAML: a tab character stands in the indentation; indent with spaces",
    ]


@pytest.mark.parametrize("path", sorted(LIBRARY.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_is_shipped_is_right_and_confounds_nothing(path: Path) -> None:
    site = load_site_map("embedded") if path.stem in ("checkout", "reviews") else SITE
    found = check(path.stem, site, [ProductFacts("x", "Cookies", "Example", 19.99, 84, 12)])
    assert found.file is not None
    # The same words in several styles are what `visual` compares.
    same = "the same text as" if path.stem == "visual" else None
    unwanted = [each for each in found.warnings if not (same and each.message.startswith(same))]
    assert (found.errors, unwanted) == ((), [])


def test_every_edit_of_an_intervention_is_filled_in(tmp_path: Path) -> None:
    edits = "    edits: [{set_title: '${one}'}, {set_stock: '${two}'}, {set_price: '${value}'}]"
    assert item(tmp_path, f"    kind: title\n{edits}") == [
        '4:14: interventions[0].edits[0].set_title: nothing is known of "${one}"; known: product.category, product.key, product.name, product.other, product.price, product.rating, product.reviews, value',
        '4:37: interventions[0].edits[1].set_stock: nothing is known of "${two}"; known: product.category, product.key, product.name, product.other, product.price, product.rating, product.reviews, value',
    ]


def test_a_value_that_fits_only_some_products(tmp_path: Path) -> None:
    (problem,) = item(
        tmp_path,
        "    kind: price\n    edits: [{set_price: '${product.rating}'}, {set_price: '${product.name}'}]",
    )
    assert (
        problem
        == '4:48: interventions[0].edits[1].set_price: "Example" is not a price; write an amount such as 19.99'
    )


def test_a_fact_that_a_product_lacks(tmp_path: Path) -> None:
    text = "interventions: [{id: a, kind: title, edits: [{set_title: 'Rated ${product.rating}'}]}]"
    found = checked(tmp_path, text, [*PRODUCTS, ProductFacts("bare", "Wine", "Bare")])
    (problem,) = found.errors
    assert problem.message == 'the product "bare" has no rating; leave it out of the design'


def test_a_file_that_cannot_be_read_or_found(tmp_path: Path) -> None:
    (problem,) = check(tmp_path / "none.yaml", SITE, PRODUCTS).errors
    assert str(problem) == f"{tmp_path}/none.yaml: no such file; check the path"
    with pytest.raises(UserError, match='no interventions "nudgse"; did you mean "nudges"'):
        check("nudgse", SITE, PRODUCTS)


@pytest.mark.parametrize(
    "text",
    ["interventions: 3", "interventions: [3]", "interventions: [{id: [1]}]", "tables: {a: b}", "{}", "a: [{"],
)
def test_whatever_is_written_there_is_an_answer(tmp_path: Path, text: str) -> None:
    found = checked(tmp_path, text)
    assert found.errors
    assert all("; " in problem.message for problem in found.errors)


ITEMS = "name: fair\nroles: {item: li, item.link: a, item.title: b}\n"
"""A shop without pages of products."""


def test_what_the_map_lacks_is_a_warning_with_its_place(tmp_path: Path) -> None:
    site = tmp_path / "fair.yaml"
    site.write_text(ITEMS)
    path = tmp_path / "mine.yaml"
    path.write_text(
        "interventions:\n"
        "  - id: a\n    kind: display\n    edits:\n      - set_stock: Only 2 left\n"
        "  - id: b\n    kind: display\n    edits:\n"
        "      - insert_text: {after: product.title, text: Known from cards}\n"
    )
    found = check(path, load_site_map(site), PRODUCTS)
    assert not found.errors
    assert [str(problem).removeprefix(f"{path}:") for problem in found.warnings] == [
        "5:9: interventions[0].edits[0].set_stock: the site map fair has no role product.stock, "
        "so that no page can be treated; add it to the map"
    ]
