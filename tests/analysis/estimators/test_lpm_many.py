"""Many outcomes at once: estimates and errors are those of each outcome on its own."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.estimators.lpm import Model
from analysis.estimators.lpm_many import fit_many
from tests.support import size


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
