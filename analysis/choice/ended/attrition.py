"""Count how the trials of each condition ended, and test whether choices go missing evenly."""

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from analysis.estimators.evenness import by_factor, codes, evenness_frame, evenness_of_units
from analysis.estimators.shares import clustered_share
from analysis.tables.choice_table import TRIAL_ID, check_table
from analysis.tables.frame import Floats

FACTORS = ("ordering", "profile", "modality", "nudge_text", "family", "category", "set")
"""What the design varies besides the condition; texts and families are those of trials with a nudge."""
QUESTION = "question"
_SHOWN = ("option", "position", "price", "rating", "reviews", "nudge", "nudged", "placebo")
_ASKED = ("set", "profile", "modality", "condition", "ordering")
"""What makes two trials the same question: of each product, and of the whole."""


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
    conditions, in percentage points. Where a question was asked again, its repeats may end alike: then whole
    questions are exchanged within the choice sets.
    """
    return compare_outcomes(check_table(table))


def compare_outcomes(table: pd.DataFrame) -> pd.DataFrame:
    """Test as `equal_attrition` does, in a table that is checked."""
    rows = []
    for agent, own in _with_questions(table).groupby("agent", sort=True):
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
    trials = _with_questions(table)
    carried = table[_carries(table)].drop_duplicates(TRIAL_ID).set_index(TRIAL_ID)
    for name in ("nudge_text", "family"):
        trials = trials.assign(**{name: trials[TRIAL_ID].map(carried[name])})
    return by_factor(trials, trials["outcome"] != "choice", FACTORS, "set", [QUESTION])


def _with_questions(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per trial, with `question`: the same number where the same was shown.

    A table without prices does not tell what was shown: each trial is then a question of its own.
    """
    if "price" not in table or table["price"].isna().all():
        trials = table.drop_duplicates(TRIAL_ID)
        return trials.assign(**{QUESTION: trials[TRIAL_ID]})
    carried = table["nudge"].where(_carries(table), "")  # a control trial has the name of its cell's nudge
    columns = table[[name for name in _SHOWN if name in table]].assign(nudge=carried)
    shown = pd.util.hash_pandas_object(columns, index=False)
    trials = table.drop_duplicates(TRIAL_ID)
    # The order of a trial's rows does not matter.
    whole = trials[TRIAL_ID].map(shown.groupby(table[TRIAL_ID].to_numpy()).sum())
    known = [trials[name] for name in _ASKED if name in trials]
    return trials.assign(**{QUESTION: whole.groupby([*known, whole], dropna=False, sort=False).ngroup()})


def _carries(table: pd.DataFrame) -> "pd.Series[bool]":
    found: pd.Series[bool] = table["nudged"].eq(1) | table["placebo"].eq(1)
    return found
