"""The key `allocation`: which trials come last, and for which agents they are left out."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import Taste
from analysis.choice.effects.effects import main_effects
from analysis.choice.exact.exact import exact_tests
from analysis.choice.exact.exact_many import MainTests
from analysis.tables.frame import Floats
from experiments.designs.shop.allocation import Agreement, Allocation, allocation_of
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from experiments.designs.shop.trial import ShopTrial
from tests.experiments.designs.make import AGENT, shop
from tests.experiments.designs.shop.test_stopping import ended, the_order
from tests.simulated_choices import with_choices
from tests.support import size

ADAPTIVE = {"allocation": "adaptive"}
SMALL = {"options": {"pairing": "price-adjacent", "set_size": 2, "sets": 20, "max_price_gap": 0.5}}


def the_allocation(made: ShopDesign) -> Allocation:
    """The allocation as it is read from what is stored."""
    found = allocation_of(json.loads(json.dumps(made.facts([AGENT]).to_dict())))
    assert found
    return found


def question(trial: ShopTrial) -> tuple[object, ...]:
    words = trial.nudge.id if trial.nudge and trial.carrier else ""
    return trial.agent, trial.set, trial.ordering, trial.profile, trial.carrier, words


def agreement(made: ShopDesign, trials: Iterable[ShopTrial], choices: Iterable[str | None]) -> Agreement:
    rows = [ended(trial, choice) for trial, choice in zip(trials, choices, strict=True)]
    return the_allocation(made).agreements(rows)[AGENT]


def test_the_key_makes_another_run_and_its_default_the_same() -> None:
    plain, adaptive = shop(**SMALL), shop(**SMALL, **ADAPTIVE)
    assert shop(**SMALL, allocation="all").run_id == plain.run_id != adaptive.run_id
    assert [t.id for t in shop(**SMALL, allocation="all").trials([AGENT])] == [
        t.id for t in plain.trials([AGENT])
    ]
    assert not any(map(plain.is_further, plain.trials([AGENT])))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"repeats": 3},
        {"repeats": 2, "profiles": ["price-increased", "none"]},
        {"repeats": 3, "factors": {"nudge": {"interventions": "nudges", "on": ["each"]}, "order": "listed"}},
        {"repeats": 4, "factors": {"order": "both"}},
    ],
)
def test_trials_of_a_question_that_was_asked_twice_before_come_last(changes: dict[str, Any]) -> None:
    made = shop(**{**SMALL, **ADAPTIVE, **changes})
    plain = shop(**{**SMALL, **changes})
    trials, asked, further = list(made.trials([AGENT])), Counter[object](), list[bool]()
    for trial in trials:
        further.append(asked[question(trial)] >= 2)
        asked[question(trial)] += 1
    assert [made.is_further(trial) for trial in trials] == further == sorted(further)
    cells = Counter((question(trial), trial.repeat) for trial in trials)
    assert cells == Counter((question(trial), trial.repeat) for trial in plain.trials([AGENT]))
    found = the_allocation(made)
    assert found.left_out == sum(further)
    assert found.questions == sum(number > 2 for number in asked.values())
    assert [found.is_further(ended(trial, None)) for trial in trials] == further


def test_a_stopping_rule_counts_trials_in_the_order_in_which_they_run() -> None:
    made = shop(**SMALL, **ADAPTIVE, stopping={"rule": "anytime-valid"}, repeats=2)
    order = the_order(made)
    rows = [order.row(ended(trial, trial.products[0].key)) for trial in made.trials([AGENT])]
    assert [row and row[0] for row in rows] == list(range(len(rows)))


def choices_of(made: SimulatedTrials, chosen: Floats) -> list[str]:
    options = made.table["option"].to_numpy()[chosen == 1]
    return list(options)


def shoppers() -> dict[str, Taste]:
    balanced = shipped_taste("balanced")
    return {
        "noise": balanced,
        "random": Taste(),
        "alike": balanced.model_copy(update={"determinism": 1.0}),
        "nearly alike": balanced.model_copy(update={"determinism": 0.9}),
        "no noise": balanced.model_copy(update={"noise": 0.0}),
    }


@pytest.mark.parametrize("name", shoppers())
def test_repeats_are_left_out_for_agents_whose_answers_are_nearly_fixed(name: str) -> None:
    made = shop(**ADAPTIVE)
    trials = simulated_trials(made, shoppers()[name], None, AGENT)
    chosen = trials.drawn(np.random.default_rng(1), 1)[:, 0]
    found = agreement(made, trials.trials, choices_of(trials, chosen))
    assert found.ended and found.questions == 100 and found.left_out == 800
    assert any("800 further repeats of an agent follow" in note for note in made.notes([AGENT]))
    assert (found.settled, found.varies) == ((False, True) if name in ("noise", "random") else (True, False))
    assert found.alike == 100 or name not in ("alike", "no noise")


def test_the_decision_waits_for_all_and_needs_choices() -> None:
    made = shop(**SMALL, **ADAPTIVE)
    trials = [trial for trial in made.trials([AGENT]) if not made.is_further(trial)]
    same = [min(product.key for product in trial.products) for trial in trials]
    assert agreement(made, trials, same).settled
    last = max(number for number, trial in enumerate(trials) if trial.carrier is None)
    missing = [*trials[:last], *trials[last + 1 :]]
    found = agreement(made, missing, [*same[:last], *same[last + 1 :]])
    assert not (found.ended or found.settled or found.varies)
    none = [None if trial.carrier is None else key for trial, key in zip(trials, same, strict=True)]
    assert agreement(made, trials, none).varies, "without choices nothing is known to be alike"


def as_left(made: SimulatedTrials, design: ShopDesign) -> tuple[pd.DataFrame, np.ndarray]:
    """The table of an agent that is asked no further repeats, with its chances, and its rows in the whole."""
    first = np.repeat([not design.is_further(trial) for trial in made.trials], 2)
    table = made.table[first].reset_index(drop=True)
    return table.assign(assignment=np.where(table["condition"] == "control", 0.2, 1.0)), first


def test_the_weighted_estimates_are_those_of_all_trials_where_answers_are_fixed() -> None:
    design = shop(**ADAPTIVE)
    made = simulated_trials(design, shoppers()["alike"], None)
    chosen = made.drawn(np.random.default_rng(2), 1)[:, 0]
    table, first = as_left(made, design)
    left, whole = with_choices(made, chosen)[first], with_choices(made, chosen)
    left = left.assign(assignment=table["assignment"].to_numpy())
    one, other = main_effects(left), main_effects(whole)
    np.testing.assert_allclose(one["estimate"], other["estimate"], atol=1e-9)
    plain = main_effects(left.drop(columns="assignment"))
    assert np.abs(plain["estimate"] - other["estimate"]).max() > 0.1, "without weights it is another mean"
    ratio = (one["conf_high"] - one["conf_low"]) / (other["conf_high"] - other["conf_low"])
    np.testing.assert_allclose(ratio, 1, atol=0.02)
    exact, of_all = (frame[frame["part"] == ""] for frame in map(exact_tests, (left, whole)))
    np.testing.assert_allclose(exact[["estimate", "p_value"]], of_all[["estimate", "p_value"]], atol=1e-9)
    assert exact["n"].sum() < of_all["n"].sum()


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("fresh", [0.0, 0.05, 0.1])
def test_exact_tests_of_an_agent_that_is_asked_less_are_honest(fresh: float) -> None:
    """An answer is fixed by question but for a share that is given afresh; nothing moves it."""
    studies = size(300, 1_000)
    design = shop(**SMALL, **ADAPTIVE)
    made = simulated_trials(design, Taste(determinism=1 - fresh), None)
    table, first = as_left(made, design)
    chosen = made.drawn(np.random.default_rng(3), studies)
    found = MainTests(table.drop(columns="assignment")).of_many(chosen[first])
    for term in ("nudged", "viewed_first"):
        low, high = found[term].low, found[term].high
        assert (found[term].p_value < 0.05).mean() <= 0.06 + 2 * np.sqrt(0.05 * 0.95 / studies)
        assert ((low <= 0) & (high >= 0)).mean() >= 0.935 - 2 * np.sqrt(0.05 * 0.95 / studies)
