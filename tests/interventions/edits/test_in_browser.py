"""What stands on a page in a browser: words and figures of their own, each at its place."""

import pytest

from interventions.edits.in_browser import (
    Element,
    ElementQuery,
    InsertedElement,
    PageElements,
    PagePlaces,
    ScreenBox,
    Verdict,
    holds,
    inserted,
    is_one_of,
)
from interventions.yaml.sitemap import load_site_map

SITE = load_site_map("onestopmarket")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("only 9.99 today", "9.99"), ("9.99", "9.99"), ("it is 9.99.", "9.99"),
        ("was 19.99, now 9.99, new", "9.99"),
        ("$1,299.00 $299.00", "299.00"), ("Best of all", "Best  of\nall"), ("(Best)", "Best"),
        ("a + b", "+ b"),
    ],
)  # fmt: skip
def test_a_text_of_its_own_is_found(text: str, wanted: str) -> None:
    assert holds(text, wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("only 19.99 today", "9.99"), ("9.995", "9.99"), ("1,299.00", "299.00"), ("1.299,00", "299,00"),
        ("299.00", "299"), ("299,00", "299"), ("Bestseller", "Best"), ("the NotBest", "Best"),
        ("anything", " "),
    ],
)  # fmt: skip
def test_a_part_of_a_longer_word_or_figure_is_not(text: str, wanted: str) -> None:
    assert not holds(text, wanted)


def there(*beside: InsertedElement) -> PagePlaces:
    """A page whose title has these elements beside it."""
    (place, *_) = SITE.role("product.title")
    return PagePlaces(
        SITE, PageElements({ElementQuery(place.css, place.attribute): (Element("Oats", "Oats", beside),)})
    )


def test_what_was_inserted_stands_where_it_was_put() -> None:
    best = InsertedElement("after", "Best of all", "Best of all", ScreenBox(8, 40, 200, 20))
    page = there(best)
    fits = is_one_of(["Best of all"])
    assert inserted(page, "product.title", "after", fits, "Best of all") == Verdict(at=(best,))
    assert inserted(page, "product.title", "before", fits, "Best of all").problem
    assert inserted(page, "product.title", "after", is_one_of(["Best"]), "Best").problem
    assert inserted(there(), "product.title", "after", fits, "Best of all").problem


def test_one_of_several_that_was_given_is_enough_and_none_is_told() -> None:
    hidden, seen = InsertedElement("after", "Best", ""), InsertedElement("after", "Best", "Best")
    for beside, given in (((hidden, seen), True), ((hidden,), False)):
        found = inserted(there(*beside), "product.title", "after", is_one_of(["Best"]), "Best")
        assert (found.problem, found.given) == ("", given)


def test_a_text_that_was_cut_is_known_by_its_beginning() -> None:
    fits = is_one_of(["Best of a…", "…"])
    assert fits("Best of all") and fits("…")
    assert not fits("Best of") and not fits("The Best of all") and not fits("")
