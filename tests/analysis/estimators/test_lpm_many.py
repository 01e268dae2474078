"""Many outcomes at once: estimates and errors are those of each outcome on its own."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agents.simulated.tab_shopper import shipped_taste
from analysis.choice.effects.effects import main_estimands
from analysis.estimators.clusters import choose_clusters, cluster_codes
from analysis.estimators.lpm import Model
from analysis.estimators.lpm_many import fit_many
from analysis.tables.choice_table import trial_ids
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.simulation import SimulatedTrials, simulated_trials
from tests.support import size

DESIGNS = [
    ("nudges", 240, 0.0),
    ("nudges", 60, 1.0),
    ("nudges-mr", 240, 0.0),
    ("trios", 120, 0.0),
    ("attributes", 120, 0.0),
]


def simulated(name: str, trials: int, determinism: float) -> SimulatedTrials:
    taste = shipped_taste("balanced").model_copy(update={"determinism": determinism})
    return simulated_trials(load_shop_design(name, ""), taste, trials)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "trials", "determinism"), DESIGNS)
def test_contrasts_are_those_of_each_outcome(name: str, trials: int, determinism: float) -> None:
    made = simulated(name, trials, determinism)
    codes = cluster_codes(made.table, trial_ids(made.table).to_numpy())
    estimands, (clusters, _) = main_estimands(made.table, codes), choose_clusters(codes)
    chosen = made.drawn(np.random.default_rng(3), 4)
    assert estimands.model
    many = fit_many(estimands.model, estimands.weights, chosen, clusters)
    assert many
    for study in range(4):
        estimates = estimands.fit(chosen[:, study], clusters)
        for term, found in many.items():
            one = estimates.of(term)
            told = (
                found.estimate[study],
                found.std_error[study],
                found.p_value[study],
                found.half_width[study],
            )
            own = one.estimate, one.std_error, one.p_value, one.half_width
            assert told == pytest.approx(own, abs=1e-9, nan_ok=True)


@st.composite
def models(draw: st.DrawFn) -> tuple[Model, np.ndarray, dict[str, np.ndarray]]:
    """A model of up to three columns, four outcomes, and clusters in one way or two."""
    rng = np.random.default_rng(draw(st.integers(0, 9_999)))
    sizes = rng.integers(2, 5, draw(st.integers(4, 60)))
    trial = np.repeat(np.arange(len(sizes)), sizes)
    order = rng.permutation(len(trial))
    columns = rng.integers(0, draw(st.sampled_from([2, 5])), (len(trial), draw(st.integers(1, 3)))).astype(
        float
    )
    ways = draw(st.sampled_from([("set",), ("category",), ("nudge text", "category")]))
    clusters = {way: rng.integers(0, draw(st.integers(1, 30)), len(sizes))[trial][order] for way in ways}
    # Choices; an outcome that never differs; and one that the model fits exactly.
    outcomes = rng.integers(0, 2, (len(trial), 4)).astype(float)
    outcomes[:, 1] = 1.0
    if draw(st.booleans()):
        outcomes[:, 2] = columns @ rng.standard_normal(columns.shape[1])
    return Model(columns[order], trial[order]), outcomes[order], clusters


@pytest.mark.slow
@settings(max_examples=size(30, 1_000), deadline=None)
@given(found=models(), seed=st.integers(0, 999))
def test_any_contrast_is_that_of_each_outcome(
    found: tuple[Model, np.ndarray, dict[str, np.ndarray]], seed: int
) -> None:
    model, outcomes, clusters = found
    weights = np.random.default_rng(seed).standard_normal((3, model.within.shape[1]))
    identified = {str(number): own for number, own in enumerate(weights) if model.identifies(own)}
    assume(identified and len(outcomes) > model.rank + 1)
    many = fit_many(model, identified, outcomes, clusters)
    for study, outcome in enumerate(outcomes.T):
        fit = model.fit(outcome, clusters)
        for name, own in identified.items():
            one, told = fit.contrast(own), many[name]
            assert told.estimate[study] == pytest.approx(one.estimate, abs=1e-9)
            assert told.std_error[study] == pytest.approx(one.std_error, rel=1e-6, nan_ok=True)
            assert told.p_value[study] == pytest.approx(one.p_value, rel=1e-5, abs=1e-12, nan_ok=True)
            assert told.half_width[study] == pytest.approx(one.half_width, rel=1e-6, nan_ok=True)
