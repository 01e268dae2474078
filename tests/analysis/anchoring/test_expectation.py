"""The expected answer and its band."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from analysis.anchoring.expectation import expectation, log_probabilities, soft_ev

VALUES = np.arange(101.0)


@given(arrays(np.float64, 101, elements=st.floats(-800, 0)), st.floats(-500, 500))
def test_it_is_the_mean_under_softmax_whatever_is_added(scores: np.ndarray, constant: float) -> None:
    found = float(soft_ev(scores, VALUES))
    assert found == pytest.approx(float(softmax(scores) @ VALUES), abs=1e-9)
    assert float(soft_ev(scores + constant, VALUES)) == pytest.approx(found, abs=1e-6)
    assert np.exp(log_probabilities(scores)).sum() == pytest.approx(1)


def test_a_missing_target_is_left_out() -> None:
    scores = np.full(101, -10.0)
    scores[51:] = np.nan
    found = expectation(scores, VALUES, 1)
    assert found.estimate == pytest.approx(25) and (found.n, found.n_missing) == (51, 50)
    assert 0 <= found.low < 25 < found.high <= 50


def test_without_targets_there_is_nothing() -> None:
    found = expectation(np.full(3, np.nan), np.arange(3.0), 1)
    assert np.isnan([found.estimate, found.spread, found.low, found.high]).all() and found.n == 0
    stacked = soft_ev(np.array([[np.nan, np.nan], [0.0, 0.0]]), np.array([1.0, 3.0]))
    assert np.isnan(stacked[0]) and stacked[1] == pytest.approx(2)


def test_the_band_is_that_of_the_mean_of_a_hundred_answers() -> None:
    scores = np.random.default_rng(3).normal(-12, 2, 101)
    p = softmax(scores)
    sd = np.sqrt(p @ VALUES**2 - (p @ VALUES) ** 2) / 10
    found = expectation(scores, VALUES, 7)
    assert found.spread == pytest.approx(sd, rel=0.05)
    assert (found.low, found.high) == pytest.approx(
        (found.estimate - 1.96 * sd, found.estimate + 1.96 * sd), abs=sd / 4
    )
    assert found == expectation(scores, VALUES, 7) != expectation(scores, VALUES, 8)


def test_one_certain_answer_has_no_spread() -> None:
    found = expectation(np.array([-800.0, 0.0, -800.0]), np.array([10.0, 40.0, 90.0]), 1)
    assert (found.estimate, found.low, found.high, found.spread) == (40, 40, 40, 0)
