"""Paired tests: the public cases, the formulas written out, and the cases without variance."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.anchoring.paired import (
    differences,
    paired_tests,
    permutation_p,
    plain_call,
    sign,
    signed_call,
    stars,
)
from tests.analysis.conftest import public_json


def of(found: list[float]) -> Any:
    high = np.array(found)
    return paired_tests(np.zeros_like(high), high, 42)


def test_the_public_cases() -> None:
    for case in public_json("anchoring", "paired-test-cases.json")["cases"]:
        found = of(case["d"])
        assert found.n == case["n"] and found.w_statistic == case["w_stat"]
        assert found.p_wilcoxon == pytest.approx(case["p_wilcoxon"], rel=1e-9)
        assert found.t.statistic == pytest.approx(case["t"], rel=1e-12)
        assert found.t.p_value == pytest.approx(case["p_t"], rel=1e-9)
        assert found.p_permutation == pytest.approx(case["p_perm_rng42"], rel=1e-12)


@given(st.lists(st.integers(-6, 6), min_size=2, max_size=120))
def test_wilcoxon_is_pratts_with_the_normal_approximation(d: list[int]) -> None:
    found = of([float(each) for each in d])
    if not any(d):
        assert np.isnan(found.p_wilcoxon) and found.wilcoxon_note == "all differences are zero: no ranks"
        return
    size = np.abs(d)
    n, zeros = len(d), int((size == 0).sum())
    ranks = [np.mean([k + 1 for k, other in enumerate(sorted(size)) if other == each]) for each in size]
    up = sum(rank for rank, each in zip(ranks, d, strict=True) if each > 0)
    down = sum(rank for rank, each in zip(ranks, d, strict=True) if each < 0)
    mean = n * (n + 1) / 4 - zeros * (zeros + 1) / 4
    variance = (n * (n + 1) * (2 * n + 1) - zeros * (zeros + 1) * (2 * zeros + 1)) / 24
    ties = np.unique(size[size > 0], return_counts=True)[1]
    variance -= (ties**3 - ties).sum() / 48
    p = 2 * stats.norm.sf(abs(up - mean) / np.sqrt(variance))
    assert found.w_statistic == pytest.approx(min(up, down))
    assert found.p_wilcoxon == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_permutation_test_comes_near_all_sign_vectors(seed: int) -> None:
    d = np.random.default_rng(seed).normal(0.4, 1, 12)
    every = np.array(list(product((-1, 1), repeat=12)))
    exact = (np.abs(every @ d) >= abs(d.sum()) * (1 - 1e-12)).mean()
    assert permutation_p(d, 42) == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 10_000))


def test_ties_that_rounding_hides_count_as_reached() -> None:
    # Any sign vector turns the sum over or leaves it, so all are as far from zero.
    assert permutation_p(np.array([0.1 + 0.2, 0.0]), 1) == 1.0
    assert permutation_p(np.array([0.1] * 3 + [-0.1] * 3), 1) == 1.0
    assert permutation_p(np.full(50, 0.3), 1) == pytest.approx(1 / 10_001)


def test_no_difference_and_a_constant_one() -> None:
    same = of([0.0] * 5)
    assert np.isnan(same.t.statistic) and same.t.p_value == 1 and "no difference" in same.t.note
    assert np.isnan(same.p_wilcoxon) and same.p_permutation == 1
    low = np.random.default_rng(0).normal(-15, 2, 101)
    shifted = paired_tests(low, low - 0.7, 42)  # equal but for rounding
    assert shifted.t.statistic == -np.inf and shifted.t.p_value == 0 and "degenerate" in shifted.t.note
    assert shifted.w_statistic == 0 and np.isnan(shifted.t.effect_size)


def test_a_target_without_one_of_its_scores_leaves() -> None:
    low = np.array([1.0, np.nan, 3.0, 4.0])
    high = np.array([2.0, 2.0, np.nan, 6.0])
    assert differences(low, high).tolist() == [1.0, 2.0]
    found = paired_tests(low, high, 42)
    assert (found.n, found.n_missing, found.mean) == (2, 2, 1.5)
    alone = paired_tests(low[:2], high[:2], 42)
    assert alone.n == 1 and np.isnan([alone.t.p_value, alone.p_wilcoxon, alone.p_permutation]).all()
    assert alone.mean == 1.0
    for note in (alone.t.note, alone.wilcoxon_note, alone.permutation_note):
        assert note == "fewer than two targets with both scores: no test"


def test_stars_are_strict() -> None:
    marked = {0: "***", 0.0099: "***", 0.01: "**", 0.05: "*", 0.0999: "*", 0.1: "", np.nan: ""}
    assert {p: stars(p) for p in marked} == marked


def test_calls() -> None:
    assert signed_call("B", 2.0, 0.001) == "B+***" and signed_call("A", -2.0, 0.07) == "A-*"
    assert signed_call("B", 1e-13, 0.5) == "B0" and signed_call("B", 3.0, np.nan) == "B+"
    assert signed_call("A", np.nan, 0.5) == "" and plain_call("W", np.nan) == ""
    assert plain_call("P", 0.02) == "P**" and plain_call("W", 0.5) == "W"
    assert [sign(each) for each in (1e-11, 1e-13, -1e-13, -1.0, np.nan)] == [1, 0, 0, -1, 0]
