"""The price of a unit in the page's own format, computed from the price that is shown."""

import pytest

from interventions.apply.engine import EditFailed
from interventions.edits.in_browser import Element, ElementQuery, InsertedElement, PageElements, PagePlaces
from interventions.edits.registry import edit_from_dict
from interventions.edits.showing import Change
from tests.interventions.rewriting import LINK, Edit, read, rewritten, site_of

ROLES = {"product.title": "h1", "product.price": "b", "item": "li", "item.link": LINK, "item.price": "i"}
SITE = site_of(ROLES)


def page(price: str) -> str:
    card = f"<ul><li><a href=/oats>x</a><i>{price}</i></ul>"
    return f"<html lang=en><body><h1>Oats</h1><b>{price}</b>{card}</body></html>"


def of_unit(price: str, *before: Edit, **how: object) -> str:
    edit: Edit = {"unit_price": {"content": 500, "unit": "g", **how}}
    own, card = read(rewritten(page(price), "oats", *before, edit, site=SITE).body, "b + span, i + span")
    assert own == card
    return own


@pytest.mark.parametrize(
    ("price", "how", "told"),
    [
        ("$12", {}, "$2.40 per 100 g"),
        ("12,00 €", {}, "2,40 € per 100 g"),
        ("1 299,00 kr", {}, "259,80 kr per 100 g"),
        ("¥1,200", {}, "¥240 per 100 g"),
        ("$19<sup>99</sup>", {}, "$4.00 per 100 g"),
        ("$12.00", {"unit": "kg", "content": 0.5}, "$24.00 per kg"),
        ("$12.00", {"per": 50}, "$1.20 per 50 g"),
        ("$12.00", {"unit": "fl oz", "content": 6}, "$2.00 per fl oz"),
    ],
)
def test_it_is_written_as_the_price_is(price: str, how: dict[str, object], told: str) -> None:
    assert of_unit(price, **how) == told


def test_it_follows_from_the_price_that_is_shown() -> None:
    assert of_unit("$12.00", {"set_price": 20.50}) == "$4.10 per 100 g"


@pytest.mark.parametrize("price", ["12.00", "From $12.00", "$10.00 – $20.00", "sold out", "$0.01"])
def test_what_is_no_price_alone_has_none(price: str) -> None:
    with pytest.raises(EditFailed, match=r"one price|and nothing else|too small"):
        of_unit(price)


def test_a_page_tells_one_price_of_a_unit() -> None:
    with pytest.raises(EditFailed, match="a price of a unit of its own"):
        rewritten(
            page("$12"),
            "oats",
            {"unit_price": {"content": 5, "unit": "g"}},
            site=site_of(ROLES | {"product.unit_price": "h1"}),
        )


@pytest.mark.parametrize(("price", "problem"), [("$12.00", False), ("$13.00", True), ("$1.20", True)])
def test_a_price_that_changes_later_is_found(price: str, problem: bool) -> None:
    edit, text = edit_from_dict({"unit_price": {"content": 500, "unit": "g"}}), "$2.40 per 100 g"
    element = Element(price, price, (InsertedElement("after", text, text),))
    there = PagePlaces(SITE, PageElements({ElementQuery("b"): (element,)}))
    verdict = edit.stands(there, [Change(1, "", text)])
    assert verdict is not None and bool(verdict.problem) == problem
