"""Edits of lists in experiments: whether each trial can show what is planned in it."""

import re
from pathlib import Path

import pytest

from interventions.edits.link_to import LinkTo
from interventions.errors import UserError
from tests.experiments.designs.make import AGENT, shop

ON = {"order": ["none", "each"], "pattern": ["none", "shop"]}
SETS = "each trial sets itself what its list shows, and in which order; write options.pairing: whole-list"


def made(folder: Path, kind: str, edit: str, name: str) -> None:
    file = folder / "own.yaml"
    file.write_text(f"interventions: [{{id: own, kind: {kind}, edits: [{edit}]}}]\n")
    order = "listed" if name == "category" else "both"
    on = ["none", "random"] if name == "category" and kind == "order" else ON[kind.partition(",")[0]]
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


@pytest.mark.parametrize("edit", ["insert_item: {rank: 1}", "link_to: {to: ^}"])
def test_tabs_have_no_lists(tmp_path: Path, edit: str) -> None:
    with pytest.raises(UserError) as told:
        made(tmp_path, "order", edit.replace("^", '"${product.other}"'), "nudges")
    lists = "is made on pages of a category or a search only; write task: listing or search, or leave it out"
    assert f"own: {edit.partition(':')[0]} {lists}" in str(told.value)


def test_a_page_type_without_lists_is_no_place_for_edits_of_lists(tmp_path: Path) -> None:
    with pytest.raises(UserError) as told:
        made(tmp_path, "order, pages: [product, cart]", "link_to: {to: lamp}", "listing")
    assert str(told.value).startswith(f"{tmp_path / 'own.yaml'}:1:")
    assert "pages: link_to is made on listing only; add it, or leave the key out" in str(told.value)


def test_links_lead_to_another_product_of_the_choice_set(tmp_path: Path) -> None:
    products = next(iter(shop("listing").sets.values()))
    for to in ("no-such-product", products[0].key):
        with pytest.raises(UserError) as told:
            made(tmp_path, "order", f"link_to: {{to: {to}}}", "listing")
        (line,) = str(told.value).splitlines()
        assert re.match(rf"{tmp_path}/own.yaml:1:\d+: interventions\[0\].edits\[0\].link_to.to: for ", line)
        assert f'"{to}" is ' in line and line.endswith("; write ${product.other}, which fits all sets")


def test_the_other_product_is_the_next_of_the_set_in_each_order(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    edit = '{link_to: {to: "${product.other}"}}'
    file.write_text(f"interventions: [{{id: own, kind: order, edits: [{edit}]}}]\n")
    factors = {"nudge": {"interventions": str(file), "on": ["none", "each"]}, "order": "both"}
    options = {"pairing": "price-adjacent", "sets": 3, "set_size": 3}
    design = shop("listing", factors=factors, options=options)
    for trial in design.trials([AGENT]):
        keys, links = sorted(each.key for each in trial.products), {}
        for treatment in design.plan(trial).treatments:
            links |= {str(treatment.product): each.to for each in treatment.edits if isinstance(each, LinkTo)}
        wanted = dict(zip(keys, [*keys[1:], keys[0]], strict=True))
        assert links == ({trial.carrier: wanted[trial.carrier]} if trial.carrier else {})
