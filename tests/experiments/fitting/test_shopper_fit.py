"""Fitted shoppers against known ones, and against independent computations of all that is told of them."""

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from statsmodels.discrete.conditional_models import ConditionalLogit

from agents.simulated.tab_shopper import ShopperProfile, shipped_taste
from agents.simulated.utility import ATTRIBUTES, Taste, choice_probabilities
from analysis.estimators.clogit_few_data import fit_firth, shares
from analysis.tables.errors import AnalysisError
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.design import ShopDesign
from experiments.designs.shop.simulation import SimulatedTrials, _alternatives, simulated_trials
from experiments.fitting.shopper_file import shopper_yaml
from experiments.fitting.shopper_fit import ShopperFit, fit_shopper
from experiments.fitting.shown_choices import ShownChoices, shown_choices
from interventions.yaml.yaml_source import parse_yaml, validate
from tests.simulated_choices import with_choices
from tests.support import size

WEIGHTS = ("log_price", "rating", "log_reviews", "position", "nudge")
BALANCED = shipped_taste("balanced")


@cache
def design(name: str) -> ShopDesign:
    return load_shop_design(name, "")


def facts(name: str) -> dict[str, Any]:
    own = design(name)
    return {"inputs": own.inputs, "experiment": own.experiment.model_dump(mode="json")}


def choices_of(made: SimulatedTrials, seed: int, name: str) -> ShownChoices:
    table = with_choices(made, made.drawn(np.random.default_rng(seed), 1)[:, 0])
    return shown_choices(table, facts(name), hotels=False)


def choices(name: str, taste: Taste, trials: int, seed: int) -> ShownChoices:
    return choices_of(simulated_trials(design(name), taste, trials), seed, name)


def estimates(fit: ShopperFit) -> dict[str, float]:
    return {each.name: each.estimate for each in fit.parameters if not each.fixed}


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "trials", "determinism"), [("nudges", 600, 0.0), ("trios", 600, 0.0), ("nudges", 1_200, 0.5)]
)
def test_the_truth_lies_in_the_intervals(name: str, trials: int, determinism: float) -> None:
    """Over generated tastes."""
    source, held = np.random.default_rng(trials), []
    studies = size(6, 100)
    for study in range(studies):
        drawn = {
            each: float(source.normal(mean, 0.7))
            for each, mean in zip(WEIGHTS, (-4, 1, 0.2, 0, 0.5), strict=True)
        }
        taste = Taste(**drawn, determinism=determinism)
        for each in fit_shopper(choices(name, taste, trials, study), 0.5).parameters:
            if each.std_error is not None:
                assert each.conf_low is not None and each.conf_high is not None
                held.append(each.conf_low <= getattr(taste, each.name) <= each.conf_high)
    assert np.mean(held) > 0.95 - 3 * math.sqrt(0.05 * 0.95 * len(WEIGHTS) / len(held))


@pytest.mark.parametrize("name", ["nudges", "profiles"])
def test_the_chances_are_those_of_the_shopper_itself(name: str) -> None:
    """What is fitted is the very utility by which a shopper chooses, for users of all kinds."""
    made = simulated_trials(design(name), BALANCED, 120)
    shown = choices_of(made, 1, name)
    rows = shown.x[list(ATTRIBUTES)].to_numpy() @ [getattr(BALANCED, each) for each in ATTRIBUTES]
    ids = made.table["trial"].drop_duplicates().tolist()
    chances = dict(
        zip([trial.id for trial in made.trials], np.split(made.chances, shown.starts[1:]), strict=True)
    )
    assert shares(rows, shown.starts) == pytest.approx(np.concatenate([chances[each] for each in ids]))


