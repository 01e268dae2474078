"""Contrast any two nudges, texts, families, profiles, modalities, conditions or categories: A against B."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.choice.effects.effects import LIMIT, TERMS, agents, contrast_frame, contrasts_of, count_trials
from analysis.choice.effects.frames import by_trial, head_to_head, level_frame, stacked, without_head_to_head
from analysis.choice.effects.groups import NO_PROFILE, contrasts_by_level, less_base
from analysis.choice.exact.exact import (
    COUNTS,
    SAME,
    exact_row,
    flips,
    order_and_nudge,
    repeats_note,
    trials_of,
)
from analysis.choice.exact.strata import ROUND
from analysis.estimators.clusters import nudge_texts
from analysis.tables.choice_table import TRIAL_ID, trial_ids
from analysis.tables.errors import AnalysisError
from analysis.tables.frame import join_notes
from analysis.tables.levels import LevelPair, level_pair

CONTRAST: Final = ("part", "level", "less", "exact_low", "exact_high", "p_exact", *COUNTS)
HEAD_TO_HEAD: Final = "head_to_head"
"""The part of contrasts between the two nudges of a trial."""
NOTHING_SHARED: Final = "no exact test: no stratum was shown with both"
_OF_NUDGES: Final = ("nudge", "nudge_text", "family")
_PARTS: Final = (*_OF_NUDGES, "profile", "modality", "condition", "category")
_WITHIN: Final = {
    "nudged": [*(name for name in SAME if name not in ROUND), "first", "words"],
    "viewed_first": [*(name for name in SAME if name not in ROUND), "carrier", "words", "kind"],
}
"""What is the same in a stratum of each term."""
_EXACT: Final = {"conf_low": "exact_low", "conf_high": "exact_high", "p_value": "p_exact"}


def contrasts(table: pd.DataFrame, asked: Sequence[str] = ()) -> pd.DataFrame:
    """Estimate by how many percentage points more a feature moves the choice at one level than at another.

    table: checked. asked: `A:B`, each the id or text of a nudge, a family, profile, modality, condition or
    category. Of nudges, texts and families there is the effect of the nudge, of the others that of each
    feature. An estimate is the effect of the main model in the trials of A less that in those of B. Its error
    leaves out each category (of fewer than twelve, each choice set) under both at once, and so is about sets
    like these. The exact test is about these sets and texts: were both alike, what was answered in a stratum
    under A could have been answered under B. Its estimate is the mean over strata that both have.

    In trials in which one option carries A and the other B there is a row of its own (`part` is
    `head_to_head`): by how many points the option with A is chosen more often than that with B, all else
    alike. It is the effect of A in the main model of these trials, as if B were no nudge; the exact test
    exchanges the two. Other rows leave these trials out. None asked: such rows of all pairs of nudges.

    The frame has the columns of every estimator, `part`, `level` (A), `less` (B), `exact_low`, `exact_high`,
    `p_exact`, and how many strata were for A, for B, and there. All rows are one family of adjusted p values.

    Raises AnalysisError for a contrast that does not name two levels of one factor, or has no trials.
    """
    frames = []
    both, others = head_to_head(table), without_head_to_head(table)
    factors = {part: _levels(table, part) for part in _PARTS}
    for pair in [level_pair(factors, text) for text in asked or _pairs(table[both])]:
        of_nudges = pair.part in _OF_NUDGES
        met, rest = (_met(table[both], pair), table[~both]) if of_nudges else ([], others)
        own = rest[pair.of[rest.index] != ""]
        apart = {pair.level, pair.less} <= set(pair.of[own.index])
        if not (met or apart):
            lacks = "head to head in no trial, and the other trials lack one of the two; name others"
            raise AnalysisError(f"--contrast {pair.level}:{pair.less}: {lacks}")
        frames += met
        if not (asked and apart):
            continue
        terms = ("nudged",) if of_nudges else TERMS
        for agent, rows, used in agents(own):
            level = pair.of[used.index]
            found = contrasts_by_level(used, level, [pair.less, pair.level])
            between = {
                (term, pair.level): less_base(found, term, pair.level, pair.less, pair.part) for term in terms
            }
            every, answered = (
                by_trial(pair.of, each).replace(pair.less, pair.level) for each in (rows, used)
            )
            frame = level_frame(between, agent, "level", every, answered, 2 * LIMIT)
            exact = [_exact(used, pair, term) for term in terms]
            frame["note"] = [
                join_notes(note, row.pop("note")) for note, row in zip(frame["note"], exact, strict=True)
            ]
            frames.append(frame.assign(part=pair.part, less=pair.less).join(pd.DataFrame(exact)))
    return stacked(frames, *CONTRAST)


def _pairs(table: pd.DataFrame) -> list[str]:
    """`A:B` for all pairs of nudges in trials in which two stand head to head."""
    ends = table.groupby(TRIAL_ID)["nudge"].agg(["min", "max"]).drop_duplicates()
    return sorted(ends["min"] + ":" + ends["max"])


def _met(table: pd.DataFrame, pair: LevelPair) -> list[pd.DataFrame]:
    """A frame for each agent with trials in which the two stand head to head, as if A alone were a nudge."""
    trial, side = table[TRIAL_ID], pair.of[table.index]
    met = side.ne("").groupby(trial).transform("all") & side.groupby(trial).transform("nunique").eq(2)
    texts = nudge_texts(table).groupby(trial)
    own = table.assign(
        nudged=(side == pair.level).astype("Int64"),
        placebo=pd.Series(0, table.index, dtype="Int64"),
        direction=1.0,
        nudge=HEAD_TO_HEAD,
        nudge_text=texts.transform("min") + ":" + texts.transform("max"),
    )[met]
    frames = []
    for agent, rows, used in agents(own):
        found = {"nudged": contrasts_of(used, used["chosen"].to_numpy(float))["nudged"]}
        frame = contrast_frame(found, agent, count_trials(used), count_trials(rows))
        row: dict[str, Any] = dict.fromkeys(COUNTS, 0)
        if len(used):
            trials = trials_of(used)
            row = exact_row(order_and_nudge(trials)["nudged"], repeats_note(trials))
        exact = {_EXACT.get(name, name): row.get(name, np.nan) for name in (*_EXACT, *COUNTS)}
        frames.append(frame.assign(part=HEAD_TO_HEAD, level=pair.level, less=pair.less, **exact))
    return frames


def _levels(table: pd.DataFrame, part: str) -> "pd.Series[str]":
    """The level of each row's trial; of what nudges are, "" in trials without one."""
    if part not in _OF_NUDGES:
        return table[part].replace("", NO_PROFILE) if part == "profile" else table[part]
    words = nudge_texts(table) if part == "nudge_text" else table[part]
    carried = words.where(table["nudged"].eq(1), "")
    return carried.where(head_to_head(table), carried.groupby(trial_ids(table)).transform("max"))


