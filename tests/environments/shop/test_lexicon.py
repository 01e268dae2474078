"""The word lists of the shop: each has its parts, and its templates name slots that are there."""

from collections.abc import Iterable
from string import Formatter

from environments.shop import lexicon
from environments.shop.departments import departments, leaf_paths
from environments.shop.lexicon import shelves, unlisted
from environments.shop.market import MARKETS
from interventions.data_file import read_data

PARTS = {"brands", "heads", "tails", "words", "grades", "options", "details", "bullets", "aspects"}


def slots(templates: Iterable[str]) -> set[str]:
    return {slot for each in templates for _, slot, _, _ in Formatter().parse(each) if slot is not None}


def test_each_shelf_has_its_parts_and_its_templates_name_slots_that_are_there() -> None:
    told = read_data(lexicon.__file__, "shelves.yaml")
    assert {name: set(parts) for name, parts in told.items()} == dict.fromkeys(MARKETS, PARTS)
    for name, shelf in shelves().items():
        known = {"brand", *shelf.words, *shelf.grades}
        templates = (*shelf.heads, *shelf.tails, *shelf.bullets, *shelf.details.values())
        assert slots(templates) <= known, name
        assert set(shelf.options.values()) <= known, name
        lists = (shelf.brands, templates, shelf.aspects, *shelf.words.values(), *shelf.grades.values())
        for each in lists:
            assert len(set(each)) > 1, name
            assert all(text and text == " ".join(text.split()) for text in each), name


def test_the_tree_leads_to_each_shelf_and_the_others_are_in_none() -> None:
    assert {path[-1] for path in leaf_paths()} == set(shelves())
    assert {path[-1] for path in leaf_paths("second")} < set(shelves())
    assert {path[0] for path in (*leaf_paths(), *leaf_paths("second"))} == set(departments())
    assert not set(unlisted()) & set(shelves())
