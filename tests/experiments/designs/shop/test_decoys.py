"""Decoys: each product in each role and place once, dominance that holds exactly, and shown in the shop."""

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.trial import ShopTrial
from experiments.records.tables import receipts
from tests.experiments.designs.make import AGENT, shop, source
from tests.experiments.designs.shop.test_attributes import assert_written
from tests.experiments.designs.test_trials import assert_balanced
from tests.ground_truth import assert_chosen_as_known, carry_out, probabilities

ROLES = ("cheap", "good", "third")
DOMINATED = {
    "worse-than-cheap": {"cheap"},
    "worse-than-good": {"good"},
    "worse-than-both": {"cheap", "good"},
    "cheapest": set(),
    "dearest": set(),
}


def by_role(trial: ShopTrial) -> dict[str, Any]:
    return {trial.facts(item.key)["role"]: item for item in trial.products}


@pytest.mark.parametrize("repeats", [1, 2])
def test_each_product_has_each_role_and_each_place_once_in_every_condition(repeats: int) -> None:
    made = shop("decoys", repeats=repeats)
    assert_balanced(made)
    trials = list(made.trials(["a"]))
    assert len(trials) == made.size == 20 * 5 * 3 * repeats and made.block_size() == 15
    squares = Counter[Any]()
    for start in range(0, len(trials), 15):
        block = trials[start : start + 15]
        keys = {item.key for item in block[0].products}
        shown = {}
        for condition in DOMINATED:
            own = [trial for trial in block if trial.condition == condition]
            cells = [(i.key, t.facts(i.key)["role"], at) for t in own for at, i in enumerate(t.products)]
            for one, other, levels in (
                (0, 1, (keys, ROLES)),
                (0, 2, (keys, range(3))),
                (1, 2, (ROLES, range(3))),
            ):
                assert Counter((cell[one], cell[other]) for cell in cells) == Counter(product(*levels))
            shown[condition] = sorted([(i.key, t.facts(i.key)["role"]) for i in t.products] for t in own)
        assert all(each == shown["cheapest"] for each in shown.values())  # the same in all conditions
        squares[str([[role for _, role in each] for each in shown["cheapest"]])] += 1
    assert len(squares) > 6


def test_dominance_holds_exactly_in_all_sets() -> None:
    """And the two options are a true trade-off, the same in all conditions; all else is alike."""
    trials = list(shop("decoys").trials(["a"]))
    for trial in trials:
        own = by_role(trial)
        cheap, good, third = (own[role] for role in ROLES)
        assert cheap.price < good.price and cheap.rating < good.rating
        for role, other in (("cheap", cheap), ("good", good)):
            worse = third.price > other.price and third.rating < other.rating
            assert worse == (role in DOMINATED[trial.condition]), trial
        if trial.condition in ("cheapest", "dearest"):
            ordered = sorted(own, key=lambda role: own[role].price)
            assert ordered == sorted(own, key=lambda role: own[role].rating)
            assert ordered[1] == {"cheapest": "cheap", "dearest": "good"}[trial.condition]
        assert len({item.reviews for item in trial.products}) == 1
    offers = {
        (t.set, role, i.price, i.rating) for t in trials for role, i in by_role(t).items() if role != "third"
    }
    assert len(offers) == 2 * 20


def test_a_control_and_the_middle_place_can_be_left_out() -> None:
    keys = experiment_source("decoys").data["decoys"]
    for names in (("worse-than-cheap", "worse-than-good"), ("cheapest", "dearest")):
        made = shop("decoys", decoys={**keys, "third": {name: keys["third"][name] for name in names}})
        assert {trial.condition for trial in made.trials(["a"])} == {*names} and made.block_size() == 6


@pytest.mark.browser
async def test_the_browser_shows_what_was_planned(tmp_path: Path) -> None:
    """A shopper that reads the list can only choose as known if each card shows its price and rating."""
    file = source("decoys", options={**experiment_source("decoys").data["options"], "sets": 1})
    done = await carry_out(tmp_path, file, AGENT, 15, 4)
    assert (done.table["outcome"] == "choice").all()
    assert_chosen_as_known(done, probabilities(done.table, "balanced"))
    shown, written = done.table.set_index(["trial", "option"]), done.rows(receipts)
    for trial in done.trials.values():
        for item in trial.products:
            row = shown.loc[(trial.id, item.key)]
            assert (row["price"], row["rating"], row["reviews"]) == (item.price, item.rating, item.reviews)
            assert (row["attr_role"], row["condition"]) == (trial.facts(item.key)["role"], trial.decoy)
            assert_written(written[trial.id], trial, item)
