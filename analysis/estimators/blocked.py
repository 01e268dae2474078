"""Test differences of means within blocks, without assuming that the variances are equal.

What is asked about several products has a mean and a variance for each of them. Pooled over products, the
products' own differences count as noise, and a test has no power. Within blocks (the products) they do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from analysis.estimators.linear_models import DesignMatrix, group_cells
from analysis.tables.frame import Floats, join_notes

LEAST = 2
"""The answers that a cell needs for a variance."""
ONE_EACH = "by block: one answer to each question, so the blocks are what varies"


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
    """Cells of blocks x conditions. mean, variance (of the mean), n: arrays of that shape."""

    mean: Floats
    variance: Floats
    n: Floats
    note: str

    def test(self, contrast: Floats) -> BlockedTest:
        """Test that rows of weights of the conditions' means, averaged over the blocks, are all 0.

        The statistic is Johansen's (1980) for unequal variances (Welch-James): Wald's, divided by a
        constant, with F(q, df). With one row it is t squared with Welch's and Satterthwaite's df.
        """
        if not self.mean.size:
            return BlockedTest(note=self.note)
        if (self.n == 1).all():
            return self._over_blocks(contrast)
        q, blocks = len(contrast), len(self.mean)
        weights = np.tile(contrast / blocks, (1, blocks))
        value, variance = weights @ self.mean.ravel(), self.variance.ravel()
        cov = (weights * variance) @ weights.T
        if np.linalg.matrix_rank(cov) < q:
            estimate = float(value[0]) if q == 1 else np.nan
            return BlockedTest(estimate, note="by block: no variance within the cells, so no test")
        inverse = np.linalg.inv(cov)
        shares = variance * np.einsum("qj,qr,rj->j", weights, inverse, weights)
        a = float((shares**2 / (self.n.ravel() - 1)).sum())
        df = q * (q + 2) / (3 * a)
        statistic = float(value @ inverse @ value) / (q + 2 * a - 6 * a / (q + 2))
        p_value = float(stats.f.sf(statistic, q, df))
        if q > 1:
            return BlockedTest(statistic=statistic, df=df, p_value=p_value, note=self.note)
        half_width = stats.t.ppf(0.975, df) * np.sqrt(cov[0, 0])
        ends = float(value[0] - half_width), float(value[0] + half_width)
        return BlockedTest(float(value[0]), *ends, statistic, df, p_value, self.note)

    def _over_blocks(self, contrast: Floats) -> BlockedTest:
        """Of one answer in each cell: Hotelling's (1931) T2 over the blocks, with one row the paired t."""
        q, blocks = len(contrast), len(self.mean)
        values = self.mean @ contrast.T
        value, note = values.mean(axis=0), join_notes(ONE_EACH, self.note)
        if blocks <= q or np.linalg.matrix_rank(cov := np.atleast_2d(np.cov(values.T)) / blocks) < q:
            estimate = float(value[0]) if q == 1 else np.nan
            return BlockedTest(estimate, note=join_notes(note, "too few that differ for a test"))
        df = blocks - q
        statistic = df / (q * (blocks - 1)) * float(value @ np.linalg.solve(cov, value))
        p_value = float(stats.f.sf(statistic, q, df))
        if q > 1:
            return BlockedTest(statistic=statistic, df=df, p_value=p_value, note=note)
        half_width = stats.t.ppf(0.975, df) * np.sqrt(cov[0, 0])
        ends = float(value[0] - half_width), float(value[0] + half_width)
        return BlockedTest(float(value[0]), *ends, statistic, df, p_value, note)


def blocks_of(
    table: pd.DataFrame, factors: Sequence[str], blocks: Sequence[str], outcome: str
) -> tuple[Blocks, pd.DataFrame]:
    """Return the cells by block, and the conditions: each combination of the factors, in order.

    table: one row per answer; NaN outcomes are left out. A block in which some condition has fewer than two
    answers is left out, unless no question of any block has two.
    """
    cells = group_cells(table, [*blocks, *factors], outcome)
    conditions = cells[list(factors)].drop_duplicates().sort_values(list(factors), ignore_index=True)
    by_cell = cells.set_index([*blocks, *factors])
    wide = {name: pd.DataFrame(by_cell[name].unstack(list(factors))) for name in ("n", "mean", "ss")}
    order = list(conditions.itertuples(index=False, name=None))
    keys = [key if len(factors) > 1 else key[0] for key in order]
    n, mean, ss = (wide[name].reindex(columns=keys).to_numpy(float) for name in ("n", "mean", "ss"))
    whole = (n >= min(LEAST, np.nanmax(n, initial=0))).all(axis=1)
    name = " and ".join(blocks)
    note = ""
    if not whole.any():
        note = f"by block: no {name} has enough answers in each condition"
    elif not whole.all():
        note = f"by block: without {int((~whole).sum())} of {len(whole)} blocks ({name}) that lack answers"
    n, mean, ss = n[whole], mean[whole], ss[whole]
    variance = ss / np.maximum(n - 1, 1) / n
    return Blocks(mean, variance, n, note), conditions


def term_contrasts(design: DesignMatrix) -> dict[str, Floats] | None:
    """Return each term's coefficients as weights of the conditions' means.

    design: full factorial, with a row for each condition. None where the design is not of full rank.
    """
    matrix = design.matrix
    if matrix.shape[0] != matrix.shape[1] or np.linalg.matrix_rank(matrix) < len(matrix):
        return None
    inverse = np.linalg.inv(matrix)
    return {term: np.asarray(inverse[columns], float) for term, columns in design.terms.items()}