@pytest.mark.slow
def test_what_is_held_out_was_not_fitted() -> None:
    """The figures against statsmodels' fits and the shopper's own chances, fold by fold."""
    name, folds = "nudges", 4
    made = simulated_trials(design(name), BALANCED, 240)
    shown = choices_of(made, 3, name)
    found = fit_shopper(shown, 1 / folds)
    names = sorted({trial.set for trial in made.trials})
    order = np.random.default_rng(0).permutation(len(names))
    logliks, right, brier = [], [], []
    groups = np.repeat(np.arange(len(shown.starts)), shown.sizes)
    sets = np.repeat(shown.sets, shown.sizes)
    for fold in range(folds):
        out = np.isin(sets, order[fold::folds])
        model = ConditionalLogit(shown.chosen[~out], shown.x.loc[~out, list(WEIGHTS)], groups=groups[~out])
        taste = Taste(**dict(zip(WEIGHTS, model.fit(disp=0).params, strict=True)))
        for at, trial in enumerate(made.trials):
            if trial.set in {names[each] for each in order[fold::folds]}:
                chance = choice_probabilities(taste, _alternatives(trial))
                chosen = shown.chosen[2 * at : 2 * at + 2]
                logliks.append(math.log(chance @ chosen))
                right.append(chosen[np.argmax(chance)])
                brier.append(float(((chance - chosen) ** 2).sum()))
    mine = found.quality["shopper"]
    assert found.folds == folds and len(logliks) == found.choices == 240
    assert mine.loglik == pytest.approx(np.mean(logliks), abs=1e-4)
    assert mine.pseudo_r2 == pytest.approx(1 - np.mean(logliks) / -math.log(2), abs=1e-4)
    assert (mine.right, mine.brier) == pytest.approx((np.mean(right), np.mean(brier)), abs=1e-4)
    reference = ConditionalLogit(shown.chosen, shown.x[list(WEIGHTS)], groups=groups).fit(disp=0)
    assert [estimates(found)[each] for each in WEIGHTS] == pytest.approx(reference.params.tolist(), abs=3e-3)
    assert found.within.loglik == pytest.approx(reference.llf / found.choices, abs=1e-7)
    assert found.quality["chance"].loglik == pytest.approx(-math.log(2))
    assert found.quality["chance"].right == pytest.approx(0.5) and found.quality["chance"].pseudo_r2 == 0


@pytest.mark.slow
def test_the_penalised_fit_is_the_maximum_of_its_likelihood() -> None:
    shown = choices("trios", BALANCED, 60, 4)
    x = shown.x[["log_price", "position"]].to_numpy()

    def loss(beta: np.ndarray) -> float:
        total, information = 0.0, np.zeros((2, 2))
        for rows, chosen in zip(
            np.split(x, shown.starts[1:]), np.split(shown.chosen, shown.starts[1:]), strict=True
        ):
            p = np.exp(rows @ beta) / np.exp(rows @ beta).sum()
            total += float(np.log(p @ chosen))
            information += (rows * p[:, None]).T @ rows - np.outer(p @ rows, p @ rows)
        return -(total + math.log(np.linalg.det(information)) / 2)

    reference = optimize.minimize(
        loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}
    )
    assert fit_firth(x, shown.chosen, shown.starts) == pytest.approx(reference.x, abs=1e-4)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("trials", [1, 6, 60, 240])
@pytest.mark.parametrize(
    "taste",
    [
        BALANCED.model_copy(update={"noise": 0.0}),
        Taste(position=1, noise=0),
        Taste(log_price=-30),
        Taste(locked=1),
    ],
)
def test_choices_without_chance_end_in_finite_weights(taste: Taste, trials: int) -> None:
    found = fit_shopper(choices("nudges", taste, trials, 0), 0.2)
    text = shopper_yaml(found, "a run")
    assert validate(parse_yaml(text, "it"), ShopperProfile) == found.profile
    for each in found.parameters:
        assert math.isfinite(each.estimate) and (each.std_error is None or math.isfinite(each.std_error))
    assert math.isfinite(found.within.loglik) and "nan" not in str(found.as_dict())
    if taste.noise == 0:
        assert any("separates the choices" in note and "penalised" in note for note in found.notes)
        assert all(each.std_error is None for each in found.parameters)
    assert bool(found.quality) == (found.sets > 1)


