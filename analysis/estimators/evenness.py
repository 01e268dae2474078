"""Test whether answers go missing evenly over the levels of a factor."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from analysis.tables.families import adjusted_within
from analysis.tables.frame import FRAME_COLUMNS

Counts = npt.NDArray[np.integer[Any]]

RESAMPLES = 9_999
SEED = 0


def by_factor(asked: pd.DataFrame, missing: "pd.Series[bool]", factors: Sequence[str]) -> pd.DataFrame:
    """Test for each agent and factor that the share of missing answers is the same at all levels.

    asked: one row per trial, with `agent` and the factors; a level that is NaN is left out. missing: of each
    row. Rows as of `evenness`, with the column `factor`, where the factor varies in an agent's trials.
    `p_adjusted` is over the factors of an agent. Empty where nothing is missing.
    """
    rows = []
    for agent, own in asked.groupby("agent", sort=True):
        for factor in factors if missing[own.index].any() else ():
            known = own[factor].dropna() if factor in own else pd.Series(dtype=object)
            if known.nunique() > 1:
                rows.append(evenness(str(agent), known, missing[known.index], factor) | {"factor": factor})
    return adjusted_within(evenness_frame(rows, "factor"), "group")


def evenness(
    agent: str, levels: "pd.Series[Any]", missing: "pd.Series[bool]", factor: str
) -> dict[str, object]:
    """Return the row of an agent: are missing answers as frequent at each level?

    Pearson's chi-square if all expected counts are 5 or more; else Fisher's exact test for two levels
    (two-sided), and for more the chi-square against 9,999 random tables with the same margins (seed 0).
    `estimate` is the largest difference between two levels, in percentage points.
    """
    counts = pd.crosstab(levels, missing).reindex(columns=[False, True], fill_value=0)
    shares = counts[True] / counts.sum(axis=1)
    statistic, p_value, note = _test_independence(counts.to_numpy(), factor)
    return {
        "term": "equal_attrition",
        "group": agent,
        "estimate": 100 * (shares.max() - shares.min()) if len(shares) > 1 else np.nan,
        "statistic": statistic,
        "p_value": p_value,
        "n": len(levels) - int(missing.sum()),
        "n_missing": int(missing.sum()),
        "note": note,
    }


def evenness_frame(rows: list[dict[str, object]], *more: str) -> pd.DataFrame:
    """Make a frame of such rows, with the columns of every estimator."""
    return pd.DataFrame(rows, columns=[*FRAME_COLUMNS, *more]).astype(
        dict.fromkeys(("std_error", "p_adjusted", "conf_low", "conf_high"), float)
    )


def _test_independence(counts: Counts, factor: str) -> tuple[float, float, str]:
    """Statistic, p value and note of a table of levels x (choice, no choice)."""
    if len(counts) < 2:
        return np.nan, np.nan, f"no test: one {factor} only"
    if (counts.sum(axis=0) == 0).any():
        same = "no trial lacks a choice" if counts[:, 1].sum() == 0 else "no trial has a choice"
        return np.nan, np.nan, f"no test: {same}"
    expected = stats.contingency.expected_freq(counts)
    observed = _chi_square(counts, expected)
    if (expected >= 5).all():
        df = len(counts) - 1
        return observed, float(stats.chi2.sf(observed, df)), f"chi-square, {df} df"
    if len(counts) == 2:
        return np.nan, float(stats.fisher_exact(counts).pvalue), "Fisher's exact test: small counts"
    tables = stats.random_table(counts.sum(axis=1), counts.sum(axis=0), seed=SEED).rvs(RESAMPLES)
    # The tolerance counts tables that equal the observed one despite rounding.
    as_extreme = _chi_square(tables, expected) >= observed - 1e-9
    p_value = (1 + as_extreme.sum()) / (1 + RESAMPLES)
    return observed, float(p_value), f"chi-square, {RESAMPLES:,} random tables: small counts"


def _chi_square(counts: Counts, expected: npt.NDArray[np.float64]) -> Any:
    """Pearson's statistic over the last two axes."""
    return ((counts - expected) ** 2 / expected).sum(axis=(-2, -1))
