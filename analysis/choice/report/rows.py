"""Arrange and name the rows of printed tables and figures."""

from collections.abc import Callable

import pandas as pd

from analysis.tables.frame import LABELS, without_code

EFFECT = "Effect on the probability of being chosen (percentage points)"
NEW_SETS, NEW_TEXTS = ", for sets like these", ", for sets and texts like these"
"""What an interval is about, as a table's title says it: also new choice sets, and new nudge texts.

Exact tests are about these sets and texts themselves.
"""

ONE, TWO = 1, 2
"""Decimals of percentage points, and of numbers whose second decimal counts."""


def with_lead(frame: pd.DataFrame, name: str = "term") -> pd.DataFrame:
    """Return the frame with what tells its rows apart first."""
    first = [column for column in dict.fromkeys(("group", name, "term")) if column in frame]
    return frame[[*first, *(column for column in frame if column not in first)]]


def named_by(*names: str) -> Callable[[pd.Series], str]:
    """Return what names a row: the labels of what is in these columns."""
    return lambda row: " · ".join(
        LABELS.get(row[name], without_code(str(row[name]))) or "(none)" for name in names
    )
