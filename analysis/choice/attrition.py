"""Count how the trials of each condition ended, and test whether choices go missing evenly."""

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from analysis.estimators.evenness import by_factor, evenness, evenness_frame
from analysis.estimators.shares import clustered_share
from analysis.tables.choice_table import TRIAL_ID, check_table
from analysis.tables.frame import Floats

FACTORS = ("ordering", "profile", "modality", "nudge_text", "family", "category", "set")
"""What the design varies besides the condition; texts and families are those of trials with a nudge."""


def attrition(table: pd.DataFrame) -> pd.DataFrame:
    """Count outcomes by agent and condition.

    Columns: agent, condition, outcome, count, trials, share, conf_low, conf_high, clustered_low,
    clustered_high, effective_n. share is count / trials; conf_low and conf_high are Wilson's (1927) 95 %
    interval, which takes trials as independent, clustered_low and clustered_high one for which trials of a
    choice set may end alike (see `clustered_share`). An outcome that a cell never had has count 0.

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
    return counts.assign(conf_low=low, conf_high=high, **_clustered(trials, counts))


def _clustered(trials: pd.DataFrame, counts: pd.DataFrame) -> dict[str, Floats]:
    """The columns of an interval that takes the choice sets as draws; shares from 0 to 1."""
    by_set = pd.crosstab([trials["agent"], trials["condition"], trials["set"]], trials["outcome"])
    sets = {cell: own.sum(axis=1) for cell, own in by_set.groupby(level=["agent", "condition"])}
    found = np.array(
        [
            clustered_share(by_set.loc[(agent, condition), outcome], sets[agent, condition])
            for agent, condition, outcome in zip(
                counts["agent"], counts["condition"], counts["outcome"], strict=True
            )
        ]
    ).reshape(-1, 3)
    return dict(zip(("clustered_low", "clustered_high", "effective_n"), found.T, strict=True))


def equal_attrition(table: pd.DataFrame) -> pd.DataFrame:
    """Test by agent that the share of trials without a choice is the same in all conditions.

    Returns the columns of every estimator (see `evenness`); `estimate` is the largest difference between two
    conditions, in percentage points.
    """
    return compare_outcomes(check_table(table))


def compare_outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Test as `equal_attrition` does, in a table that is checked."""
    trials = table.drop_duplicates(TRIAL_ID)
    rows = [
        evenness(str(agent), own["condition"], own["outcome"] != "choice", "condition")
        for agent, own in trials.groupby("agent", sort=True)
    ]
    return evenness_frame(rows)


def compare_by_factor(table: pd.DataFrame) -> pd.DataFrame:
    """Test as `equal_attrition` does that choices go missing evenly over the levels of each other factor.

    table: checked. Extra column `factor`: ordering, profile, modality, nudge_text, family, category, set,
    where it varies within an agent's trials. `p_adjusted` is over the factors of an agent. Empty where every
    trial has a choice.
    """
    trials = table.drop_duplicates(TRIAL_ID)
    carried = (
        table[table["nudged"].eq(1) | table["placebo"].eq(1)].drop_duplicates(TRIAL_ID).set_index(TRIAL_ID)
    )
    for name in ("nudge_text", "family"):
        trials = trials.assign(**{name: trials[TRIAL_ID].map(carried[name])})
    return by_factor(trials, trials["outcome"] != "choice", FACTORS, "set")
