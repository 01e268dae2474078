"""Make tidy rows that several tables of the study share."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.tables.frame import FRAME_COLUMNS

Row = dict[Hashable, Any]

ALL_AGENTS = "all agents"

LEAST_AGENTS = 4
"""The fewest agents for a rank correlation.

With fewer, it cannot reach any usual level of significance.
"""


def tidy_row(term: str, group: str, n: int, n_missing: int = 0, **values: Any) -> Row:
    """Return a row of the standard columns; values that are not given are undefined."""
    empty: Row = dict.fromkeys(FRAME_COLUMNS, np.nan)
    return empty | {"term": term, "group": group, "n": n, "n_missing": n_missing, "note": ""} | values


def tidy_frame(rows: list[Row], *extra: str) -> pd.DataFrame:
    """Return the rows with the standard columns first."""
    return pd.DataFrame(rows, columns=[*FRAME_COLUMNS, *extra])


def rank_correlation(
    term: str,
    first: "pd.Series[float]",
    second: "pd.Series[float]",
    group: str = ALL_AGENTS,
    of: str = "agents",
) -> Row:
    """Compute Spearman's rank correlation over agents, or over other things that `of` names.

    The two series are indexed alike; agents that lack a value are counted.
    """
    both = pd.concat([first, second], axis=1, keys=["first", "second"])
    used = both.dropna()
    n, lost = len(used), len(both) - len(used)
    if n < LEAST_AGENTS:
        reason = f"{of} with both values: {n}; a rank correlation needs {LEAST_AGENTS} or more"
        return tidy_row(term, group, n, lost, note=reason)
    if used["first"].nunique() == 1 or used["second"].nunique() == 1:
        return tidy_row(term, group, n, lost, note=f"all {of} have the same value")
    found = stats.spearmanr(used["first"], used["second"])
    return tidy_row(
        term,
        group,
        n,
        lost,
        estimate=float(found.statistic),
        p_value=float(found.pvalue),
        note="Spearman; no standard error",
    )
