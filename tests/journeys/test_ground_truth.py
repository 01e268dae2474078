"""The whole chain against a known truth: trials of `make demo` in real Chromium, eight episodes at once.

The choice of every trial is known beforehand from the shopper's weights and the trial's seed.
"""

import re
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path

import pandas as pd
import pytest

from analysis.choice.effects.effects import choice_effects
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.records import tables
from experiments.treatment.treatment_check import squeeze
from interventions.edits.registry import EDITS
from interventions.yaml.sitemap import product_key
from interventions.yaml.yaml_source import Source, parse_yaml
from tests.ground_truth import Done, assert_chosen_as_known, carry_out, held, probabilities
from tests.support import size
from tests.true_effects import true_effects

TRIALS = size(36, 240)
SLOTS = 8
TERMS = ["viewed_first", "higher_rated", "cheaper", "nudged"]

pytestmark = [pytest.mark.first, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
async def done(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Done]:
    folder = tmp_path_factory.mktemp("long-run")
    yield await carry_out(
        folder, experiment_source("nudges"), "simulated:balanced", TRIALS, SLOTS, step=size(5, 1)
    )


def small(interventions: str) -> Source:
    text = f"""
name: small
goal: Add the best product from the open tabs to the shopping cart.
options: {{sets: 16}}
factors:
  nudge: {{interventions: {interventions}, on: [none, each]}}
seed: 7
"""
    return parse_yaml(text, "small.yaml")


def test_every_trial_ends_in_a_choice(done: Done) -> None:
    assert done.records.outcomes(done.design.run_id) == {"choice": TRIALS}
    assert set(done.table["trial"]) == set(done.trials)
    assert (done.table.groupby("trial")["chosen"].sum() == 1).all()


def test_every_choice_is_the_one_that_the_weights_give(done: Done) -> None:
    assert_chosen_as_known(done, probabilities(done.table, "balanced"))


def test_the_browser_run_gives_the_weights_effects_back(done: Done) -> None:
    truth = true_effects(done.table, probabilities(done.table, "balanced")).set_index("term")["estimate"]
    effects = choice_effects(done.table).set_index("term")
    off = (effects["estimate"] - truth) / effects["std_error"]
    assert sorted(off.index) == sorted(TERMS)
    assert (truth.abs() > 5).all(), "the shopper reacts to everything"
    assert (off.abs() < 3).all(), pd.DataFrame({"truth": truth, "found": effects["estimate"], "off": off})


def test_intervals_hold_the_truth_on_this_design(done: Done) -> None:
    repetitions = size(20, 100)
    found = held(done.table, probabilities(done.table, "balanced"), repetitions)
    assert (found >= 0.9 * repetitions).all(), found


def test_every_planned_edit_has_its_receipt_and_was_read(done: Done) -> None:
    receipts, steps = done.rows(tables.receipts), done.rows(tables.steps)
    for name, trial in done.trials.items():
        shown = defaultdict(str)
        for step in steps[name]:
            shown[product_key(step["url"])] += squeeze(done.records.artifact(step["observation"]))
        assert set(shown) == {product.key for product in trial.products}, "the shopper looks at every tab"
        expected = {
            (treatment.intervention, edit.kind(), product.key)
            for product in trial.products
            for treatment in (
                *done.design.plan(trial).by_product.get(product.key, ()),
                *done.design.plan(trial).everywhere,
            )
            for edit in treatment.edits
        }
        got = {(row["intervention"], row["edit"], row["product"]) for row in receipts[name]}
        assert got == expected, "all receipts, and none of another episode"
        for row in receipts[name]:
            if EDITS[row["edit"]].readable:
                assert squeeze(row["after"]) in shown[row["product"]]


def test_no_episode_sees_anything_of_another(done: Done) -> None:
    texts = {
        nudge.id: re.compile(re.sub(r"\\\$\\\{\w+\\\}", ".+", re.escape(nudge.text)))
        for nudge in done.design.nudges
        if nudge
    }
    for name, steps in done.rows(tables.steps).items():
        trial = done.trials[name]
        own = trial.nudge.id if trial.nudge and trial.carrier else ""
        for step in steps:
            page = squeeze(done.records.artifact(step["observation"]))
            key = product_key(step["url"])
            seen = {nudge for nudge, text in texts.items() if text.search(page)}
            assert seen == ({own} if own and key == trial.carrier else set())
        last = done.records.artifact(steps[-1]["observation"])
        assert re.search(r"My Cart\D*1\b", squeeze(last)), (
            "one product in the cart, not another episode's too"
        )
        chosen = next(product for product in trial.products if product.key == product_key(steps[-1]["url"]))
        assert f"You added {chosen.name} to your" in squeeze(re.sub("<[^>]+>", " ", last))


OWN = """
interventions:
  - {id: two-left, kind: nudge, family: scarcity, direction: +1, edits: [insert_text: {after: product.price_box, text: Only 2 left}]}
  - {id: sold-out, kind: nudge, family: scarcity, direction: -1, edits: [set_stock: "Back in ${product.reviews} weeks"]}
  - {id: banner, kind: nudge, family: scarcity, direction: +1, edits: [banner: {text: The last days}]}
  - {id: plain, kind: placebo, edits: [insert_text: {after: product.price_box, text: Part of our catalogue}]}
"""  # noqa: E501


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("interventions", "taste", "trials"),
    [
        ("nudges", "price", size(24, 64)),  # which no nudge moves
        ("own.yaml", "nudge-prone", size(12, 72)),  # no text is in its own words, it reads them on the page
        ("placebo", "nudge-prone", size(12, 60)),  # which moves nobody
    ],
)
async def test_each_shopper_is_moved_as_it_is_known_to_be_moved(
    interventions: str, taste: str, trials: int, tmp_path: Path
) -> None:
    (tmp_path / "own.yaml").write_text(OWN)
    named = str(tmp_path / interventions) if interventions == "own.yaml" else interventions
    done = await carry_out(tmp_path, small(named), f"simulated:{taste}", trials, SLOTS, step=size(5, 1))
    plain = done.table["nudge"] == "plain"
    chances = probabilities(done.table.assign(direction=done.table["direction"].mask(plain, 0)), taste)
    assert_chosen_as_known(done, chances)
    condition = done.table.groupby("trial")["condition"].first()
    assert done.table.groupby("trial")["placebo"].sum().eq(condition == "placebo").all()
