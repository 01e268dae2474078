"""Count what decided the choices by the agents' own words, as judges read them, and how far these agree."""

import krippendorff
import numpy as np
import pandas as pd

from analysis.choice.effects.frames import CLUSTERED, QUESTION, clustered, wilson
from analysis.tables.errors import AnalysisError

FACTORS = ("price", "rating", "nudge", "other")
FACTOR_COLUMNS = ("trial", "agent", "factor", "judge", "reason")
MENTIONED = "mentioned only, not a reason for the choice"
"""The reason of a factor that did not decide, but stands in the notes."""
AGREEMENT = ("group", "factor", "judges", "trials", "equal", "estimate", "note")


def deciding_factors(factors: pd.DataFrame, asked: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return the share of judged trials in which each factor decided, by agent and judge.

    factors: FACTOR_COLUMNS, one row per factor that the judge named in a trial. `reason` is `MENTIONED` where
    the factor did not decide, or says why a row is not accepted (its quotation does not occur in the text); a
    row without a factor is an answer that could not be read. Returns group, judge, factor, named and
    mentioned (trials in which it decided; in which it decided or is mentioned), trials (with a readable
    answer), estimate, conf_low, conf_high (percent that it decided, Wilson), mentioned_share (percent),
    rejected (quotations) and unreadable (trials); clustered_low,
    clustered_high and effective_n (see `clustered`) where `asked` has the choice set and the question (`set`,
    `question`) by agent and trial.

    Raises AnalysisError if a column is absent.
    """
    rows = []
    for (agent, judge), given in _checked(factors).groupby(["agent", "judge"], sort=True):
        readable = given[given["factor"] != ""]
        accepted = readable[readable["reason"] == ""]
        unreadable = given["trial"].nunique() - readable["trial"].nunique()
        judged = readable["trial"].drop_duplicates()
        own = None if asked is None else asked.reindex([(agent, trial) for trial in judged])
        for factor in FACTORS:
            names = set(accepted.loc[accepted["factor"] == factor, "trial"])
            every = readable[readable["factor"] == factor]
            only = set(every.loc[every["reason"] == MENTIONED, "trial"])
            refused = every[~every["reason"].isin(["", MENTIONED])]
            rows.append(
                {
                    "group": agent,
                    "judge": judge,
                    "factor": factor,
                    "named": len(names),
                    "mentioned": len(names | only),
                    "trials": readable["trial"].nunique(),
                    "rejected": len(refused),
                    "unreadable": unreadable,
                    **_clustered(judged.isin(names), own),
                }
            )
    found = pd.DataFrame(
        rows,
        columns=[
            "group",
            "judge",
            "factor",
            "named",
            "mentioned",
            "trials",
            "rejected",
            "unreadable",
            *CLUSTERED,
        ],
    )
    judged = found["trials"].where(found["trials"] > 0)
    shares = pd.DataFrame(wilson(found["named"].astype(float), judged.astype(float)), found.index)
    shares["mentioned_share"] = 100 * found["mentioned"] / judged
    return pd.concat([found.drop(columns=CLUSTERED), shares, found[CLUSTERED].astype(float)], axis=1)


def judges_agree(factors: pd.DataFrame) -> pd.DataFrame:
    """Return how far judges agree on whether a factor decided: Krippendorff's alpha, by agent and factor.

    factors: as of `deciding_factors`. Counted are the trials that two judges or more could read. Returns
    group, factor, judges, trials, equal (percent in which all say the same), estimate (alpha, nominal;
    Krippendorff 2004, Content Analysis, chapter 11; 1: always, 0: as by chance) and note. Empty with one
    judge. Alpha is undefined where all judges say the same of every trial: nothing tells chance.
    """
    rows = []
    given = _checked(factors)
    readable = given[given["factor"] != ""]
    for agent, own in readable.groupby("agent", sort=True):
        for factor in FACTORS:
            decided = (own["factor"] == factor) & (own["reason"] == "")
            said = decided.astype(float).groupby([own["judge"], own["trial"]]).max().unstack()
            said = said.loc[:, said.notna().sum() > 1].dropna(how="all")
            if said.empty:
                continue
            alike = said.min() == said.max()
            row = {
                "group": agent,
                "factor": factor,
                "judges": len(said),
                "trials": said.shape[1],
                "equal": 100 * float(alike.mean()),
                "estimate": np.nan,
                "note": "",
            }
            if said.stack().nunique() > 1:
                row["estimate"] = krippendorff.alpha(said.to_numpy(), level_of_measurement="nominal")
            else:
                row["note"] = "undefined: every judge says the same of every trial"
            rows.append(row)
    return pd.DataFrame(rows, columns=list(AGREEMENT))


def _checked(factors: pd.DataFrame) -> pd.DataFrame:
    """Raises AnalysisError if a column is absent."""
    absent = [name for name in FACTOR_COLUMNS if name not in factors]
    if absent:
        raise AnalysisError(f"factors: column {absent[0]!r} is missing; judge the run again")
    return factors.fillna("")


def _clustered(named: "pd.Series[bool]", asked: pd.DataFrame | None) -> dict[str, float]:
    """The interval of the share of trials that name a factor; asked: set and question of each, if known."""
    if asked is None or not len(named):
        return {}
    own = asked.set_index(named.index)
    row = clustered(named, [pd.Series("", named.index)], own["set"], own[QUESTION]).to_dict("records")
    return {str(name): float(value) for each in row for name, value in each.items()}
