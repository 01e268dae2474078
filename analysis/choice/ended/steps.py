"""Count the steps of the trials, and what they took in each modality."""

import pandas as pd

from analysis.tables.choice_table import TRIAL_ID


def step_counts(table: pd.DataFrame) -> pd.DataFrame:
    """Count trials by agent and number of steps.

    Columns: group, steps, trials, share (percent). table: checked. All trials count, however they ended;
    those without a number of steps are left out.
    """
    if "steps" not in table:
        return pd.DataFrame(columns=["group", "steps", "trials", "share"])
    trials = table.drop_duplicates(TRIAL_ID).dropna(subset="steps")
    counts = trials.groupby(["agent", "steps"]).size().rename("trials").reset_index()
    counts["share"] = 100 * counts["trials"] / counts.groupby("agent")["trials"].transform("sum")
    return counts.rename(columns={"agent": "group"}).astype({"steps": int})


def step_summary(table: pd.DataFrame) -> pd.DataFrame:
    """Summarise the number of steps by agent.

    Columns: trials, mean, sd (divisor n-1), least, quartiles and most steps. table: checked.
    """
    columns = ["group", "trials", "mean", "sd", "least", "lower_quartile", "median", "upper_quartile", "most"]
    if "steps" not in table or table["steps"].isna().all():
        return pd.DataFrame(columns=columns)
    found = table.drop_duplicates(TRIAL_ID).groupby("agent")["steps"].describe().reset_index()
    return found.set_axis(columns, axis=1).query("trials > 0").astype({"trials": int}).reset_index(drop=True)


def modality_use(table: pd.DataFrame) -> pd.DataFrame:
    """Summarise what trials took in each modality, by agent.

    Columns: group, modality, trials, answered (percent that ended in a choice), and the means of steps,
    tokens_in, tokens_out and cost (USD) of a trial; NaN where one is not known of each trial. table: checked;
    trials without a modality are left out. Empty with one modality.
    """
    means = ["steps", "tokens_in", "tokens_out", "cost"]
    trials = table[table["modality"] != ""].drop_duplicates(TRIAL_ID)
    if trials["modality"].nunique() < 2:
        return pd.DataFrame(columns=["group", "modality", "trials", "answered", *means])
    trials = trials.reindex(columns=[*trials.columns, *(name for name in means if name not in trials)])
    trials = trials.assign(answered=100 * (trials["outcome"] == "choice"))
    groups = trials.groupby(["agent", "modality"], sort=True)
    whole = groups[means].count().eq(groups.size(), axis=0)
    found = groups[["answered", *means]].mean(numeric_only=False)
    found[means] = found[means].where(whole)
    found.insert(0, "trials", groups.size())
    return found.reset_index().rename(columns={"agent": "group"})
