"""Count what decided the choices by the agents' own words, as a judge read them."""

import pandas as pd

from analysis.choice.effects.frames import CLUSTERED, QUESTION, clustered, wilson
from analysis.tables.errors import AnalysisError

FACTORS = ("price", "rating", "nudge", "other")
FACTOR_COLUMNS = ("trial", "agent", "factor", "judge", "reason")


def deciding_factors(factors: pd.DataFrame, asked: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the share of judged trials that name each factor, by agent and judge.

    factors: FACTOR_COLUMNS, one row per factor that the judge named in a trial. `reason` says why a row is
    not accepted (its quotation does not occur in the text); a row without a factor is an answer that could
    not be read. Returns group, judge, factor, named (trials), trials (with a readable answer), estimate,
    conf_low, conf_high (percent, Wilson), rejected (quotations) and unreadable (trials); clustered_low,
    clustered_high and effective_n (see `clustered`) where `asked` has the choice set and the question (`set`,
    `question`) by agent and trial.

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
        judged = readable["trial"].drop_duplicates()
        own = None if asked is None else asked.reindex([(agent, trial) for trial in judged])
        for factor in FACTORS:
            names = set(accepted.loc[accepted["factor"] == factor, "trial"])
            refused = readable[(readable["factor"] == factor) & (readable["reason"] != "")]
            rows.append(
                {
                    "group": agent,
                    "judge": judge,
                    "factor": factor,
                    "named": len(names),
                    "trials": readable["trial"].nunique(),
                    "rejected": len(refused),
                    "unreadable": unreadable,
                    **_clustered(judged.isin(names), own),
                }
            )
    found = pd.DataFrame(
        rows, columns=["group", "judge", "factor", "named", "trials", "rejected", "unreadable", *CLUSTERED]
    )
    judged = found["trials"].where(found["trials"] > 0)
    shares = pd.DataFrame(wilson(found["named"].astype(float), judged.astype(float)), found.index)
    return pd.concat([found.drop(columns=CLUSTERED), shares, found[CLUSTERED].astype(float)], axis=1)


def _clustered(named: "pd.Series[bool]", asked: pd.DataFrame | None) -> dict[str, float]:
    """The interval of the share of trials that name a factor; asked: set and question of each, if known."""
    if asked is None or not len(named):
        return {}
    own = asked.set_index(named.index)
    row = clustered(named, [pd.Series("", named.index)], own["set"], own[QUESTION]).to_dict("records")
    return {str(name): float(value) for each in row for name, value in each.items()}
