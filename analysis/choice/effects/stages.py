"""Part an effect on choice in two: which products are viewed, and which of those viewed are chosen."""

from collections.abc import Iterator
from typing import Final

import pandas as pd

from analysis.choice.effects.effects import (
    TERMS,
    agents,
    contrast_frame,
    contrasts_of,
    count_trials,
    without_rare,
)
from analysis.choice.effects.frames import stacked
from analysis.estimators.lpm import Contrast
from analysis.tables.choice_table import TRIAL_ID

VIEWED: Final = "viewed"
ALWAYS: Final = "each product was viewed in each trial: what is viewed cannot part the effect"
NONE_KNOWN: Final = "of no trial with a choice is known what was viewed, with the chosen product viewed"


def stages(table: pd.DataFrame) -> pd.DataFrame:
    """Estimate how each feature moves what is viewed, and what is chosen of it, by agent and stage.

    table: checked. A product was viewed if its own page was opened (`opened`), or something of it was in view
    (`attr_in_view`). A trial in which this is unknown of an option, or the chosen one was not viewed, is left
    out. Each stage is the main model of another outcome, in percentage points:

    viewed: whether the option was viewed.
    chosen_if_viewed: whether it was chosen, of the options viewed, in trials with two of them or more.
    by_viewing: 1 / V for each of the V options viewed: the chance of a chooser at random among them.
    by_choosing: chosen or not, less that chance.
    total: chosen or not. It is the sum of the two before, in each trial and so in the estimates.

    An effect of by_choosing is 0 where a feature moves nothing but what is viewed, unless what is viewed
    follows the same taste as what is chosen. Empty where nothing is known of what was viewed; undefined for
    an agent to whom each product was in view each time.
    """
    viewed = _viewed(table)
    if viewed.isna().all():
        return stacked([], "stage")
    frames = [each for agent, rows, used in agents(table) for each in _of_agent(agent, rows, used, viewed)]
    return stacked(frames, "stage")


def _viewed(table: pd.DataFrame) -> "pd.Series[float]":
    """1 or 0 for each row, NaN where it is not known."""
    known = {
        name: pd.to_numeric(table[name], errors="coerce")
        for name in ("opened", "attr_in_view")
        if name in table
    }
    found = pd.DataFrame({name: each.gt(0).astype(float).where(each.notna()) for name, each in known.items()})
    return found.reindex(table.index).max(axis=1)


def _of_agent(
    agent: str, rows: pd.DataFrame, used: pd.DataFrame, viewed: "pd.Series[float]"
) -> Iterator[pd.DataFrame]:
    trial, seen = used[TRIAL_ID], viewed[used.index]
    wrong = seen.isna() | (used["chosen"].eq(1) & seen.eq(0))
    kept = used[~wrong.groupby(trial).transform("any")]
    seen, chosen = seen[kept.index], kept["chosen"].astype(float)
    if kept.empty or seen.all():
        untold = dict.fromkeys(TERMS, Contrast(note=NONE_KNOWN if kept.empty else ALWAYS))
        yield contrast_frame(untold, agent, count_trials(kept), count_trials(rows)).assign(stage=VIEWED)
        return
    many = seen.groupby(kept[TRIAL_ID]).transform("sum")
    of_viewed = kept[seen.eq(1) & many.gt(1)]
    outcomes = {
        VIEWED: (kept, seen),
        "chosen_if_viewed": (of_viewed, chosen[of_viewed.index]),
        "by_viewing": (kept, seen / many),
        "by_choosing": (kept, chosen - seen / many),
        "total": (kept, chosen),
    }
    for stage, (own, outcome) in outcomes.items():
        contrasts = contrasts_of(own, outcome.to_numpy(float))
        frame = contrast_frame(contrasts, agent, count_trials(own), count_trials(rows))
        yield without_rare(frame, own).assign(stage=stage)
