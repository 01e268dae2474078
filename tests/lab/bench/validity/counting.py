"""Count what p values and intervals did over many studies, and give it as shares."""

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.multitest import multipletests

from analysis.tables.frame import Floats

LEVEL = 0.05
ROUNDING = 1e-9

COUNTS = ("rows", "printed", "null", "rejected", "intervals", "held", "any_null", "any_rejected")


def relative_width(printed: Floats, estimates: Floats) -> float:
    """The mean width of the printed intervals over that of the middle 95 % of the estimates, if normal."""
    spread = 2 * stats.norm.ppf(0.975) * estimates.std(ddof=1)
    return float(printed.mean() / spread) if spread > ROUNDING else np.nan


def adjusted_p(p_values: Floats) -> Floats:
    """Benjamini and Hochberg's p values of one family; NaN stays."""
    found, tested = np.full(len(p_values), np.nan), ~np.isnan(p_values)
    if tested.any():
        found[tested] = multipletests(p_values[tested], method="fdr_bh")[1]
    return found


def rates(counts: pd.DataFrame) -> pd.DataFrame:
    """The counts as shares, each with its Monte-Carlo standard error; rows of one study go together.

    worst: the lowest share of intervals that hold the truth of any row that half of the studies print; width:
    the median over such rows of the printed width over the width that the estimates' own spread needs.
    """
    studies = counts["studies"]

    def share(part: str, whole: str) -> "pd.Series[float]":
        found: pd.Series[float] = counts[part] / counts[whole].where(counts[whole] > 0)
        return found

    found = counts[["experiment", "trials", "shopper", "table", "rows", "studies"]].assign(
        printed=counts["printed"] / (counts["rows"] * studies),
        rejected=share("rejected", "null"),
        held=share("held", "intervals"),
        worst=counts["worst"],
        width=counts["width"],
        any_rejected=share("any_rejected", "any_null"),
    )
    for name in ("rejected", "held"):
        # As if the rows of a study were one: at most this large.
        found[f"{name}_error"] = np.sqrt(found[name] * (1 - found[name]) / studies)
    return found