def _exact(used: pd.DataFrame, pair: LevelPair, term: str) -> dict[str, Any]:
    """The exact test in the strata that both levels have; only its reason where it has none."""
    nothing = dict.fromkeys(("exact_low", "exact_high", "p_exact"), np.nan) | dict.fromkeys(COUNTS, 0)
    if term not in _WITHIN or pair.part in ("condition", "category"):
        return nothing | {"note": ""}
    sides = []
    note = ""
    for level in (pair.level, pair.less):
        rows = used[pair.of[used.index] == level]
        trials = trials_of(rows) if len(rows) else pd.DataFrame()
        if trials.empty:
            return nothing | {"note": NOTHING_SHARED}
        note = note or repeats_note(trials)
        strata = order_and_nudge(trials)[term]
        apart = "words" if pair.part in _OF_NUDGES else pair.part
        keys = [strata.of[name].to_numpy() for name in _WITHIN[term] if name != apart]
        sides.append(pd.Series(strata.values).groupby(keys, dropna=False).mean())
    both = pd.DataFrame({"one": sides[0], "other": sides[1]}).dropna()
    if both.empty:
        return nothing | {"note": NOTHING_SHARED}
    row = exact_row(flips(both["one"] - both["other"], 4), note)
    return {_EXACT.get(name, name): row[name] for name in (*_EXACT, *COUNTS, "note")}
