"""Tests within blocks: against SciPy and statsmodels, and in studies with known truth."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.multivariate import test_mvmean as hotelling

from analysis.estimators.blocked import TOO_FEW, BlockedTest, blocks_of, term_contrasts
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


@pytest.mark.parametrize("repeats", [1, 5])
def test_the_paired_test_and_hotellings_over_the_blocks(repeats: int) -> None:
    rng = np.random.default_rng(repeats)
    table = answers({(block, name): rng.normal(size=repeats) for block in "abcdef" for name in LEVELS})
    wide = table.pivot_table(index="item", columns="condition", values="y")
    found, expected = of_blocks(table, (-1, 1, 0)), stats.ttest_rel(wide["high"], wide["control"])
    interval = expected.confidence_interval()
    assert (found.p_value, found.df) == pytest.approx((expected.pvalue, 5))
    assert (found.conf_low, found.conf_high) == pytest.approx((interval.low, interval.high))
    both = of_blocks(table, (-1, 1, 0), (-1, 0, 1))
    other = hotelling(wide[["high", "low"]].sub(wide["control"], axis=0).to_numpy(), np.zeros(2))
    assert (both.statistic, both.p_value) == pytest.approx((other.statistic, other.pvalue))
    assert both.df == other.df[1]


JITTERS = {
    "alike": lambda rng, shape: np.ones(shape),
    "one answer in a hundred": lambda rng, shape: 1 + 0.05 * (rng.random(shape) < 0.01),
    "a third": lambda rng, shape: 1 + 0.05 * rng.normal(size=shape) * (rng.random(shape) < 0.3),
    "all": lambda rng, shape: rng.lognormal(0, 0.15, shape),
}


@pytest.mark.slow
@pytest.mark.parametrize("jitter", JITTERS)
def test_repeats_of_a_question_make_no_effect(jitter: str) -> None:
    """Each prompt has an answer of its own, and no condition has an effect; repeats differ a little."""
    studies, items, repeats, rng = size(300, 3_000), 12, 13, np.random.default_rng(len(jitter))
    keys = pd.MultiIndex.from_product([range(items), LEVELS, range(repeats)], names=["item", "condition", ""])
    rejected, held = [], []
    for _ in range(studies):
        own = np.repeat(rng.lognormal(3, 0.3, items * len(LEVELS)), repeats)
        table = keys.to_frame(index=False).assign(y=own * JITTERS[jitter](rng, len(keys)))
        single, both = of_blocks(table, (-1, 1, 0)), of_blocks(table, (-1, 1, 0), (-1, 0, 1))
        rejected.append((single.p_value < 0.05, both.p_value < 0.05))
        held.append(single.conf_low <= 0 <= single.conf_high)
    limit = 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5
    assert np.mean(rejected, axis=0).max() <= limit and np.mean(held) >= 1 - limit


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
    own = {(block, name): rng.normal(size=4) for block in "abcd" for name in LEVELS}
    whole = of_blocks(answers({key: y for key, y in own.items() if key[0] != "d"}), (-1, 1, 0))
    found = of_blocks(answers({key: y for key, y in own.items() if key != ("d", "low")}), (-1, 1, 0))
    assert found.p_value == whole.p_value and "without 1 of 4 blocks" in found.note
    nothing = of_blocks(answers({("a", "control"): np.ones(3), ("b", "high"): np.ones(3)}), (-1, 1))
    assert np.isnan(nothing.p_value) and "no item has an answer in each condition" in nothing.note
    single = of_blocks(answers({("a", "control"): np.ones(3), ("a", "high"): np.full(3, 2.0)}), (-1, 1))
    assert single.estimate == 1 and np.isnan(single.p_value) and single.note == TOO_FEW