@pytest.mark.slow
def test_answers_that_are_alike_tell_how_deterministic_the_agent_is() -> None:
    """The share, and its likelihood against all ways in which the answers to a prompt can have come about."""
    shown = choices("nudges", BALANCED.model_copy(update={"determinism": 0.6}), 1_500, 0)
    fit = fit_shopper(shown, 0.5)
    (found,) = (each for each in fit.parameters if each.name == "determinism")
    assert found.std_error is not None and abs(found.estimate - 0.6) < 3.5 * found.std_error < 0.4
    weights = fit.profile.taste
    rows = shown.x[list(ATTRIBUTES)].to_numpy() @ [getattr(weights, each) for each in ATTRIBUTES]
    chances = shares(rows, shown.starts)
    answers: dict[int, list[int]] = {}
    chance: dict[int, np.ndarray] = {}
    for prompt, start in zip(shown.prompts, shown.starts, strict=True):
        answers.setdefault(prompt, []).append(int(np.argmax(shown.chosen[start : start + 2])))
        chance[prompt] = chances[start : start + 2]

    def loglik(share: float) -> float:
        total = 0.0
        for prompt, given in answers.items():
            p, likelihood = chance[prompt], 0.0
            for alike in itertools.product([0, 1], repeat=len(given)):
                of_own = [one for one, own in zip(given, alike, strict=True) if own]
                if len(set(of_own)) <= 1:
                    anew = math.prod(p[one] for one, own in zip(given, alike, strict=True) if not own)
                    own = p[of_own[0]] if of_own else 1.0
                    likelihood += (
                        share ** len(of_own) * (1 - share) ** (len(given) - len(of_own)) * anew * own
                    )
            total += math.log(likelihood)
        return total

    assert max(map(len, answers.values())) == 5
    best = loglik(found.estimate)
    assert best > max(loglik(found.estimate + step) for step in (-0.02, 0.02)) > best - 1


@pytest.mark.thorough
@pytest.mark.slow
def test_an_agent_that_answers_anew_or_is_asked_once_shows_no_determinism() -> None:
    anew = fit_shopper(choices("nudges", BALANCED, 3_000, 5), 0.5).parameters
    assert next(each for each in anew if each.name == "determinism").fixed
    once = fit_shopper(choices("trios", BALANCED, 60, 0), 0.5).parameters
    assert next(each for each in once if each.name == "determinism").reason == "no prompt was asked twice"
    always = BALANCED.model_copy(update={"determinism": 1.0})
    found = fit_shopper(choices("nudges", always, 3_000, 0), 0.5)
    assert found.profile.taste.determinism == 1 and any("answered alike" in note for note in found.notes)


def test_nothing_to_fit_is_said() -> None:
    made = simulated_trials(design("nudges"), BALANCED, 12)
    none = made.table.assign(chosen=pd.NA, outcome="agent_error")
    with pytest.raises(AnalysisError, match="no trial ended in a choice"):
        fit_shopper(shown_choices(none, {}, hotels=False), 0.2)
    same = made.table[["trial", "agent", "set", "option", "position", "chosen", "outcome"]].assign(
        viewed_first=0
    )
    with pytest.raises(AnalysisError, match="differ in nothing"):
        fit_shopper(shown_choices(same, {}, hotels=False), 0.2)


def test_the_file_has_no_line_that_a_stranger_wrote() -> None:
    found = fit_shopper(choices("nudges", BALANCED, 60, 0), 0.2)
    text = shopper_yaml(found, "run x, agent evil\ntaste: {nudge: 99}\r\x1b[2J\u2028invalid: 1")
    assert validate(parse_yaml(text, "it"), ShopperProfile) == found.profile
    assert found.profile.invalid == 0 and "\x1b" not in text
