"""What each nudge text does, and what nudges do in each category: the model of the nudged trials."""

import numpy as np
import pandas as pd

from analysis.choice.frames import by_trial, level_frame, stacked
from analysis.clusters import choose_clusters, nudge_texts
from analysis.design import Design, Query, interactions
from analysis.effects import (
    NO_CHOICE,
    TERMS,
    Estimands,
    agents,
    estimands,
    join_notes,
    left_out,
    regressors,
    varies,
)
from analysis.lpm import Ints
from analysis.table import TRIAL_ID, trial_ids

FOCUS = "nudged"

LEAST_SETS = 3
"""With fewer choice sets, an effect by category tells of these products rather than of the category."""


def nudge_effects(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Effects of the nudge by its text, and by the category of the set; empty without nudged trials.

    table: checked. Fitted to the nudged trials: the main model x nudge text + nudged x category | trial. Each
    contrast is averaged over the trials of its text, or category. Errors are clustered the other way: what
    has coefficients of its own adds nothing to the errors of these. Both frames have the columns of every
    estimator, and `nudge_text` or `category`.
    """
    nudged = table[table.groupby(TRIAL_ID)["nudged"].transform("max") == 1]
    labels = {
        "nudge_text": _trial_label(nudge_texts(nudged), nudged),
        "category": _trial_label(nudged["category"], nudged),
    }
    frames: dict[str, list[pd.DataFrame]] = {name: [] for name in labels}
    for agent, rows, used in agents(nudged):
        found = _estimands(used, {name: _codes(label, rows, used) for name, label in labels.items()})
        for name, other in (("nudge_text", "category"), ("category", "nudge text")):
            of_trials = by_trial(labels[name], rows), by_trial(labels[name], used)
            clusters, note = (
                choose_clusters(used, trial_ids(used).to_numpy(), [other]) if len(used) else ({}, "")
            )
            estimates = found.fit(used["chosen"].to_numpy(float), clusters, note)
            levels = sorted(of_trials[0].unique())
            contrasts = {(FOCUS, level): estimates.of((name, at)) for at, level in enumerate(levels)}
            frame = level_frame(contrasts, agent, name, *of_trials)
            frames[name].append(
                _with_sets(frame, name, used["set"].groupby(labels[name][used.index]).nunique())
            )
    return stacked(frames["nudge_text"], "nudge_text"), stacked(frames["category"], "category")


def _with_sets(frame: pd.DataFrame, name: str, sets: "pd.Series[int]") -> pd.DataFrame:
    """With a note where few choice sets stand behind an effect."""
    counts = frame[name].map(sets)
    few = [
        f"choice sets: {count:.0f}, so only these are spoken of" if count < LEAST_SETS else ""
        for count in counts
    ]
    return frame.assign(note=[join_notes(*notes) for notes in zip(few, frame["note"], strict=True)])


def _codes(label: "pd.Series[str]", rows: pd.DataFrame, used: pd.DataFrame) -> tuple[Ints, int]:
    """The label of each used row as an integer, and how many labels the agent's rows have."""
    levels = sorted(label[rows.index].unique())
    return pd.Categorical(label[used.index], levels).codes.astype(int), len(levels)


def _trial_label(label: "pd.Series[str]", rows: pd.DataFrame) -> "pd.Series[str]":
    """The label of each trial: that of the option that has one."""
    return label.groupby(trial_ids(rows)).transform("max")


def _estimands(rows: pd.DataFrame, codes: dict[str, tuple[Ints, int]]) -> Estimands:
    """The nudge's contrasts by nudge text, and by category, in one model."""
    if rows.empty:
        keys = [(name, group) for name, (_, count) in codes.items() for group in range(count)]
        return Estimands(None, {}, dict.fromkeys(keys, NO_CHOICE))
    x, trial = regressors(rows), trial_ids(rows).to_numpy()
    parts = {name: code for name, (code, _) in codes.items()} | {"all": np.zeros(len(rows), int)}
    varying = [term for term in TERMS if varies(x[term], trial).any()]
    by_category = interactions([FOCUS], 1, "category", parts["category"])
    by_text = interactions([FOCUS], 1, "nudge_text", parts["nudge_text"])
    orders = range(len(varying), 0, -1)
    texts = [interactions(varying, order, "nudge_text", parts["nudge_text"]) for order in orders]
    designs = [
        Design(x, parts, columns + by_category, left_out(order, len(varying)))
        for order, columns in zip(orders, texts, strict=True)
    ]
    alike = interactions(varying, 1, "all", parts["all"]) + by_text + by_category
    designs.append(Design(x, parts, alike, "the other features count alike under all texts: too little data"))
    return estimands(designs, trial, [Query(name, FOCUS, *code) for name, code in codes.items()])
