"""Compare how far an anchor moves the expected answers of models, question by question."""

from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.anchoring.study import analyze_anchoring
from analysis.estimators.comparing import compare_sides

TEXT: Final = (
    "delta_ev is the expected answer with the high anchor less that with the low one, abss the score, each as"
    " the mean over the variations that both have. Were two models alike, their values of a variation could"
    " have been exchanged: the test flips the signs of the differences, and there is no interval."
)
LEAST: Final = 6
"""With fewer variations no p value of flipped signs can be below .05."""
_SAMPLES: Final = 9_999


def compare_scores(table: pd.DataFrame) -> pd.DataFrame:
    """Compare each two models, or runs of a model; see `compare_sides`. n counts variations."""
    return compare_sides(table, _values, _apart)


def _values(rows: pd.DataFrame) -> dict[str, "pd.Series[float]"]:
    found = analyze_anchoring(rows).results
    own = found[found["variation"] != "MODEL"].set_index("variation")
    return {term: own[term].astype(float) for term in ("delta_ev", "abss")}


def _apart(one: "pd.Series[float]", other: "pd.Series[float]") -> dict[str, Any]:
    both = pd.DataFrame({"one": one, "other": other}).dropna()
    values, means = (both["one"] - both["other"]).to_numpy(), both.mean()
    row = {"estimate": means["one"] - means["other"], "of_group": means["one"], "of_less": means["other"]}
    row["n"] = len(both)
    if len(both) < LEAST:
        return row | {"note": f"no test: fewer than {LEAST} variations in common"}
    chances: dict[str, Any] = {"permutation_type": "samples", "n_resamples": _SAMPLES, "random_state": 0}
    return row | {"p_value": float(stats.permutation_test((values,), np.mean, **chances).pvalue)}
