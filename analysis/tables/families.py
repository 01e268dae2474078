"""Adjust p values for the number of tests in a family, after Benjamini and Hochberg (1995)."""

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.multitest import multipletests

from analysis.tables.frame import Floats


def benjamini_hochberg(p_values: npt.ArrayLike) -> Floats:
    """Return the adjusted p values of one family; an undefined p value is no test and stays undefined."""
    found = np.array(p_values, float)
    tested = ~np.isnan(found)
    if tested.any():
        found[tested] = multipletests(found[tested], method="fdr_bh")[1]
    return found


def adjusted_within(frame: pd.DataFrame, *family: str) -> pd.DataFrame:
    """Return a frame of estimates with `p_adjusted`: rows that are equal in these columns are a family."""
    p_adjusted = frame.groupby(list(family))["p_value"].transform(benjamini_hochberg)
    return frame.assign(p_adjusted=p_adjusted.astype(float))


def adjusted(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of estimates with `p_adjusted`: all its rows, of all agents, are one family.

    So a study with many agents has no more false findings than one with a single agent.
    """
    return frame.assign(p_adjusted=benjamini_hochberg(frame["p_value"]))
