"""Cluster trials for the standard errors, by nudge text and category, as far as there are enough of them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.estimators.lpm import LEAST_CLUSTERS, PLURALS
from analysis.tables.frame import Ints

TEXT_WAY = "nudge text"
WAYS = (TEXT_WAY, "category")
PERSON_WAY = "participant"


def cluster_codes(rows: pd.DataFrame, trial: Ints, ways: Sequence[str] = WAYS) -> dict[str, Ints]:
    """Return the cluster of each row in each way and, last, by choice set.

    No cluster cuts through a trial. Trials without a nudge are one more cluster of the nudge texts. Of people
    the ways are the choice set and, last, the participant: all trials of a person depend on each other.
    """
    if PERSON_WAY in rows and (people := rows[PERSON_WAY]).ne("").any():
        return {"set": trial_codes(rows["set"], trial), PERSON_WAY: trial_codes(people, trial)}
    labels = {TEXT_WAY: nudge_texts(rows), "category": rows["category"], "set": rows["set"]}
    return {name: trial_codes(labels[name], trial) for name in dict.fromkeys((*ways, "set"))}


def choose_clusters(codes: Mapping[str, Ints], part: Ints | None = None) -> tuple[dict[str, Ints], str]:
    """Return all ways if each has enough clusters; else the category, else the last way alone.

    `LEAST_CLUSTERS` says what is enough. The nudge text is never used alone: sets are shown with several
    texts, and an agent may treat a set alike each time. A note on the choice is returned too.

    codes: as `cluster_codes` gives them, of the rows that an estimate is made of. part: where there are
    several estimates, the one that each row belongs to: each of them needs enough clusters.
    """
    *ways, last = codes
    few: dict[str, int] = {}
    tried = (ways, [name for name in ways if name == "category"])
    for names in ([*ways, last],) if last == PERSON_WAY else tried:
        least = LEAST_CLUSTERS.get(len(names), 0)
        lost = [name for name in names if _fewest(codes[name], part) < least]
        if names and not lost:
            return {name: codes[name] for name in names}, _fewer(names, few)
        few = dict.fromkeys(lost, least) | few
    return {last: codes[last]}, _fewer([last], few)


def _fewer(names: Sequence[str], few: Mapping[str, int]) -> str:
    """What is to be said of the ways that have too few clusters; few: how many each would need."""
    lost = " and ".join(f"{least} {PLURALS[name]}" for name, least in sorted(few.items(), reverse=True))
    return f"clustered by {names[0]}: fewer than {lost}" if lost else ""


def _fewest(code: Ints, part: Ints | None) -> int:
    """The number of clusters; of several parts, that of the part with the fewest."""
    if part is None:
        return len(np.unique(code))
    return min((len(np.unique(code[part == each])) for each in np.unique(part)), default=0)


def nudge_texts(rows: pd.DataFrame) -> "pd.Series[str]":
    """Return the text of each option's nudge, or the nudge's name where no text was kept."""
    return rows["nudge_text"].where(rows["nudge_text"] != "", rows["nudge"])


def trial_codes(labels: "pd.Series[str]", trial: Ints) -> Ints:
    """Return one code per trial from the labels of its rows, so that no cluster cuts through a trial."""
    codes = pd.Series(pd.factorize(labels)[0]).groupby(trial)
    return pd.factorize(codes.transform("min") * len(labels) + codes.transform("max"))[0]
