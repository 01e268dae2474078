"""Tests within blocks: against SciPy and statsmodels where there is one block, else by simulation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.oneway import anova_oneway

from analysis.estimators.blocked import BlockedTest, blocks_of, term_contrasts
from analysis.estimators.linear_models import Coding, full_factorial
from tests.support import size

LEVELS = ("control", "high", "low")


def answers(groups: dict[tuple[str, str], np.ndarray]) -> pd.DataFrame:
    """Blocks and conditions with their answers."""
    return pd.DataFrame(
        [(block, name, y) for (block, name), own in groups.items() for y in own],
        columns=["item", "condition", "y"],
    )


def of_blocks(table: pd.DataFrame, *rows: tuple[float, ...]) -> BlockedTest:
    return blocks_of(table, ["condition"], ["item"], "y")[0].test(np.array(rows))


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(2, 9))
def test_one_block_and_two_conditions_are_welchs_test(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    one, two = rng.normal(0, 1, n), rng.normal(1, 3, m)
    found = of_blocks(answers({("a", "control"): one, ("a", "high"): two}), (-1, 1))
    expected = stats.ttest_ind(two, one, equal_var=False)
    interval = expected.confidence_interval()
    assert (found.p_value, found.df) == pytest.approx((expected.pvalue, expected.df))
    assert (found.conf_low, found.conf_high) == pytest.approx((interval.low, interval.high))
    assert found.estimate == pytest.approx(two.mean() - one.mean())


@given(st.integers(0, 10_000))
def test_one_block_and_three_conditions_are_welchs_analysis_of_variance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = [rng.normal(0, scale, int(rng.integers(3, 20))) for scale in (1, 2, 5)]
    own = {("a", name): each for name, each in zip(LEVELS, groups, strict=True)}
    found = of_blocks(answers(own), (-1, 1, 0), (-1, 0, 1))
    expected = anova_oneway(groups, use_var="unequal", welch_correction=True)
    assert found.statistic == pytest.approx(expected.statistic)
    assert (found.p_value, found.df) == pytest.approx((expected.pvalue, expected.df[1]))


def test_one_answer_in_each_cell_is_a_paired_test_over_the_blocks() -> None:
    rng = np.random.default_rng(1)
    table = answers({(block, name): rng.normal(size=1) for block in "abcdef" for name in LEVELS})
    wide = table.pivot(index="item", columns="condition", values="y")
    found, expected = of_blocks(table, (-1, 1, 0)), stats.ttest_rel(wide["high"], wide["control"])
    assert (found.p_value, found.df) == pytest.approx((expected.pvalue, 5))
    assert found.note.startswith("by block: one answer to each question")


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 20])
def test_size_and_coverage_with_products_that_differ_in_mean_and_variance(n: int) -> None:
    """The pooled test of the same answers is powerless: it rejects almost never."""
    count, rng = size(150, 3000), np.random.default_rng(n)
    means, spread = np.array([5.0, 20, 60, 200]), np.array([1.0, 6, 10, 60])
    rejected = {"F": 0, "t": 0, "pooled": 0}
    for _ in range(count):
        own = {
            (f"p{at}", name): rng.normal(means[at], spread[at] * (1 + turn), n)
            for at in range(4)
            for turn, name in enumerate(LEVELS)
        }
        table = answers(own)
        both = of_blocks(table, (-1, 1, 0), (-1, 0, 1))
        single = of_blocks(table, (-1, 1, 0))
        rejected["F"] += both.p_value < 0.05
        rejected["t"] += single.p_value < 0.05
        assert (single.p_value < 0.05) == (single.conf_low > 0 or single.conf_high < 0)
        pooled = stats.f_oneway(*(table.loc[table["condition"] == name, "y"] for name in LEVELS))
        rejected["pooled"] += pooled.pvalue < 0.05
    limit = stats.binom.ppf(0.999, count, 0.055)
    assert rejected["F"] <= limit and rejected["t"] <= limit
    assert rejected["pooled"] < rejected["F"]


@pytest.mark.parametrize("coding", ["treatment", "sum"])
def test_terms_are_the_coefficients_of_the_cells_means(coding: Coding) -> None:
    cells = pd.DataFrame([(c, a) for c in "xyz" for a in "pq"], columns=["condition", "agent"])
    design = full_factorial(cells, ["condition", "agent"], coding)
    means = np.random.default_rng(0).normal(size=6)
    coefficients = np.linalg.lstsq(design.matrix, means, rcond=None)[0]
    for term, contrast in (term_contrasts(design) or {}).items():
        assert contrast @ means == pytest.approx(coefficients[design.terms[term]])


def test_blocks_that_lack_answers_are_left_out_and_said() -> None:
    rng = np.random.default_rng(2)
    own = {(block, name): rng.normal(size=4) for block in "abc" for name in LEVELS}
    whole = of_blocks(answers({key: y for key, y in own.items() if key[0] != "c"}), (-1, 1, 0))
    found = of_blocks(answers(own | {("c", "low"): np.array([1.0])}), (-1, 1, 0))
    assert found.p_value == whole.p_value and "without 1 of 3 blocks" in found.note
    nothing = of_blocks(answers({("a", "control"): np.ones(3), ("b", "high"): np.ones(3)}), (-1, 1))
    assert np.isnan(nothing.p_value) and "no item has enough answers" in nothing.note
    constant = of_blocks(answers({("a", "control"): np.ones(3), ("a", "high"): np.full(3, 2.0)}), (-1, 1))
    assert constant.estimate == 1 and np.isnan(constant.p_value) and "no variance" in constant.note
