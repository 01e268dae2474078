"""The shape of every result: a tidy frame with the estimators' columns, and labels of its terms."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]

FRAME_COLUMNS = (
    "term",
    "group",
    "estimate",
    "std_error",
    "statistic",
    "p_value",
    "p_adjusted",
    "conf_low",
    "conf_high",
    "n",
    "n_missing",
    "note",
)
"""The columns of every estimator's frame. Undefined statistics are NaN, with the reason in `note`."""

NUMBERS = ("estimate", "std_error", "statistic", "p_value", "p_adjusted", "conf_low", "conf_high")

INTERVALS = {
    "95 % interval": ("conf_low", "conf_high"),
    "score interval": ("exact_low", "exact_high"),
    "interval by block": ("blocked_low", "blocked_high"),
    "clustered interval": ("clustered_low", "clustered_high"),
    "interval of g": ("hedges_low", "hedges_high"),
    "interval of the mean": ("mean_low", "mean_high"),
    "interval of sd": ("sd_low", "sd_high"),
    "interval of the share": ("share_low", "share_high"),
    "interval in percent": ("percent_low", "percent_high"),
    "interval by set": ("by_set_low", "by_set_high"),
    "interval of a new one": ("predict_low", "predict_high"),
    "interval, shrunken": ("shrunken_low", "shrunken_high"),
    "Krinsky-Robb interval": ("krinsky_robb_low", "krinsky_robb_high"),
}
"""The two columns of an interval, by what stands over it where people read it."""

COUNTS = {
    "strata: for/against/of": ("strata_for", "strata_against", "strata"),
    "sets: for/against/of": ("sets_for", "sets_against", "sets"),
}
"""The three columns of a count, by what stands over them in the terminal."""

P_VALUES = ("p_value", "p_adjusted", "p_exact", "p_equivalent", "p_blocked", "p_blocked_adjusted")
"""The columns that are shown as p values."""

LABELS = {
    "viewed_first": "Viewed first",
    "higher_rated": "Higher rated",
    "cheaper": "Cheaper",
    "nudged": "Nudged",
    "placebo": "Placebo",
    "nudged_less_placebo": "Nudged less placebo",
    "stars": "A star",
    "bed_rank": "A better bed",
    "cancel": "Free cancellation",
    "breakfast": "Breakfast",
    "review_score": "A point of review score",
    "review_count_100": "100 reviews",
    "shown_first": "Shown first",
    "none": "None of the options",
    "price_advantage": "Price advantage",
    "rating_advantage": "Rating advantage",
    "condition[high]": "High anchor",
    "condition[low]": "Low anchor",
}
"""The labels of terms in reports and figures; see `label` for others."""

HEADINGS = {
    "group": "agent",
    "p_value": "p",
    "p_adjusted": "adjusted p",
    "p_exact": "exact p",
    "p_equivalent": "equivalence p",
    "blocked": "estimate by block",
    "p_blocked": "p by block",
    "p_blocked_adjusted": "adjusted p by block",
    "hedges_g": "g",
    "std_error": "std. error",
    "n_missing": "missing",
}
"""Columns as people read them; others are shown as they are called, with spaces."""


def label(term: object) -> str:
    """Return a term as people read it: `Hilton (chain)` for `chain_Hilton`, `a = b` for `a[b]`."""
    text = LABELS.get(str(term), str(term))
    if text.startswith("chain_"):
        return f"{text.removeprefix('chain_')} (chain)"
    name, bracket, level = text.removesuffix("]").partition("[")
    return f"{name} = {level}" if bracket and text.endswith("]") else text


def without_code(text: str) -> str:
    """Return a text as people read it: `the best [category]` for `the best ${category}`."""
    return re.sub(r"\$\{\s*(\w[^}:]*)(:[^}]*)?\}", r"[\1]", text)


def heading(column: str) -> str:
    """Return what stands over a column where people read it."""
    return HEADINGS.get(column, column.replace("_", " "))


def result_frame(rows: Iterable[Mapping[str, object]], *extra: str) -> pd.DataFrame:
    """Make a frame of the estimators' columns and, after them, `extra` ones.

    A value that a row does not give is undefined.
    """
    frame = pd.DataFrame(list(rows), columns=[*FRAME_COLUMNS, *extra])
    frame = frame.astype(dict.fromkeys(NUMBERS, float) | {"n": "Int64", "n_missing": "Int64"})
    frame["note"] = frame["note"].astype("object").where(frame["note"].notna(), "")
    return frame


def join_notes(*notes: str) -> str:
    """Join the notes that are not empty with semicolons."""
    return "; ".join(note for note in notes if note)


def counted(count: int, noun: str) -> str:
    """Write a number with its noun: `1 prompt`, `2 prompts`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
