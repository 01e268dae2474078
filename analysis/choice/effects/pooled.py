"""Pool the effects over agents, nudge texts, categories and profiles: random effects."""

from typing import Final

import numpy as np
import pandas as pd
from scipy import stats

from analysis.choice.effects.effects import LESS_PLACEBO, LIMIT, TERMS
from analysis.estimators.partial_pooling import SHRUNKEN, SPREAD, partial_pooling
from analysis.tables.frame import FRAME_COLUMNS, join_notes

ALL_AGENTS: Final = "all agents"
PARTS: Final = ("nudge_text", "category", "family", "profile")
AGENT: Final = "agent"
LEAST_STRATA: Final = 5
"""The fewest strata whose score interval says how uncertain an effect is: of two it is a third too narrow."""
_WIDTH: Final = 2 * float(stats.norm.ppf(0.975))
_SPREADS, _PREDICTED = SPREAD[:3], SPREAD[4:]


def heterogeneity(effects: pd.DataFrame, exact: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the random effects of texts, categories, families, profiles and agents, and each one shrunken.

    effects, exact: the tables of these names. The effects of the nudge and the order are those of the exact
    tests, about these choice sets. Their standard error is the width of the score interval over 3.92, which
    is above 0 also for an agent that is never moved; a level with fewer than five strata is left out. Within
    an agent the part is `nudge_text`, `category`, `family` or `profile`. Over agents (part `agent`, group
    `all agents`) there are the other features, too, with the clustered errors of `effects`, which are of new
    choice sets. See `partial_pooling` for the columns; estimates are in percentage points. Intervals end
    where a probability ends, as in `effects`: the model is normal and knows no end. Both are empty where
    nothing has two levels.
    """
    enough, width = exact["strata"] >= LEAST_STRATA, exact["conf_high"] - exact["conf_low"]
    few = f"not pooled: fewer than {LEAST_STRATA} strata"
    tested = exact.assign(
        std_error=(width / _WIDTH).where(enough),
        note=[
            note if each else join_notes(note, few) for note, each in zip(exact["note"], enough, strict=True)
        ],
    )
    within = tested[tested["part"].isin(PARTS)]
    whole = tested[tested["part"] == ""]
    others = effects[~effects["term"].isin(list(whole["term"]))]
    over = pd.concat([whole, others], ignore_index=True)
    over = over.assign(part=AGENT, level=over["group"], group=ALL_AGENTS)
    if over["level"].nunique() < 2:
        over = over[:0]
    every = pd.concat([within, over], ignore_index=True)[[*FRAME_COLUMNS, "part", "level"]]
    several = every.groupby(["group", "part", "term"])["level"].transform("size") > 1
    every = every[several.astype(bool)]
    every["level"] = np.where(every["level"] == "", "none", every["level"])
    common, shrunken = partial_pooling(every)
    return (
        _ended(common, "conf_low", "conf_high", *_SPREADS, *_PREDICTED),
        _ended(shrunken, *SHRUNKEN[:3]),
    )


def texts_over_agents(exact: pd.DataFrame) -> pd.DataFrame:
    """Return the random effects of agents for each nudge text: its mean effect, and how far agents differ.

    exact: the table of this name, whose standard errors are as in `heterogeneity`. `group` is the text.
    Empty for texts of one agent.
    """
    own = exact[(exact["part"] == "nudge_text") & (exact["strata"] >= LEAST_STRATA)]
    own = own.assign(std_error=(own["conf_high"] - own["conf_low"]) / _WIDTH, part=AGENT)
    own = own.assign(group=own["level"], level=own["group"])[[*FRAME_COLUMNS, "part", "level"]]
    several = own.groupby("group")["level"].transform("size") > 1
    common, _ = partial_pooling(own[several.astype(bool)])
    return _ended(common, "conf_low", "conf_high", *_SPREADS, *_PREDICTED)


def mean_effects(effects: pd.DataFrame) -> pd.DataFrame:
    """Return by agent (`group`) the mean size of its effects (`estimate`), and of how many (`n`).

    effects: the table of this name; rows of a placebo do not count. A size is above 0 by chance alone, so
    there is no interval and no test.
    """
    own = effects[effects["term"].isin(TERMS) & effects["estimate"].notna()]
    sizes = own.assign(size=own["estimate"].abs()).groupby("group", sort=False)["size"]
    return sizes.agg(estimate="mean", n="size").reset_index()


def _ended(frame: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The frame with these columns ended at the largest possible effect: so far apart can effects be, too."""
    largest = np.where(frame["term"] == LESS_PLACEBO, 2 * LIMIT, LIMIT)
    ended = frame[list(columns)].astype(float).clip(-largest, largest, axis=0)
    return frame.assign(**{name: ended[name] for name in columns})
