"""Which trials go together in the standard errors: by nudge text and category, as far as there are enough."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.lpm import LEAST_CLUSTERS, PLURALS, Ints

WAYS = ("nudge text", "category")


def cluster_codes(rows: pd.DataFrame, trial: Ints, ways: Sequence[str] = WAYS) -> dict[str, Ints]:
    """The cluster of each row in each way and, last, by choice set. No cluster cuts through a trial.

    Trials without a nudge are one more cluster of the nudge texts.
    """
    labels = {"nudge text": nudge_texts(rows), "category": rows["category"], "set": rows["set"]}
    return {name: trial_codes(labels[name], trial) for name in dict.fromkeys((*ways, "set"))}


def choose_clusters(codes: Mapping[str, Ints], part: Ints | None = None) -> tuple[dict[str, Ints], str]:
    """All ways if each has enough clusters; else the category or, without enough of those, the set alone.

    Never the nudge text alone: sets are shown with several texts, and an agent may treat a set alike each
    time. Also returned is what is to be said of the choice.

    codes: as `cluster_codes` gives them, of the rows that an estimate is made of. part: where there are
    several estimates, the one that each row belongs to: each of them needs enough clusters.
    """
    *ways, last = codes
    few = [name for name in ways if _fewest(codes[name], part) < LEAST_CLUSTERS]
    if ways and not few:
        return {name: codes[name] for name in ways}, ""
    way = "category" if "category" in ways and "category" not in few else last
    lost = " and ".join(PLURALS[name] for name in few)
    return {way: codes[way]}, f"clustered by {way}: fewer than {LEAST_CLUSTERS} {lost}" if lost else ""


def _fewest(code: Ints, part: Ints | None) -> int:
    """The number of clusters; of several parts, that of the part with the fewest."""
    if part is None:
        return len(np.unique(code))
    return min((len(np.unique(code[part == each])) for each in np.unique(part)), default=0)


def nudge_texts(rows: pd.DataFrame) -> "pd.Series[str]":
    """The text of each option's nudge, or the nudge's name where no text was kept."""
    return rows["nudge_text"].where(rows["nudge_text"] != "", rows["nudge"])


def trial_codes(labels: "pd.Series[str]", trial: Ints) -> Ints:
    """One code per trial from the labels of its rows, so that no cluster cuts through a trial."""
    codes = pd.Series(pd.factorize(labels)[0]).groupby(trial)
    return pd.factorize(codes.transform("min") * len(labels) + codes.transform("max"))[0]
