"""Which trials go together in the standard errors: by nudge text and category, as far as there are enough."""

from collections.abc import Sequence

import pandas as pd

from analysis.lpm import Ints

LEAST_CLUSTERS = 3
"""Two clusters leave one degree of freedom, and so an interval 12.7 standard errors to each side."""

WAYS = ("nudge text", "category")


def choose_clusters(
    rows: pd.DataFrame, trial: Ints, ways: Sequence[str] = WAYS
) -> tuple[dict[str, Ints], str]:
    """Of the wanted ways those with enough clusters; else the set, at last the trial; and what is to be said.

    Trials without a nudge are one more cluster of the nudge texts.
    """
    labels = {"nudge text": nudge_texts(rows), "category": rows["category"]}
    codes = {name: trial_codes(labels[name], trial) for name in ways}
    found = {name: code for name, code in codes.items() if code.max() + 1 >= LEAST_CLUSTERS}
    if len(found) == len(ways):
        return found, ""
    lost = [name for name in ways if name not in found]
    if found:
        return (
            found,
            f"clustered by {next(iter(found))} only: fewer than {LEAST_CLUSTERS} clusters by {lost[0]}",
        )
    sets = trial_codes(rows["set"], trial)
    if sets.max() + 1 >= LEAST_CLUSTERS:
        few = {"nudge text": "nudge texts", "category": "categories"}
        return {
            "set": sets
        }, f"clustered by set: fewer than {LEAST_CLUSTERS} {' and '.join(few[n] for n in lost)}"
    return {
        "trial": trial
    }, f"clustered by trial: fewer than {LEAST_CLUSTERS} sets, so only these are spoken of"


def nudge_texts(rows: pd.DataFrame) -> "pd.Series[str]":
    """The text of each option's nudge, or the nudge's name where no text was kept."""
    return rows["nudge_text"].where(rows["nudge_text"] != "", rows["nudge"])


def trial_codes(labels: "pd.Series[str]", trial: Ints) -> Ints:
    """One code per trial from the labels of its rows, so that no cluster cuts through a trial."""
    codes = pd.Series(pd.factorize(labels)[0]).groupby(trial)
    return pd.factorize(codes.transform("min") * len(labels) + codes.transform("max"))[0]
