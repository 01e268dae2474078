"""Test differences of means within blocks: what is asked of the same product, or in the same prompt.

Pooled over products, the products' own differences count as noise, and a test has no power. Within blocks
(the products) they do not. A block counts once, however often its questions were repeated: an agent may
answer a question alike each time, and then its repeats say nothing of the next product.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from analysis.estimators.linear_models import DesignMatrix, group_cells
from analysis.tables.frame import Floats, join_notes

TOO_FEW = "by block: too few that differ for a test"


@dataclass(frozen=True)
class BlockedTest:
    """A test of linear hypotheses on the means of conditions, averaged over blocks. NaN is undefined.

    estimate, conf_low, conf_high: of a hypothesis with one row only. df: of F's denominator; of one row,
    those of t. note: why it is undefined, or which blocks are left out.
    """

    estimate: float = np.nan
    conf_low: float = np.nan
    conf_high: float = np.nan
    statistic: float = np.nan
    df: float = np.nan
    p_value: float = np.nan
    note: str = ""


@dataclass(frozen=True)
class Blocks:
    """Mean answers, an array of blocks x conditions; note: which blocks are left out."""

    mean: Floats
    note: str

    def test(self, contrast: Floats) -> BlockedTest:
        """Test that rows of weights of the conditions' means, averaged over the blocks, are all 0.

        It is Hotelling's (1931) T2 over the blocks, with one row the paired t: what is not the same in all
        blocks is what varies.
        """
        if not self.mean.size:
            return BlockedTest(note=self.note)
        q, blocks = len(contrast), len(self.mean)
        values = self.mean @ contrast.T
        value = values.mean(axis=0)
        if blocks <= q or np.linalg.matrix_rank(cov := np.atleast_2d(np.cov(values.T)) / blocks) < q:
            estimate = float(value[0]) if q == 1 else np.nan
            return BlockedTest(estimate, note=join_notes(TOO_FEW, self.note))
        df = blocks - q
        statistic = df / (q * (blocks - 1)) * float(value @ np.linalg.solve(cov, value))
        p_value = float(stats.f.sf(statistic, q, df))
        if q > 1:
            return BlockedTest(statistic=statistic, df=df, p_value=p_value, note=self.note)
        half_width = stats.t.ppf(0.975, df) * np.sqrt(cov[0, 0])
        ends = float(value[0] - half_width), float(value[0] + half_width)
        return BlockedTest(float(value[0]), *ends, statistic, df, p_value, self.note)


def blocks_of(
    table: pd.DataFrame, factors: Sequence[str], blocks: Sequence[str], outcome: str
) -> tuple[Blocks, pd.DataFrame]:
    """Return the cells by block, and the conditions: each combination of the factors, in order.

    table: one row per answer; NaN outcomes are left out. A block in which some condition has no answer is
    left out.
    """
    cells = group_cells(table, [*blocks, *factors], outcome)
    conditions = cells[list(factors)].drop_duplicates().sort_values(list(factors), ignore_index=True)
    wide = pd.DataFrame(cells.set_index([*blocks, *factors])["mean"].unstack(list(factors)))
    order = list(conditions.itertuples(index=False, name=None))
    mean = wide.reindex(columns=[key if len(factors) > 1 else key[0] for key in order]).to_numpy(float)
    whole = ~np.isnan(mean).any(axis=1)
    name, note = " and ".join(blocks), ""
    if not whole.any():
        note = f"by block: no {name} has an answer in each condition"
    elif not whole.all():
        note = f"by block: without {int((~whole).sum())} of {len(whole)} blocks ({name}) that lack answers"
    return Blocks(mean[whole], note), conditions


def term_contrasts(design: DesignMatrix) -> dict[str, Floats] | None:
    """Return each term's coefficients as weights of the conditions' means.

    design: full factorial, with a row for each condition. None where the design is not of full rank.
    """
    matrix = design.matrix
    if matrix.shape[0] != matrix.shape[1] or np.linalg.matrix_rank(matrix) < len(matrix):
        return None
    inverse = np.linalg.inv(matrix)
    return {term: np.asarray(inverse[columns], float) for term, columns in design.terms.items()}
