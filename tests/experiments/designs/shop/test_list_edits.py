"""Edits of lists in experiments: whether each trial can show what is planned in it."""

from pathlib import Path

import pytest

from interventions.errors import UserError
from tests.experiments.designs.make import shop

ON = {"order": ["none", "each"], "pattern": ["none", "shop"]}
SETS = "each trial sets itself what its list shows, and in which order; write options.pairing: whole-list"


def made(folder: Path, kind: str, edit: str, name: str) -> None:
    file = folder / "own.yaml"
    file.write_text(f"interventions: [{{id: own, kind: {kind}, edits: [{edit}]}}]\n")
    order = "listed" if name == "category" else "both"
    on = ["none", "random"] if name == "category" and kind == "order" else ON[kind]
    shop(name, factors={"nudge": {"interventions": str(file), "on": on}, "order": order})


@pytest.mark.parametrize("name", ["listing", "search"])
@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        ("order", "reorder: {rank: 1}"),
        ("order", "swap: lamp"),
        ("pattern", "reorder: {shuffle: 1}"),
        ("pattern", "sort_default: {by: price}"),
        ("pattern", "results: 3"),
    ],
)
def test_a_list_that_is_cut_to_the_choice_set_has_the_order_of_the_trial(
    tmp_path: Path, kind: str, edit: str, name: str
) -> None:
    """The edit would get its receipt, and the list would stand as in a control trial."""
    with pytest.raises(UserError) as told:
        made(tmp_path, kind, edit, name)
    assert f"own: {SETS}, or leave {edit.partition(':')[0]} out" in str(told.value)


@pytest.mark.parametrize("edit", ["reorder: {shuffle: 1}", "sort_default: {by: price}", "results: 3"])
@pytest.mark.parametrize("name", ["listing", "category", "nudges"])
def test_no_product_carries_what_is_done_to_a_whole_list(tmp_path: Path, edit: str, name: str) -> None:
    """It would be done in the trials only whose carrier is the first of its list, or the last."""
    with pytest.raises(UserError) as told:
        made(tmp_path, "order", edit, name)
    said = f"own: {edit.partition(':')[0]} is of a whole list; write kind: pattern, and on: [none, shop]"
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("name", "kind", "edit"),
    [
        ("category", "order", "reorder: {rank: 1}"),
        ("category", "pattern", "sort_default: {by: price}"),
        ("listing", "order", "insert_item: {rank: 1}"),
        ("nudges", "order", "reorder: {rank: 1}"),
    ],
)
def test_other_lists_and_tabs_may_be_ordered(tmp_path: Path, name: str, kind: str, edit: str) -> None:
    made(tmp_path, kind, edit, name)
