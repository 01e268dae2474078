"""The shoppers have the effects that were asked for, and the power is that of other studies, counted."""

import numpy as np
import pytest

from agents.simulated.tab_shopper import shipped_taste
from agents.simulated.utility import Taste
from analysis.choice.effects.effects import choice_effects
from analysis.choice.exact.exact import exact_tests
from analysis.choice.exact.exact_many import MainTests
from experiments.designs.inputs.experiment_file import experiment_source
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import simulated_trials
from experiments.power.rehearsal import Studies
from experiments.power.results import TestedEffect
from experiments.power.shops import TERMS, Feature, calibrated, power_of
from interventions.errors import UserError
from tests.simulated_choices import with_choices
from tests.support import size, usual
from tests.true_effects import true_effects

BALANCED = shipped_taste("balanced")


def design(name: str) -> ShopDesign:
    return ShopDesign(experiment_source(name))


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "effects"),
    [
        ("nudges", {"nudge": 10.0, "price": 9.4, "rating": 5.0, "order": 4.0}),
        ("nudges-mr", {"nudge": -30.0, "order": 0.0}),
        ("trios", {"nudge": 25.0, "price": 40.0}),
    ],
)
def test_the_shopper_has_the_effects(name: str, effects: dict[Feature, float]) -> None:
    own = design(name)
    made = simulated_trials(own, calibrated(own, BALANCED, effects), 1_200)
    true = true_effects(made.table, made.chances).set_index("term")["estimate"]
    for feature, wanted in effects.items():
        assert true[TERMS[feature]] == pytest.approx(wanted, abs=0.1)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("name", "trials"), usual([("nudges", 240), ("trios", 120)], 1))
def test_the_power_is_that_of_other_studies(name: str, trials: int) -> None:
    own, studies = design(name), size(30, 1_000)
    taste = calibrated(own, BALANCED, {"nudge": 25.0})
    told = {
        (c.feature, t.about): t
        for c in power_of(own, taste, Studies(trials, studies), 0.0)
        for t in c.targets
    }
    made = simulated_trials(own, taste, trials)
    chosen = made.drawn(np.random.default_rng(99), studies)
    found: dict[tuple[str, str], list[tuple[bool, bool, float]]] = {}
    for study in range(studies):
        table = with_choices(made, chosen[:, study])
        exact = exact_tests(table)
        for about, frame in (("these sets", exact[exact["part"] == ""]), ("new sets", choice_effects(table))):
            for row in frame.to_dict("records"):
                half = (row["conf_high"] - row["conf_low"]) / 2
                below = row["p_value"] < 0.05, row["p_adjusted"] < 0.05
                found.setdefault((row["term"], about), []).append((*below, half))
    assert {(TERMS[feature], about) for feature, about in told} == found.keys()
    for (feature, about), target in told.items():
        significant, claimed, halves = np.array(found[TERMS[feature], about]).T
        error = np.sqrt(2 * 0.25 / studies)
        assert target.power == pytest.approx(significant.mean(), abs=3.5 * error), (feature, about)
        assert target.claimed == pytest.approx(claimed.mean(), abs=3.5 * error), (feature, about)
        assert target.half_width == pytest.approx(halves.mean(), rel=0.15), (feature, about)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("about", ["these sets", "new sets"])
def test_the_smallest_effect_is_found_with_a_power_of_four_fifths(about: str) -> None:
    """Where sets and texts differ: the larger the effect, the further they are apart."""
    own, studies = design("nudges"), size(40, 1_000)

    def nudge(effect: float, seed: int) -> TestedEffect:
        taste = calibrated(own, BALANCED, {"nudge": effect}, 0.5)
        found = power_of(own, taste, Studies(600, studies, seed=seed), 0.5)
        return next(t for c in found if c.feature == "nudge" for t in c.targets if t.about == about)

    small = nudge(8.0, 0)
    assert small.power is not None and small.power < 0.6 and small.detectable
    assert nudge(small.detectable, 1).power == pytest.approx(0.8, abs=0.17 if studies < 100 else 0.06)


@pytest.mark.slow
def test_sets_and_texts_differ_as_much_as_asked() -> None:
    """A shopper who cares for nudges alone: what differs is the weight of the one on a set and text."""
    made = simulated_trials(design("nudges"), Taste(nudge=2.0, noise=0.5), 240)
    shift = made.shifts(np.random.default_rng(0), 400, 0.3)
    table = made.table
    cells: dict[tuple[str, str], np.ndarray] = {}
    for trial, rows in table.groupby("trial").indices.items():
        carried = np.flatnonzero(table["nudged"].iloc[rows] == 1)
        if not len(carried):
            assert not shift[rows].any(), trial
            continue
        own = shift[rows[carried[0]]] - shift[rows[1 - carried[0]]]
        cell = table["set"].iloc[rows[0]], table["nudge"].iloc[rows[carried[0]]]
        assert own == pytest.approx(cells.setdefault(cell, own))
    # A deviation of 0.3 x 2 for the set and one for the text, in units of noise of 0.5.
    deviations = np.array(list(cells.values())).std(axis=1)
    assert deviations.mean() == pytest.approx(0.3 * 2 * np.sqrt(2) / 0.5, rel=0.03)


@pytest.mark.slow
def test_without_an_effect_few_studies_find_one() -> None:
    own = design("nudges")
    random = power_of(own, Taste(), Studies(240, size(60, 1_000), seed=2), 0.0)
    assert [contrast.feature for contrast in random] == ["nudge", "order", "price", "rating"]
    for contrast in random:
        assert contrast.effect == pytest.approx(0, abs=1e-9)
        for target in contrast.targets:
            assert target.power is not None and target.power < 0.13


@pytest.mark.slow
def test_an_effect_that_no_shopper_has_is_refused() -> None:
    with pytest.raises(UserError, match=r"--effect rating: higher_rated never differs"):
        calibrated(design("nudges-mr"), BALANCED, {"rating": 5.0})
    with pytest.raises(UserError, match=r"--effect price=95: in this experiment the effect lies between -"):
        calibrated(design("nudges"), BALANCED, {"price": 95.0})


@pytest.mark.slow
def test_the_tests_of_many_answers_are_those_of_each() -> None:
    made = simulated_trials(design("nudges-mr"), BALANCED, 120)
    chosen = made.drawn(np.random.default_rng(1), 3)
    many = MainTests(made.table).of_many(chosen)
    for study in range(3):
        table = with_choices(made, chosen[:, study])
        frame = exact_tests(table)
        for row in frame[frame["part"] == ""].to_dict("records"):
            found = many[row["term"]]
            own = found.p_value[study], found.low[study], found.high[study]
            assert own == pytest.approx((row["p_value"], row["conf_low"], row["conf_high"]), abs=1e-6)
