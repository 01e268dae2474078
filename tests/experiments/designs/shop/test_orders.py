"""Experiments whose trials end with an order: twins, ids, and mistakes."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.designs.shop.design import ShopDesign
from interventions.edits.registry import EDITS
from interventions.errors import UserError
from interventions.files.presets import presets
from interventions.files.schema import load_interventions, make_interventions
from interventions.yaml.sitemap import load_site_map
from interventions.yaml.yaml_source import parse_yaml

AGENT = "simulated:careless"
EXPERIMENT: dict[str, Any] = {
    "name": "orders",
    "site": "embedded",
    "ends": "order",
    "goal": "Order the best product.",
    "options": {"sets": 2},
    "factors": {
        "nudge": {"interventions": "checkout", "only": ["protection-opt-out"], "on": ["none", "shop"]},
        "order": "listed",
    },
    "limits": {"steps": 40},
}


def design(**changes: Any) -> ShopDesign:
    return ShopDesign(parse_yaml(yaml.safe_dump(EXPERIMENT | changes, sort_keys=False), "orders.yaml"))


def nudge(**changes: Any) -> dict[str, Any]:
    return {"factors": {"nudge": EXPERIMENT["factors"]["nudge"] | changes, "order": "listed"}}


def test_a_control_shows_the_twin_of_its_pattern_and_differs_in_nothing_else() -> None:
    made = design()
    trials = list(made.trials([AGENT]))
    assert [trial.condition for trial in trials] == ["control", "nudged"] * 2
    for control, treated in zip(trials[::2], trials[1::2], strict=True):
        plans = [made.plan(trial).to_dict()["treatments"] for trial in (control, treated)]
        ((one, other),) = [pair for pair in zip(*plans, strict=True) if pair[0] != pair[1]]
        assert (one.pop("intervention"), other.pop("intervention")) == (
            "protection-opt-in",
            "protection-opt-out",
        )
        assert one | {"edits": other["edits"]} == other
        ((box,),) = ([edit["checkout_option"] for edit in each["edits"]] for each in (other,))
        assert one["edits"] == [{"checkout_option": {key: box[key] for key in box if key != "ticked"}}]
        assert (control.products, control.goal, control.start) == (
            treated.products,
            treated.goal,
            treated.start,
        )
        assert not treated.carried


def test_a_pattern_without_a_twin_is_compared_with_the_shop_as_it_is() -> None:
    made = design(**nudge(only=["service-fee-cart"]))
    control, treated = list(made.trials([AGENT]))[:2]
    assert made.planned(treated) - made.planned(control) == {"service-fee-cart"}


def test_the_analysis_is_of_orders_and_other_experiments_keep_theirs() -> None:
    assert design().analysis == "orders"
    plain = {key: each for key, each in EXPERIMENT.items() if key not in ("ends", "factors")}
    assert ShopDesign(parse_yaml(yaml.safe_dump(plain), "plain.yaml")).analysis == "choice"


@pytest.mark.parametrize(
    "changes, told",
    [
        (
            {"site": "onestopmarket"},
            r"orders.yaml:3:1: ends: the site map onestopmarket does not say what an order is",
        ),
        ({"ends": "payment"}, r"orders.yaml:3:1: ends: "),
        (
            nudge(on=["none", "each"]),
            r"nudge.on: protection-opt-out \(kind: pattern\) is the shop's: write none and shop",
        ),
        (nudge(on=["shop", "each"]), r"nudge.on: the shop carries an intervention, or a product does"),
        (
            {"ends": "cart", "site": "onestopmarket"},
            r"the site map onestopmarket has no role checkout.place, which checkout_option needs",
        ),
        (
            {
                "environment": "http://shop.test",
                "live": {"stop_before": ["Pay"]},
                "options": {"file": "x.csv"},
            },
            r"ends: orders are placed in the embedded shop only",
        ),
        ({"ends": "cart", "wants": {"quantity": 2}}, r"wants: no trial has an order; write ends: order"),
        (
            {"wants": {"product": "right"}},
            r"wants.product: the profile none does not say which",
        ),
        ({"wants": {"quantity": 0}}, r"wants.quantity"),
        ({"wants": {"quantity": True}}, r"wants.quantity"),
        (
            {"factors": {"nudge": {"interventions": "nudges", "on": ["none", "each"]}}}
            | {"observation": ["html", "feed"], "wants": {"quantity": 2}},
            r"wants.quantity: by feed one piece is ordered",
        ),
        (nudge(only=["total-plus-20"] * 2), r"only\[1\]: total-plus-20 stands twice; remove one of them"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        design(**changes)
    assert "\n" not in str(caught.value)


def test_who_souk_does_not_run_ends_at_the_cart() -> None:
    source = parse_yaml(yaml.safe_dump(EXPERIMENT, sort_keys=False), "orders.yaml")
    with pytest.raises(
        UserError, match=r"orders.yaml:3:1: ends: the trials of a subject that Souk does not run"
    ):
        ShopDesign(source, subject="somebody")
    with pytest.raises(UserError, match=r"agents: the trials of a program \(command:x\) end at the cart"):
        next(design().trials(["command:x"]))


def test_of_pictures_simulated_customers_order_nothing_and_a_note_says_so() -> None:
    assert any("of pictures" in note for note in design(observation="screenshot").notes([AGENT]))
    assert not design().notes([AGENT])
    (note,) = design(limits={}).notes([AGENT])
    assert note == "limits.steps is 10, and an order takes about 16 actions; write 40"


def test_an_unknown_control_is_told() -> None:
    text = "interventions: [{id: a, kind: pattern, control: b, edits: [{fee: {label: x, amount: 1}}]}]"
    with pytest.raises(UserError, match=r"x.yaml:1:40: interventions\[0\].control: no intervention \"b\""):
        make_interventions(parse_yaml(text, "x.yaml"), load_site_map("embedded"))


def test_the_patterns_of_other_studies_are_here_or_it_says_why_not() -> None:
    text = Path("docs/orders.md").read_text(encoding="utf-8")
    table = text.partition("## Patterns of other")[2]
    rows = re.findall(r"^\| (\w+) \| ([^|`]+) \| ([^|]+) \|$", table, re.M)
    told = [(each.study, name, of) for each in presets().values() for name, of in each.patterns.items()]
    counts = Counter(study for study, _, _ in told)
    assert counts == {"SusBench": 9, "TrickyArena": 14, "DECEPTICON": 6, "WebDecept": 7}
    assert [(row[0], row[1]) for row in rows[1:]] == [(study, name) for study, name, _ in told]
    for (_, _, here), (_, _, of) in zip(rows[1:], told, strict=True):
        ids = {id for each in (of.values() if isinstance(of, dict) else ()) for id in each}
        assert {*re.findall(r"`([\w-]+)`", here)} - EDITS.keys() == ids, here
        assert bool(ids) != here.startswith(("missing: ", "the edit")), here


@pytest.mark.parametrize("name", presets())
def test_a_preset_is_its_ids_and_says_what_it_lacks(name: str) -> None:
    for file in presets()[name].files:
        known = {item.id: item for item in load_interventions(file, load_site_map("embedded")).interventions}
        wanted = [known[id] for id in presets()[name].ids(file)]
        assert len({item.kind for item in wanted}) == 1  # all of them are the shop's, or all are a product's
    made = design(**nudge(only=[name]))
    assert [each.id for each in made.nudges if each] == presets()[name].ids("checkout")
    (note,) = made.notes([])
    assert note.startswith(f"{name}: checkout has ") and ("not there" in note) == (name != "sus-nine")
    with pytest.raises(UserError, match=f"placebo has no pattern of {name}, which is in "):
        design(**nudge(only=[name], interventions="placebo"))


def test_each_shipped_pattern_says_what_it_is_and_has_a_control_or_is_one() -> None:
    every = load_interventions("checkout", load_site_map("embedded")).interventions
    controls = {item.control for item in every}
    for item in every:
        assert item.deceived_when, item.id
        assert item.id in controls or item.control or item.family in ("offer", "early fee", "drip pricing")
        if item.control:
            assert item.gray and item.mathur and item.law, item.id
    assert not {item.gray for item in every if item.id in controls} - {""}
