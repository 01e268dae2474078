"""Shapley's and Banzhaf's values: their axioms, brute force, sampling, and the public example."""

from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from analysis.anchoring.attribution import banzhaf, sampled_shapley, shapley
from analysis.anchoring.coalitions import coalitions, orders
from tests.analysis.conftest import public_json

Floats = npt.NDArray[np.float64]

scores = st.floats(-60, 0, allow_nan=False, width=32)


def games(least: int = 1, most: int = 5) -> st.SearchStrategy[Floats]:
    return st.integers(least, most).flatmap(
        lambda n: arrays(np.float64, (2**n, 3), elements=scores)  # three games at once
    )


def players(payoffs: Floats) -> int:
    return len(payoffs).bit_length() - 1


def test_the_public_example() -> None:
    (case,) = public_json("anchoring", "shapley-cases.json")["cases"]
    fields = list(case["shapley"])
    payoffs = np.array(
        [case["v"]["+".join(f for f in fields if f in s) or "(empty)"] for s in coalitions(fields)]
    )
    assert shapley(payoffs) == pytest.approx(list(case["shapley"].values()), abs=1e-12)
    assert banzhaf(payoffs) == pytest.approx(list(case["uniform_mean"].values()), abs=1e-12)
    assert shapley(payoffs).sum() == pytest.approx(case["v_full_minus_v_empty"], rel=1e-12)
    assert banzhaf(payoffs).sum() == pytest.approx(case["sum_uniform"], rel=1e-12)


@given(games(most=4))
def test_shapley_is_the_mean_over_all_orders(payoffs: Floats) -> None:
    n = players(payoffs)
    every = list(permutations(range(n)))
    total = np.zeros((n, 3))
    for order in every:
        mask = 0
        for player in order:
            total[player] += payoffs[mask | 1 << player] - payoffs[mask]
            mask |= 1 << player
    assert shapley(payoffs) == pytest.approx(total / len(every), abs=1e-10)


@given(games())
def test_banzhaf_is_the_mean_over_all_coalitions(payoffs: Floats) -> None:
    for player, value in enumerate(banzhaf(payoffs)):
        without = [mask for mask in range(len(payoffs)) if not mask >> player & 1]
        joined = [payoffs[mask | 1 << player] - payoffs[mask] for mask in without]
        assert value == pytest.approx(np.mean(joined, axis=0), abs=1e-10)


@pytest.mark.parametrize("n", range(1, 13))
def test_shapley_values_add_up(n: int) -> None:
    payoffs = np.random.default_rng(n).normal(-20, 5, (2**n, 101))
    gained = payoffs[-1] - payoffs[0]
    error = np.abs(shapley(payoffs).sum(axis=0) - gained) / np.abs(payoffs).max(axis=0)
    assert error.max() <= 1e-12


def test_an_undefined_game_leaves_the_others_alone() -> None:
    payoffs = np.random.default_rng(0).normal(size=(16, 5))
    broken = payoffs.copy()
    broken[6, 2] = np.nan
    for solve in (shapley, banzhaf):
        assert np.isnan(solve(broken)[:, 2]).all()
        others = [0, 1, 3, 4]
        assert solve(broken)[:, others] == pytest.approx(solve(payoffs)[:, others], abs=1e-13)


def sampled(payoffs: Floats, fields: list[str], count: int, seed: int = 5) -> tuple[Floats, Floats]:
    by_coalition = dict(zip(coalitions(fields), payoffs, strict=True))
    needed = {each: by_coalition[each] for each in coalitions(fields, "permutations", count, seed)}
    return sampled_shapley(needed, fields, orders(fields, count, seed))


def test_sampling_comes_near_and_says_how_near() -> None:
    fields = [f"f{i}" for i in range(6)]
    payoffs = np.random.default_rng(1).normal(-20, 3, (64, 40))
    values, error = sampled(payoffs, fields, 400)
    z = (values - shapley(payoffs)) / error
    assert np.abs(z).max() < 5 and 0.7 < z.std() < 1.3
    assert values.sum(axis=0) == pytest.approx(payoffs[-1] - payoffs[0], abs=1e-10)


def test_sampling_an_additive_game_has_no_error() -> None:
    fields = ["a", "b", "c", "d"]
    worth = {"a": 1.0, "b": -2.0, "c": 0.0, "d": 4.0}
    payoffs = np.array([[sum(worth[field] for field in each)] for each in coalitions(fields)])
    values, error = sampled(payoffs, fields, 7)
    assert values[:, 0].tolist() == list(worth.values()) and not error.any()


def test_the_error_of_sampling_is_that_of_a_mean() -> None:
    """Two orders of two fields: a adds 1 before b and 5 after it, so the deviation is 4 / sqrt(2)."""
    empty, a, b, both = (frozenset(each) for each in ("", "a", "b", "ab"))
    payoffs = {empty: np.array(0.0), a: np.array(1.0), b: np.array(2.0), both: np.array(7.0)}
    values, error = sampled_shapley(payoffs, ["a", "b"], [("a", "b"), ("b", "a")])
    assert values.tolist() == [3.0, 4.0]
    assert error == pytest.approx([2.0, 2.0])
