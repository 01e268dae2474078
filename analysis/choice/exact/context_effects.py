"""Test whether a third option moves the choice between two others: attraction and compromise."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from analysis.choice.effects.effects import agents
from analysis.choice.effects.frames import empty_frame, stacked, wilson
from analysis.choice.exact.exact import COUNTS, REPEATED, exact_row
from analysis.choice.exact.strata import Strata
from analysis.estimators.randomisation import flipped
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import result_frame

ROLE: Final = "attr_role"
"""The column with the role of each option; the condition says what the third one is."""
ROLES: Final = ("cheap", "good", "third")
CONDITIONS: Final = ("worse-than-cheap", "worse-than-good", "worse-than-both", "cheapest", "dearest")
SHARES: Final = ("group", "condition", "role", "trials", "chosen", "share", "conf_low", "conf_high")
_NONE: Final = "in no two of its trials was cheap or good chosen"
_SAME: Final = ["run", "set", "match", "profile", "modality", "shown"]


class _Effect(NamedTuple):
    """How much more often `role` is chosen in condition `one` than in `other`.

    relative: of the trials in which the third option is not chosen.
    """

    level: str
    one: str
    other: str
    role: str
    relative: bool


_EFFECTS: Final = (
    ("attraction", _Effect("", "worse-than-cheap", "worse-than-good", "cheap", relative=True)),
    ("against_control", _Effect("cheap", "worse-than-cheap", "worse-than-both", "cheap", relative=False)),
    ("against_control", _Effect("good", "worse-than-good", "worse-than-both", "good", relative=False)),
    ("compromise", _Effect("", "cheapest", "dearest", "cheap", relative=True)),
)


def context_effects(table: pd.DataFrame) -> pd.DataFrame:
    """Test what a third option does to the choice between `cheap` and `good`, in percentage points.

    table: checked. Rows for each agent, where its trials have the conditions:

    * attraction: the relative share of cheap (of cheap and good) where the third option is worse than cheap,
      less that where it is worse than good. It is as much for good with the signs turned, and twice what the
      mean share of the target lies above one half (Berkowitsch, Scheibehenne and Rieskamp 2014, Journal of
      Experimental Psychology: General 143): `target_share`, in percent.
    * against_control, by target (`level`): the share of all trials that choose the target of a decoy, less
      that share where the third option is worse than both.
    * compromise: the relative share of an option as the middle one less that as an extreme one.

    A stratum is a set with its products in the same roles and places; its trials differ in the third option's
    price and rating alone. Where these do nothing to the choice, both conditions could have been exchanged.
    For relative shares this holds for all agents whose ratio of the two shares does not depend on a third
    option (independence of irrelevant alternatives; Luce 1959): then each pair of trials that choose cheap or
    good is as likely the other way round. Test and interval are those of `exact_tests`.

    The frame has the columns of every estimator, `level`, `target_share` and the counts of strata. All rows
    are one family of adjusted p values.
    """
    frames = []
    for agent, _, used in agents(table) if ROLE in table else ():
        choices = _choices(used)
        rows = [
            {"term": term, "group": agent, "level": effect.level, **_row(choices, effect)}
            for term, effect in _EFFECTS
            if {effect.one, effect.other} <= {*choices}
        ]
        if rows:
            frames.append(result_frame(rows, "level", "target_share", *COUNTS))
    return stacked(frames) if frames else empty_frame("level", "target_share", *COUNTS)


def context_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Count which role was chosen in each condition, with Wilson's (1927) interval in percent.

    table: checked. Columns: `SHARES`. A third option that is worse than another is chosen by mistake.
    """
    own = table[table[ROLE].isin(ROLES) & table["chosen"].notna()] if ROLE in table else table[:0]
    if own.empty:
        return pd.DataFrame(columns=list(SHARES))
    places = [pd.Categorical(own["condition"], CONDITIONS), pd.Categorical(own[ROLE], ROLES)]
    cells = own.assign(condition=places[0], role=places[1]).groupby(
        ["agent", "condition", "role"], observed=True
    )
    counts = cells["chosen"].agg(trials="size", chosen="sum").astype(int).reset_index()
    shares = wilson(counts["chosen"], counts["trials"])
    return counts.assign(**shares).rename(columns={"agent": "group", "estimate": "share"})[list(SHARES)]


def _choices(used: pd.DataFrame) -> pd.DataFrame:
    """The role that was chosen: questions and their repeats x conditions."""
    own = used[used[ROLE].isin(ROLES)].sort_values([TRIAL_ID, "position"])
    shown = (own["option"] + "\t" + own[ROLE]).groupby(own[TRIAL_ID]).agg("\n".join)
    trials = own[own["chosen"] == 1].set_index(TRIAL_ID)
    trials = trials.assign(shown=shown)
    twin = trials.groupby([*_SAME, "condition"]).cumcount()
    return trials.assign(twin=twin).set_index([*_SAME, "twin", "condition"])[ROLE].unstack("condition")


def _row(choices: pd.DataFrame, effect: _Effect) -> Mapping[str, Any]:
    both = choices[[effect.one, effect.other]].dropna()
    if effect.relative:
        both = both[both.isin(ROLES[:2]).all(axis=1)]
    chosen = (both == effect.role).astype(float)
    rounds = (chosen[effect.one] - chosen[effect.other]).groupby(level=_SAME)
    values, size = rounds.mean().to_numpy(), rounds.size()
    if not len(values):
        return {"n": 0, "note": _NONE, **dict.fromkeys(COUNTS, 0)}
    ends = np.ones(len(values))
    nulls = tuple(map(flipped, values.tolist()))
    strata = Strata(values, nulls, -ends, ends, pd.DataFrame({"trials": 2 * size.to_numpy()}))
    found = exact_row(strata, REPEATED if (size > 1).any() else "")
    return found | ({"target_share": 50 + found["estimate"] / 2} if effect.relative else {})
