"""The shape of every result: a tidy frame with the estimators' columns, and labels of its terms."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.tables.yaml_data import read_data

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

_WORDS = read_data(Path(__file__).with_name("words.yaml"))
INTERVALS: Mapping[str, tuple[str, str]] = {
    name: tuple(told["columns"]) for name, told in _WORDS["intervals"].items()
}
"""The two columns of an interval, by what stands over it where people read it."""
AFTER: Mapping[str, Sequence[str]] = {name: told["after"] for name, told in _WORDS["intervals"].items()}
"""The columns after which each interval stands."""
COUNTS: Mapping[str, Sequence[str]] = _WORDS["counts"]
"""The three columns of a count, by what stands over them in the terminal."""
LABELS: Mapping[str, str] = _WORDS["labels"]
"""The labels of terms in reports and figures; see `label` for others."""
HEADINGS: Mapping[str, str] = _WORDS["headings"]
"""Columns as people read them; others are shown as they are called, with spaces."""
P_VALUES = (
    *("p_value", "p_adjusted", "p_exact", "p_mid", "p_equivalent"),
    *("p_blocked", "p_blocked_adjusted", "p_answers"),
)
"""The columns that are shown as p values."""


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
