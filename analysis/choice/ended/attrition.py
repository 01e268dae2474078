"""Count how the trials of each condition ended, and test whether choices go missing evenly."""

import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from analysis.choice.effects.frames import QUESTION, carries, clustered, with_questions
from analysis.estimators.evenness import by_factor, codes, evenness_frame, evenness_of_units
from analysis.tables.choice_table import TRIAL_ID, check_table

FACTORS = ("ordering", "profile", "modality", "nudge_text", "family", "category", "set")
"""What the design varies besides the condition; texts and families are those of trials with a nudge."""


def attrition(table: pd.DataFrame) -> pd.DataFrame:
    """Count outcomes by agent and condition.

    Columns: agent, condition, outcome, count, trials, share, conf_low, conf_high, clustered_low,
    clustered_high, effective_n. share is count / trials; conf_low and conf_high are Wilson's (1927) 95 %
    interval, which takes trials as independent, clustered_low and clustered_high one about these choice sets,
    for which trials of a question may end alike (see `share_interval`). An outcome that a cell never had has
    count 0.

    Raises AnalysisError for a table that `check_table` refuses.
    """
    return count_outcomes(check_table(table))


def count_outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Count outcomes as `attrition` does, in a table that is checked."""
    trials = with_questions(table)
    cells = pd.crosstab([trials["agent"], trials["condition"]], trials["outcome"])
    counts = cells.melt(ignore_index=False, value_name="count").reset_index()
    counts = counts.sort_values(["agent", "condition", "outcome"], ignore_index=True)
    counts["trials"] = counts.groupby(["agent", "condition"])["count"].transform("sum")
    counts["share"] = counts["count"] / counts["trials"]
    low, high = proportion_confint(counts["count"], counts["trials"], method="wilson")
    counts = counts.assign(conf_low=low, conf_high=high)
    cell = [trials["agent"], trials["condition"]]
    found = []
    for outcome in cells.columns:
        own = clustered(trials["outcome"].eq(outcome), cell, trials["set"], trials[QUESTION])
        found.append((own * [0.01, 0.01, 1]).set_index(cells.index).assign(outcome=outcome))
    return counts.merge(pd.concat(found), on=["agent", "condition", "outcome"], how="left")


def equal_attrition(table: pd.DataFrame) -> pd.DataFrame:
    """Test by agent that the share of trials without a choice is the same in all conditions.

    Returns the columns of every estimator (see `evenness`); `estimate` is the largest difference between two
    conditions, in percentage points. Where a question was asked again, its repeats may end alike: then whole
    questions are exchanged within the choice sets.
    """
    return compare_outcomes(check_table(table))


def compare_outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Test as `equal_attrition` does, in a table that is checked."""
    rows = []
    for agent, own in with_questions(table).groupby("agent", sort=True):
        questions = codes(own, [QUESTION])
        units = own["set"] if questions.duplicated().any() else None
        lost = own["outcome"] != "choice"
        rows.append(evenness_of_units(str(agent), own["condition"], lost, "condition", units, questions))
    return evenness_frame(rows)


def compare_by_factor(table: pd.DataFrame) -> pd.DataFrame:
    """Test as `equal_attrition` does that choices go missing evenly over the levels of each other factor.

    table: checked. Extra column `factor`: ordering, profile, modality, nudge_text, family, category, set,
    where it varies within an agent's trials. `p_adjusted` is over all rows. Empty where every trial has
    a choice.
    """
    trials = with_questions(table)
    carried = table[carries(table)].drop_duplicates(TRIAL_ID).set_index(TRIAL_ID)
    for name in ("nudge_text", "family"):
        trials = trials.assign(**{name: trials[TRIAL_ID].map(carried[name])})
    return by_factor(trials, trials["outcome"] != "choice", FACTORS, "set", [QUESTION])
