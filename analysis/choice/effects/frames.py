"""Make frames of contrasts by term and level, and of shares with their intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from analysis.choice.effects.effects import LIMIT, contrast_frame
from analysis.estimators.lpm import Contrast
from analysis.estimators.shares import share_interval
from analysis.tables.choice_table import BADGE, TRIAL_ID, drawn_column, trial_ids
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
"""The columns of a share's interval that takes answers to one question, or in one set, as dependent."""
QUESTION = "question"
SQUARE = "latin-square"
"""The ordering of a trial whose products stand in each place equally often."""
_SHOWN = ("option", "position", "price", "rating", "reviews", "nudge", "nudged", "placebo")
_ASKED = ("set", "profile", "modality", "condition", "ordering")
"""What makes two trials the same question: of each product, and of the whole."""


def clustered(
    chosen: "pd.Series[Any]", cells: Sequence["pd.Series[Any]"], sets: "pd.Series[Any]", question: Any = None
) -> pd.DataFrame:
    """Return clustered_low, clustered_high (percent) and effective_n of the share in each cell, in order.

    chosen: 1 or 0 by row. cells: what tells the cells apart. sets: of each row; its rows may be alike, and
    the interval is about sets like these. question: of each row; then those of one question may be alike, and
    the interval is about these sets (see `share_interval`).
    """
    units = [sets] if question is None else [sets, question]
    rows = chosen.astype(float).groupby([*cells, *units], observed=True).agg(["sum", "size"])
    found = [
        share_interval(
            own["sum"],
            own["size"],
            None if question is None else own.index.get_level_values(len(cells)).to_numpy(),
        )[: len(CLUSTERED)]
        for _, own in rows.groupby(level=list(range(len(cells))), sort=True, observed=True)
    ]
    return pd.DataFrame(found, columns=CLUSTERED).astype(float) * [100, 100, 1]


def with_questions(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per trial, with `question`: the same number where the same was shown.

    A table without prices does not tell what was shown: each trial is then a question of its own.
    """
    if "price" not in table or table["price"].isna().all():
        trials = table.drop_duplicates(TRIAL_ID)
        return trials.assign(**{QUESTION: trials[TRIAL_ID]})
    carried = table["nudge"].where(carries(table), "")  # a control trial has the name of its cell's nudge
    badges = [name for name in table if str(name).startswith(drawn_column(BADGE))]
    columns = table[[*(name for name in _SHOWN if name in table), *badges]].assign(nudge=carried)
    shown = pd.util.hash_pandas_object(columns, index=False)
    trials = table.drop_duplicates(TRIAL_ID)
    # The order of a trial's rows does not matter.
    whole = trials[TRIAL_ID].map(shown.groupby(table[TRIAL_ID].to_numpy()).sum())
    known = [trials[name] for name in _ASKED if name in trials]
    return trials.assign(**{QUESTION: whole.groupby([*known, whole], dropna=False, sort=False).ngroup()})


def carries(table: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows are of options with a nudge or a placebo."""
    found: pd.Series[bool] = table["nudged"].eq(1) | table["placebo"].eq(1)
    return found


def head_to_head(table: pd.DataFrame) -> "pd.Series[bool]":
    """Return which rows are of trials in which two options carry different nudges."""
    carried = table.loc[carries(table), [TRIAL_ID, "nudge"]].drop_duplicates()
    found: pd.Series[bool] = table[TRIAL_ID].isin(carried.loc[carried[TRIAL_ID].duplicated(), TRIAL_ID])
    return found


def without_head_to_head(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of other trials; where there are none, all rows, as if none carried a nudge."""
    both = head_to_head(table)
    if both.all():
        return table.assign(**dict.fromkeys(("nudged", "placebo"), both.astype("Int64") * 0))
    return table[~both] if both.any() else table


def wilson(counts: npt.ArrayLike, trials: npt.ArrayLike) -> dict[str, npt.NDArray[np.float64]]:
    """Return shares with Wilson's (1927) 95 % interval, in percent."""
    low, high = proportion_confint(counts, trials, method="wilson")
    shares = np.asarray(counts) / np.asarray(trials)
    return {
        name: 100 * np.asarray(v, float)
        for name, v in zip(("estimate", "conf_low", "conf_high"), (shares, low, high), strict=True)
    }
