"""Estimate what each nudge text does, and what nudges do in each category, from trials with a nudge."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from analysis.choice.effects.counts import STRATA, strata, tally
from analysis.choice.effects.effects import agents, estimands, regressors
from analysis.choice.effects.frames import by_trial, level_frame, stacked
from analysis.estimators.clusters import choose_clusters, cluster_codes, nudge_texts
from analysis.estimators.lpm import Contrast
from analysis.tables.choice_table import TRIAL_ID, row_weights, trial_ids
from analysis.tables.frame import result_frame

FOCUS = "nudged"

_CELL = ("nudge_text", "category", "chance")
WAYS = {"nudge_text": ["category"], "category": []}
"""How errors by text, and by category, are clustered where there are enough clusters; else by set."""


def nudge_effects(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate effects of the nudge by its text, and by the set's category; empty without nudges.

    table: checked. Each is the nudge's effect in the main model, fitted to the nudged trials of one text, or
    of one category, alone, so that its errors rest on its own clusters: categories, or choice sets where a
    text was seen in fewer than twelve categories; of a category its choice sets. With fewer than twelve there
    is no interval. Both frames have the columns of every estimator, `nudge_text` or `category`, and how many
    strata (see `strata`) went for the nudge, against it, and were there: strata_for, strata_against, strata.
    """
    nudged = table[table.groupby(TRIAL_ID)["nudged"].transform("max") == 1]
    labels = {
        "nudge_text": _trial_label(nudge_texts(nudged), nudged),
        "category": _trial_label(nudged["category"], nudged),
    }
    frames: dict[str, list[pd.DataFrame]] = {name: [] for name in labels}
    for agent, rows, used in agents(nudged):
        signs = strata(used)
        for name, label in labels.items():
            of_trials = by_trial(label, rows), by_trial(label, used)
            levels = sorted(of_trials[0].unique())
            contrasts = dict(_contrasts(used, label[used.index], levels, WAYS[name]))
            of_strata = label[signs.index].to_numpy()
            counts = [tally(signs[of_strata == each], STRATA) for each in levels]
            frame = level_frame(contrasts, agent, name, *of_trials)
            frames[name].append(frame.join(pd.DataFrame(counts)))
    return (
        stacked(frames["nudge_text"], "nudge_text", *STRATA),
        stacked(frames["category"], "category", *STRATA),
    )


def texts_by_category(table: pd.DataFrame) -> pd.DataFrame:
    """Return how often the nudged option was chosen (percent), by nudge text and category.

    table: checked. Columns of every estimator; `nudge_text`, `category`, and `chance`, that of a chooser at
    random. Cells are small, so they are described. Empty with one category.
    """
    nudged = table[table["nudged"] == 1].assign(
        nudge_text=nudge_texts(table), size=table.groupby(TRIAL_ID)["option"].transform("size")
    )
    if nudged["category"].nunique() < 2:
        return result_frame([], *_CELL)
    chosen = nudged["chosen"].astype(float)
    nudged = nudged.assign(chosen=100 * chosen, missing=chosen.isna(), chance=100 / nudged["size"])
    found = nudged.groupby(["agent", "nudge_text", "category"], sort=True).agg(
        estimate=("chosen", "mean"),
        n=("chosen", "count"),
        n_missing=("missing", "sum"),
        chance=("chance", "mean"),
    )
    told = {"term": "nudged_chosen", "note": "described; for a test see nudge_texts and categories"}
    rows = found.reset_index().rename(columns={"agent": "group"})
    every: list[Any] = rows.assign(**told).to_dict("records")
    return result_frame(every, *_CELL)


def _contrasts(
    used: pd.DataFrame, label: "pd.Series[str]", levels: list[str], ways: list[str]
) -> Iterator[tuple[tuple[str, str], Contrast]]:
    """The nudge's contrast at each level, from the trials of that level alone."""
    x, y, trial, weights = (
        regressors(used),
        used["chosen"].to_numpy(float),
        trial_ids(used).to_numpy(),
        row_weights(used),
    )
    codes = cluster_codes(used, trial, ways)
    for level in levels:
        at = (label == level).to_numpy()
        of_level = {name: pd.factorize(code[at])[0] for name, code in codes.items()}
        found = estimands(
            x[at], pd.factorize(trial[at])[0], of_level, None if weights is None else weights[at]
        )
        yield (FOCUS, level), found.fit(y[at], *choose_clusters(of_level)).of(FOCUS)


def _trial_label(label: "pd.Series[str]", rows: pd.DataFrame) -> "pd.Series[str]":
    """The label of each trial: that of the option that has one."""
    return label.groupby(trial_ids(rows)).transform("max")
