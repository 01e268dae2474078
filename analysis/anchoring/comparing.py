"""Compare how far an anchor moves the expected answers of models, question by question."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.anchoring.study import analyze_anchoring
from analysis.reporting.comparing import compare_sides, difference

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
    return compare_sides(table, _prepared, _differences)


def _prepared(rows: pd.DataFrame) -> pd.DataFrame:
    found = analyze_anchoring(rows).results
    return found[found["variation"] != "MODEL"].set_index("variation")


def _differences(one: pd.DataFrame, other: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for term in ("delta_ev", "abss"):
        both = pd.DataFrame({"one": one[term], "other": other[term]}).astype(float).dropna()
        values = both["one"].mean(), both["other"].mean()
        few = f"no test: fewer than {LEAST} variations in common" if len(both) < LEAST else ""
        row = difference(term, values, np.nan, np.nan, len(both), few)
        if not few:
            apart = (both["one"] - both["other"]).to_numpy()
            row["p_value"] = float(
                stats.permutation_test(
                    (apart,), np.mean, permutation_type="samples", n_resamples=_SAMPLES, random_state=0
                ).pvalue
            )
        yield row
