"""Make the two tables of random effects: what levels have in common, and each level shrunken towards it."""

from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.estimators.random_effects import LEAST_GROUPS, LEAST_TO_SHRINK, fit_random_effects
from analysis.tables.families import adjusted
from analysis.tables.frame import FRAME_COLUMNS, join_notes, result_frame

KEYS: Final = ["group", "part", "term"]
SPREAD: Final = ("sd", "sd_low", "sd_high", "p_equal", "predict_low", "predict_high")
SHRUNKEN: Final = ("shrunken", "shrunken_low", "shrunken_high", "own_weight", "rank")


def partial_pooling(own: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fit random effects to the estimates of levels: of agents, nudge texts, profiles.

    own: the columns of every estimator, `part` (what the levels are) and `level`. Rows that are equal in
    group, part and term are levels of one distribution.

    First frame, a row for each distribution: `estimate` is its mean, n counts the levels, n_missing those
    left out because they have no standard error. Extra columns: `part`; `sd`, `sd_low`, `sd_high`: how far
    levels differ; `p_equal`: of the test that they do not; `predict_low`, `predict_high`: where the true
    effect of a new level lies.

    Second frame, a row for each level: its own estimate as it is in `own`, `part`, `level`, and its shrunken
    effect: `shrunken`, `shrunken_low`, `shrunken_high`; `own_weight`, the weight of its own estimate in it
    (0 to 1); `rank`, from 1 for the highest. See `fit_random_effects`.
    """
    means: list[dict[str, Any]] = []
    levels = []
    for (group, part, term), every in own.groupby(KEYS, sort=False):
        usable = every["estimate"].notna() & (every["std_error"] > 0)
        rows, lost = every[usable], int((~usable).sum())
        row: dict[str, Any] = {"term": term, "group": group, "part": part, "n": len(rows), "n_missing": lost}
        shown = every.assign(**dict.fromkeys(SHRUNKEN, np.nan))
        if len(rows) < LEAST_GROUPS:
            row["note"] = f"needs {LEAST_GROUPS} or more with a standard error, has {len(rows)}"
        else:
            few = f"{len(rows)} say little of how far new ones differ"
            found = fit_random_effects(rows["estimate"], rows["std_error"])
            row |= {
                "estimate": found.mean,
                **{name: getattr(found, name) for name in ("std_error", "statistic", "p_value")},
                **{name: getattr(found, name) for name in ("conf_low", "conf_high", *SPREAD)},
                "note": join_notes(
                    few if len(rows) < LEAST_TO_SHRINK else "",
                    "they agree better than their errors allow" if np.isnan(found.sd_high) else "",
                ),
            }
            for name in SHRUNKEN[:-1]:
                shown.loc[usable, name] = getattr(found, name)
            shown["rank"] = shown["shrunken"].rank(ascending=False, method="min")
        if len(rows) < LEAST_TO_SHRINK:
            reason = f"not shrunken: fewer than {LEAST_TO_SHRINK} to compare with"
            shown.loc[usable, "note"] = [join_notes(str(note), reason) for note in rows["note"]]
        means.append(row)
        levels.append(shown)
    summary = adjusted(result_frame(means, "part", *SPREAD)) if means else None
    columns = [*FRAME_COLUMNS, "part", "level", *SHRUNKEN]
    return (
        result_frame([], "part", *SPREAD) if summary is None else summary,
        pd.concat(levels, ignore_index=True)[columns] if levels else result_frame([], *columns[12:]),
    )
