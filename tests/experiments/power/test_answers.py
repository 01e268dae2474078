"""Answers are drawn as simulated agents give them, and the power is that of their answers, counted."""

import random
from itertools import islice

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.simulated.own_profiles import profile_of
from agents.simulated.respondent import SimulatedRespondent
from agents.simulated.tab_shopper import ShopperProfile
from analysis.estimators.effect_size import cohens_d
from analysis.montecarlo.hypotheses import condition_coefficients
from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.trial import CardTrial
from experiments.designs.loading import load_design
from experiments.power.answers import BatteryRehearsal, FactorialRehearsal, coefficients
from experiments.power.rehearsal import Studies
from interventions.errors import UserError
from tests.support import size

BALANCED = profile_of("simulated:balanced")


def cards(name: str) -> CardDesign:
    design = load_design(name)
    assert isinstance(design, CardDesign)
    return design


def answer(profile: ShopperProfile, trial: CardTrial, source: random.Random) -> str:
    """The last answer of a simulated agent to the cards of a trial."""
    respondent = SimulatedRespondent(profile, seed=source.getrandbits(63))
    prompts = [card.prompt for card in trial.cards]
    return [respondent.reply(prompts[: number + 1]) for number in range(len(prompts))][-1]


@pytest.mark.slow
@settings(max_examples=size(20, 300), deadline=None)
@given(seed=st.integers(0, 9_999), count=st.integers(3, 60))
def test_coefficients_are_those_of_the_analysis(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    condition = np.r_[["control", "low"], rng.choice(["control", "high", "low"], count)]
    answers = np.round(rng.lognormal(3, 1, len(condition)), 2)
    found = coefficients(answers, condition)
    table = pd.DataFrame({"agent": "a", "item": "x", "condition": condition, "response": answers})
    frame = condition_coefficients(table).set_index("term")
    assert {f"condition[{name}]" for name in found} == set(frame.index) - {"Intercept"}
    for name, (estimate, p_value, half) in found.items():
        row = frame.loc[f"condition[{name}]"]
        assert estimate == pytest.approx(row["estimate"])
        assert p_value == pytest.approx(row["p_value"])
        assert half == pytest.approx((row["conf_high"] - row["conf_low"]) / 2)


@pytest.mark.slow
def test_the_power_is_that_of_studies_of_answers() -> None:
    """The oracle answers as simulated agents do, with the pull of its anchor that the rehearsal found."""
    wanted = {"low": -8.0, "high": 20.0}
    design, studies, trials, source = cards("wtp"), size(40, 400), 180, random.Random(11)
    # Products that do not differ, so that all studies have one agent.
    rehearsed = FactorialRehearsal(design, BALANCED, wanted, 0.0)
    told = {each.feature: each for each in rehearsed.of(Studies(trials, 400))}
    pulls = rehearsed.told["anchoring"]
    profiles = {name: BALANCED.model_copy(update={"anchoring": pull}) for name, pull in pulls.items()}
    own, found = list(islice(design.trials(["simulated"]), trials)), []
    for _ in range(studies):
        answers = [float(answer(profiles.get(trial.condition, BALANCED), trial, source)) for trial in own]
        found.append(coefficients(np.array(answers), np.array([trial.condition for trial in own])))
    assert told.keys() == {"low", "high"}
    for name, contrast in told.items():
        (target,) = contrast.targets
        estimates, p_values, halves = np.array([each[name] for each in found]).T
        assert estimates.mean() == pytest.approx(wanted[name], abs=4 * estimates.std() / studies**0.5)
        assert target.power == pytest.approx((p_values < 0.05).mean(), abs=0.3 if studies < 100 else 0.1), (
            name
        )
        assert target.half_width == pytest.approx(halves.mean(), rel=0.1), name


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("bias", ["framing", "anchoring", "endowment"])
def test_the_power_is_that_of_studies_of_biases(bias: str) -> None:
    """The oracle asks simulated agents with the share of the bias that the rehearsal found."""
    design, studies, each, source = cards("biases"), size(40, 500), 20, random.Random(5)
    rehearsed = BatteryRehearsal(design, BALANCED, {bias: 0.8}, 0.5)
    profile = BALANCED.model_copy(update={"bias": rehearsed.told["bias"][bias]})
    trials = {
        trial.condition: trial
        for trial in design.trials(["simulated"])
        if (trial.item, trial.scenario, trial.repeat) == (bias, "base", 0)
    }
    found = []
    for _ in range(studies):
        control, treated = (
            [number(answer(profile, trials[name], source), trials[name]) for _ in range(each)]
            for name in ("control", "treatment")
        )
        found.append(cohens_d(control, treated))
    (contrast,) = (own for own in rehearsed.of(Studies(32 * each, 300)) if own.feature == bias)
    assert contrast.effect == pytest.approx(0.8, abs=0.02)
    assert np.mean([own.d for own in found]) == pytest.approx(0.8, abs=0.2)
    counted = np.mean([own.p_value < 0.05 for own in found])
    assert contrast.targets[0].power == pytest.approx(counted, abs=0.3 if studies < 100 else 0.12)


def number(text: str, trial: CardTrial) -> float:
    """An answer as the analysis has it: 1 for the letter that is biased, or the number."""
    return float(text == trial.biased) if trial.biased else float(text)


def test_few_trials_tell_nothing() -> None:
    for design, kind in ((cards("wtp"), FactorialRehearsal), (cards("biases"), BatteryRehearsal)):
        rehearsed = kind(design, BALANCED, {}, 0.5)
        for contrast in rehearsed.of(Studies(1, 20)):
            assert [target.power for target in contrast.targets] == [None]


def test_effects_that_no_agent_has_are_refused() -> None:
    with pytest.raises(UserError, match=r"--effect low=5: an anchor of 15 USD moves a product's worth by -"):
        FactorialRehearsal(cards("wtp"), BALANCED, {"low": 5.0}, 0.5)
    with pytest.raises(UserError, match=r"--effect framing=9: simulated agents have effects from 0.00 to "):
        BatteryRehearsal(cards("biases"), BALANCED, {"framing": 9.0}, 0.5)
