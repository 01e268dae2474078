"""Make frames of contrasts by term and level, and of shares with their intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from analysis.choice.effects.effects import LIMIT, contrast_frame
from analysis.estimators.lpm import Contrast
from analysis.estimators.shares import clustered_share
from analysis.tables.choice_table import trial_ids
from analysis.tables.families import adjusted
from analysis.tables.frame import FRAME_COLUMNS


def level_frame(
    contrasts: Mapping[tuple[str, str], Contrast],
    agent: str,
    name: str,
    levels: "pd.Series[str]",
    used: "pd.Series[str]",
    limit: float = LIMIT,
) -> pd.DataFrame:
    """Return the contrasts by term and level of one agent; the level is the column `name`.

    levels, used: the level of each trial, and of each that has a choice. limit: see `contrast_frame`.
    """
    labels = {f"{at}": key for at, key in enumerate(contrasts)}
    frame = contrast_frame(dict(zip(labels, contrasts.values(), strict=True)), agent, 0, 0, limit)
    terms, its_levels = zip(*labels.values(), strict=True)
    n, trials = used.value_counts(), levels.value_counts()
    frame["term"] = terms
    frame["n"] = [int(n.get(level, 0)) for level in its_levels]
    frame["n_missing"] = [int(trials.get(level, 0) - n.get(level, 0)) for level in its_levels]
    return frame.assign(**{name: its_levels})


def empty_frame(*more: str) -> pd.DataFrame:
    """Return a frame without rows, with the columns of every estimator and `more`."""
    return pd.DataFrame(columns=[*FRAME_COLUMNS, *more])


def stacked(frames: list[pd.DataFrame], *more: str) -> pd.DataFrame:
    """Return the frames as one, with its adjusted p values; without any, an empty one."""
    return adjusted(pd.concat(frames, ignore_index=True)) if frames else empty_frame(*more)


def by_trial(labels: "pd.Series[str]", rows: pd.DataFrame) -> "pd.Series[str]":
    """Return the label of each trial of the rows."""
    first = ~trial_ids(rows).duplicated()
    return labels.loc[rows.index[first]]


CLUSTERED = ["clustered_low", "clustered_high", "effective_n"]
"""The columns of a share's interval that takes the choice sets as draws."""


def clustered(
    chosen: "pd.Series[Any]", cells: Sequence["pd.Series[Any]"], sets: "pd.Series[Any]"
) -> pd.DataFrame:
    """Return clustered_low, clustered_high (percent) and effective_n of the share in each cell, in order.

    chosen: 1 or 0 by row. cells: what tells the cells apart. sets: of each row; its rows may be alike (see
    `clustered_share`).
    """
    rows = chosen.astype(float).groupby([*cells, sets], observed=True).agg(["sum", "size"])
    found = [
        clustered_share(own["sum"], own["size"])
        for _, own in rows.groupby(level=list(range(len(cells))), sort=True, observed=True)
    ]
    return pd.DataFrame(found, columns=CLUSTERED).astype(float) * [100, 100, 1]


def wilson(counts: npt.ArrayLike, trials: npt.ArrayLike) -> dict[str, npt.NDArray[np.float64]]:
    """Return shares with Wilson's (1927) 95 % interval, in percent."""
    low, high = proportion_confint(counts, trials, method="wilson")
    shares = np.asarray(counts) / np.asarray(trials)
    return {
        name: 100 * np.asarray(v, float)
        for name, v in zip(("estimate", "conf_low", "conf_high"), (shares, low, high), strict=True)
    }
