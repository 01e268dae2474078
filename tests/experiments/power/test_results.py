"""What simulated studies say of a contrast, against studies whose truth is known."""

import numpy as np
import pytest
from scipy import stats

from analysis.tables.families import benjamini_hochberg
from analysis.tables.frame import Floats
from experiments.power.results import SimulatedResults, claims

STUDIES = 20_000


def p_values(effects: list[float]) -> Floats:
    """Of independent estimates with an error of 1: effects x studies."""
    estimates = np.random.default_rng(3).normal(np.array(effects)[:, None], 1, (len(effects), STUDIES))
    found: Floats = 2 * stats.norm.sf(abs(estimates))
    return found


@pytest.mark.parametrize("others", [[], [0.0] * 4, [4.0, 4.0, 0.0], [2.0] * 7])
def test_the_least_effect_is_one_that_the_sentence_claims_in_four_of_five_studies(
    others: list[float],
) -> None:
    family = dict(enumerate(p_values([1.0, *others])))
    results = {
        name: SimulatedResults(p_values=own.tolist(), half_widths=[1.96] * STUDIES)
        for name, own in family.items()
    }
    claim = claims(results, 0.05)
    adjusted = np.apply_along_axis(benjamini_hochberg, 0, np.array(list(family.values())))
    assert {name: each.share for name, each in claim.items()} == pytest.approx(
        dict(enumerate((adjusted < 0.05).mean(axis=1)))
    )
    least = results[0].target("", 0.05, 1.0, unit="USD", claim=claim[0]).detectable
    assert least is not None
    there = np.apply_along_axis(benjamini_hochberg, 0, p_values([least, *others]))
    assert (there[0] < 0.05).mean() == pytest.approx(0.8, abs=0.03)
    assert least == pytest.approx(2.80, abs=0.01) if not others else least > 2.85
