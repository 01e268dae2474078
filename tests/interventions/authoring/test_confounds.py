"""Designs that work, but cannot tell what one wants to know."""

# ruff: noqa: E501 - messages stand as they are compared

from pathlib import Path

import pytest

from interventions.apply.plan import ProductFacts
from interventions.authoring.check import check
from interventions.yaml.sitemap import load_site_map

SITE = load_site_map("onestopmarket")
PRODUCT = ProductFacts("x", "Cookies", "Example", 19.99, 84, 12)


def warnings(tmp_path: Path, *items: str) -> list[str]:
    """The warnings of a file with these interventions, without the file's name."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        "interventions:\n" + "".join(f"  - {{id: i{n}, {item}}}\n" for n, item in enumerate(items))
    )
    found = check(path, SITE, [PRODUCT])
    assert found.file is not None, found.errors
    return [str(problem).removeprefix(f"{path}:") for problem in found.warnings]


def nudge(text: str) -> str:
    return f"kind: nudge, family: f, direction: 1, edits: [{{insert_text: {{after: product.title, text: {text!r}}}}}]"


BUNDLE = "kind: price, edits: [{set_price: 9}, {set_stock: Few left}]"


def test_edits_that_always_go_together(tmp_path: Path) -> None:
    assert warnings(tmp_path, BUNDLE, BUNDLE) == [
        "2:27: interventions[0].edits: set_price and set_stock always go together, so their effects cannot be told "
        "apart; add an intervention that has one of them alone"
    ]


@pytest.mark.parametrize("edit", ["{set_price: 9}", "{set_stock: Few left}"])
def test_edits_of_which_one_stands_alone_elsewhere(tmp_path: Path, edit: str) -> None:
    assert warnings(tmp_path, BUNDLE, f"kind: price, edits: [{edit}]") == []


@pytest.mark.parametrize(
    ("edit", "pages", "left_out"),
    [
        ("set_price: 9", "product", "listing, home, cart"),
        ("set_price: '${value}'", "product, listing, home", "cart"),
        ("set_rating: 9", "product", "listing, home"),
        ("set_reviews: 9", "listing, home", "product"),
    ],
)
def test_pages_that_would_show_the_old_value(tmp_path: Path, edit: str, pages: str, left_out: str) -> None:
    part = edit.partition(":")[0].removeprefix("set_")
    (warning,) = warnings(tmp_path, f"kind: price, pages: [{pages}], edits: [{{{edit}}}]")
    assert f"interventions[0].pages: these pages still show the old {part}: {left_out}; " in warning


@pytest.mark.parametrize(
    "item",
    [
        "kind: price, edits: [{set_price: 9}]",
        "kind: price, pages: [product, listing, home, cart], edits: [{set_price: 9}]",
        "kind: rating, pages: [product, listing, home], edits: [{set_rating: 9}]",
        "kind: remove, pages: [product], edits: [{remove: product.stock}]",
    ],
)
def test_pages_that_agree(tmp_path: Path, item: str) -> None:
    assert warnings(tmp_path, item) == []


def test_the_same_text_twice(tmp_path: Path) -> None:
    found = warnings(tmp_path, nudge("Buy now"), nudge("Or later"), nudge("Buy now"))
    assert [line.partition(": ")[2] for line in found] == [
        'interventions[2].edits: the same text as "i0", so that a reader of texts takes them for one; change one'
    ]


def test_a_text_much_longer_than_the_others(tmp_path: Path) -> None:
    texts = ["Ten chars.", "Ten chars!", "Twenty characters ok", "Twenty-one characters"]
    found = warnings(tmp_path, *map(nudge, texts), nudge("x" * 41))
    assert [line.partition(": ")[2] for line in found] == [
        "interventions[4].edits: the text has 41 characters, the median of the file is 20: length could explain its "
        "effect; shorten it, or lengthen the others"
    ]
    assert warnings(tmp_path, nudge("short"), nudge("x" * 100)) == []
