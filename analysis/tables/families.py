"""Adjust p values for the number of tests in a family, after Benjamini and Hochberg (1995)."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.multitest import multipletests

from analysis.tables.frame import Floats

LEVEL: Final = 0.05


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """Return the adjusted p values of one family; an undefined p value is no test and stays undefined."""
    found = np.array(p_values, float)
    tested = ~np.isnan(found)
    if tested.any():
        found[tested] = multipletests(found[tested], method="fdr_bh")[1]
    return found


def multiplicity(families: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Count how many tests of each family are significant at 5 %, by how they are adjusted.

    families: frames with `p_value`, by name; each is one family. Columns: table, tests, and how many of them
    have p < .05 unadjusted, after Benjamini and Hochberg (benjamini_hochberg) and after bonferroni.
    """
    rows = []
    for name, frame in families.items():
        p_values = frame["p_value"].dropna().to_numpy(float)
        if not len(p_values):
            continue
        ways = {
            "unadjusted": p_values,
            "benjamini_hochberg": benjamini_hochberg(p_values),
            "bonferroni": len(p_values) * p_values,
        }
        counts = {way: int((found < LEVEL).sum()) for way, found in ways.items()}
        rows.append({"table": name, "tests": len(p_values), **counts})
    return pd.DataFrame(rows, columns=["table", "tests", "unadjusted", "benjamini_hochberg", "bonferroni"])


def adjusted_within(frame: pd.DataFrame, *family: str) -> pd.DataFrame:
    """Return a frame of estimates with `p_adjusted`: rows that are equal in these columns are a family."""
    p_adjusted = frame.groupby(list(family))["p_value"].transform(benjamini_hochberg)
    return frame.assign(p_adjusted=p_adjusted.astype(float))


def adjusted(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of estimates with `p_adjusted`: all its rows, of all agents, are one family.

    So a study with many agents has no more false findings than one with a single agent.
    """
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))
