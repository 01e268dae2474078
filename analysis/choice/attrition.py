"""Count how the trials of each condition ended, and test whether choices go missing evenly."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.tables.choice_table import TRIAL_ID, check_table
from analysis.tables.families import adjusted_within
from analysis.tables.frame import FRAME_COLUMNS

Counts = npt.NDArray[np.integer[Any]]

FACTORS = ("ordering", "profile", "nudge_text", "family", "category", "set")
"""What the design varies besides the condition; texts and families are those of trials with a nudge."""

RESAMPLES = 9_999
SEED = 0


def attrition(table: pd.DataFrame) -> pd.DataFrame:
    """Count outcomes by agent and condition.

    Columns: agent, condition, outcome, count, trials, share, conf_low, conf_high. share is count / trials,
    with Wilson's (1927) 95 % interval. An outcome that a cell never had has count 0.

    Raises AnalysisError for a table that `check_table` refuses.
    """
    return count_outcomes(check_table(table))


def count_outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Count outcomes as `attrition` does, in a table that is checked."""
    trials = table.drop_duplicates(TRIAL_ID)
    cells = pd.crosstab([trials["agent"], trials["condition"]], trials["outcome"])
    counts = cells.melt(ignore_index=False, value_name="count").reset_index()
    counts = counts.sort_values(["agent", "condition", "outcome"], ignore_index=True)
    counts["trials"] = counts.groupby(["agent", "condition"])["count"].transform("sum")
    counts["share"] = counts["count"] / counts["trials"]
    low, high = proportion_confint(counts["count"], counts["trials"], method="wilson")
    return counts.assign(conf_low=low, conf_high=high)


def equal_attrition(table: pd.DataFrame) -> pd.DataFrame:
    """Test by agent that the share of trials without a choice is the same in all conditions.

    Pearson's chi-square if all expected counts are 5 or more; else Fisher's exact test for two conditions
    (two-sided), and for more the chi-square against 9,999 random tables with the same margins (seed 0).
    Returns the columns of every estimator; `estimate` is the largest difference between two conditions, in
    percentage points.
    """
    return compare_outcomes(check_table(table))


def compare_outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Test as `equal_attrition` does, in a table that is checked."""
    trials = table.drop_duplicates(TRIAL_ID)
    rows = [_evenness(str(agent), own, "condition") for agent, own in trials.groupby("agent", sort=True)]
    return _frame(rows)


def compare_by_factor(table: pd.DataFrame) -> pd.DataFrame:
    """Test as `equal_attrition` does that choices go missing evenly over the levels of each other factor.

    table: checked. Extra column `factor`: ordering, profile, nudge_text, family, category, set, where it
    varies within an agent's trials. `p_adjusted` is over the factors of an agent. Empty where every trial has
    a choice.
    """
    trials = table.drop_duplicates(TRIAL_ID)
    carried = (
        table[table["nudged"].eq(1) | table["placebo"].eq(1)].drop_duplicates(TRIAL_ID).set_index(TRIAL_ID)
    )
    for name in ("nudge_text", "family"):
        trials = trials.assign(**{name: trials[TRIAL_ID].map(carried[name])})
    rows = []
    for agent, own in trials.groupby("agent", sort=True):
        if own["outcome"].eq("choice").all():
            continue
        for factor in FACTORS:
            known = own[own[factor].notna()] if factor in own else own[:0]
            if len(known) and known[factor].nunique() > 1:
                rows.append(_evenness(str(agent), known, factor) | {"factor": factor})
    return adjusted_within(_frame(rows, "factor"), "group")


def _evenness(agent: str, trials: pd.DataFrame, factor: str) -> dict[str, object]:
    """The row of an agent: are trials without a choice as frequent at each level of a factor?"""
    missing = trials["outcome"] != "choice"
    counts = pd.crosstab(trials[factor], missing).reindex(columns=[False, True], fill_value=0)
    shares = counts[True] / counts.sum(axis=1)
    statistic, p_value, note = _test_independence(counts.to_numpy(), factor)
    return {
        "term": "equal_attrition",
        "group": agent,
        "estimate": 100 * (shares.max() - shares.min()) if len(shares) > 1 else np.nan,
        "statistic": statistic,
        "p_value": p_value,
        "n": len(trials) - int(missing.sum()),
        "n_missing": int(missing.sum()),
        "note": note,
    }


def _frame(rows: list[dict[str, object]], *more: str) -> pd.DataFrame:
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
