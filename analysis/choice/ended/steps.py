"""Count the steps of the trials."""

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
