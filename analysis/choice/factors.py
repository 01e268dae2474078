"""Count what decided the choices by the agents' own words, as a judge read them."""

import pandas as pd

from analysis.choice.frames import wilson
from analysis.tables.errors import AnalysisError

FACTORS = ("price", "rating", "nudge", "other")
FACTOR_COLUMNS = ("trial", "agent", "factor", "judge", "reason")


def deciding_factors(factors: pd.DataFrame) -> pd.DataFrame:
    """Return the share of judged trials that name each factor, by agent and judge.

    factors: FACTOR_COLUMNS, one row per factor that the judge named in a trial. `reason` says why a row is
    not accepted (its quotation does not occur in the text); a row without a factor is an answer that could
    not be read. Returns group, judge, factor, named (trials), trials (with a readable answer), estimate,
    conf_low, conf_high (percent, Wilson), rejected (quotations) and unreadable (trials).

    Raises AnalysisError if a column is absent.
    """
    absent = [name for name in FACTOR_COLUMNS if name not in factors]
    if absent:
        raise AnalysisError(f"factors: column {absent[0]!r} is missing; judge the run again")
    rows = []
    for (agent, judge), given in factors.fillna("").groupby(["agent", "judge"], sort=True):
        readable = given[given["factor"] != ""]
        accepted = readable[readable["reason"] == ""]
        unreadable = given["trial"].nunique() - readable["trial"].nunique()
        for factor in FACTORS:
            refused = readable[(readable["factor"] == factor) & (readable["reason"] != "")]
            rows.append(
                {
                    "group": agent,
                    "judge": judge,
                    "factor": factor,
                    "named": accepted.loc[accepted["factor"] == factor, "trial"].nunique(),
                    "trials": readable["trial"].nunique(),
                    "rejected": len(refused),
                    "unreadable": unreadable,
                }
            )
    found = pd.DataFrame(
        rows, columns=["group", "judge", "factor", "named", "trials", "rejected", "unreadable"]
    )
    judged = found["trials"].where(found["trials"] > 0)
    shares = pd.DataFrame(wilson(found["named"].astype(float), judged.astype(float)), found.index)
    return pd.concat([found, shares], axis=1)
