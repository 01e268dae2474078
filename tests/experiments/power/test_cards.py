"""Choosers of hotels have the effects asked for, and the power is that of other studies, counted."""

import random

import numpy as np
import pandas as pd
import pytest

from agents.simulated.own_profiles import profile_of
from agents.simulated.readers.card_text import read_options, to_alternatives
from agents.simulated.utility import DisplayedOption, Taste, choice_probabilities, choose
from analysis.conjoint.cards import encode
from analysis.conjoint.fits import fit_models, headline
from experiments.designs.cards.design import CardDesign
from experiments.designs.loading import load_design
from experiments.power.cards import TERMS, ConjointRehearsal, _rows
from experiments.power.rehearsal import Studies
from interventions.errors import UserError
from tests.support import size

BALANCED = profile_of("simulated:balanced")
ALIKE = {
    "price": 100.0,
    "rating": 80.0,
    "reviews": 50,
    "stars": 3,
    "cancellation": False,
    "breakfast": False,
    "bed": 1,
}
BETTER: dict[str, dict[str, object]] = {
    "star": {"stars": 4},
    "score": {"rating": 90.0},
    "cancellation": {"cancellation": True},
    "breakfast": {"breakfast": True},
    "bed": {"bed": 2},
}


def hotels() -> CardDesign:
    design = load_design("hotels")
    assert isinstance(design, CardDesign)
    return design


def chance(taste: Taste, **better: object) -> float:
    """The chance of a hotel that is better in one thing, beside one that is else alike."""
    own, other = DisplayedOption(**{**ALIKE, **better}), DisplayedOption(**ALIKE)  # type: ignore[arg-type]
    return float(choice_probabilities(taste, [own, other])[0])


@pytest.mark.slow
def test_the_chooser_has_the_effects() -> None:
    wanted = {"star": 10.0, "score": 20.0, "cancellation": -5.0, "breakfast": 30.0, "bed": 0.0, "price": -1.5}
    taste = ConjointRehearsal(hotels(), BALANCED, wanted, 0.5).taste
    for name, better in BETTER.items():
        up = chance(taste, **better)
        assert 100 * (up - (1 - up)) == pytest.approx(wanted[name], abs=1e-6), name
    # At the mean share, one half, a price 0.01 % higher is chosen 0.015 % less often.
    assert (chance(taste, price=100.01) / 0.5 - 1) / 1e-4 == pytest.approx(-1.5, abs=0.01)


@pytest.mark.slow
def test_the_power_is_that_of_other_studies() -> None:
    """The oracle chooses card by card as simulated agents do, and fits all models as the analysis does."""
    design, studies, trials = hotels(), size(20, 400), 240
    rehearsed = ConjointRehearsal(design, BALANCED, {"star": 30.0, "price": -1.0}, 0.0)
    told = {each.feature: each for each in rehearsed.of(Studies(trials, studies))}
    own = [trial for trial, _ in zip(design.trials(["simulated"]), range(trials), strict=False)]
    shown = [to_alternatives(read_options(trial.cards[0].prompt)) for trial in own]
    source, found = random.Random(99), []
    for _ in range(studies):
        rows = [
            {**row, "run": "r", "agent": "a", "chosen": int(row["position"] == taken)}
            for trial, alternatives in zip(own, shown, strict=True)
            for taken in [choose(rehearsed.taste, alternatives, source)]
            for row in _rows(trial)
        ]
        fits = fit_models(encode(pd.DataFrame(rows)), ["a"], cov="clustered")
        spec = headline(fits, "a", "log")
        assert spec
        found.append(fits[spec].frame("").join(fits[spec].by_set()).set_index("term"))
    assert told.keys() == TERMS.keys()
    error = np.sqrt(2 * 0.25 / studies)
    for name, contrast in told.items():
        rows = pd.DataFrame([frame.loc[TERMS[name][0]] for frame in found])
        (target,) = contrast.targets
        counted = (rows["p_by_set"] < 0.05).mean()
        assert target.power == pytest.approx(counted, abs=3.5 * error), name
        worth, half = rows["estimate"].mean(), (rows["by_set_high"] - rows["by_set_low"]).mean() / 2
        width = (
            half / 2 if name == "price" else 50 * (np.tanh((worth + half) / 2) - np.tanh((worth - half) / 2))
        )
        assert target.half_width == pytest.approx(width, rel=0.15), name


def test_an_effect_that_no_chooser_has_is_refused() -> None:
    with pytest.raises(UserError, match=r"--effect star=100: give less than 99 points"):
        ConjointRehearsal(hotels(), BALANCED, {"star": 100.0}, 0.5)
