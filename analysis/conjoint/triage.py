"""Find agents that choose by position, before anything else is estimated."""

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.conjoint.cards import Cards
from analysis.conjoint.frames import tidy_frame, tidy_row
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import join_notes

LOCKED = 0.35
"""The distance of the first-shown rate from a half beyond which an agent is locked.

So an agent is locked outside 15-85 %.
"""
LEVEL = 0.05
"""The level of the exact binomial test for locked agents.

An agent is not called locked where chance alone gives such a rate more often.
"""

PRIMACY, RECENCY = "locked-primacy", "locked-recency"
"""The verdicts of locked agents: they take what is shown first, or last."""
TOO_FEW = "too few choices to tell whether the agent is locked"


def triage(cards: Cards) -> pd.DataFrame:
    """Return the first-shown rate of each agent, with an interval, a test against a half, and the verdict.

    The interval is Wilson's, the test a z test. Counted are the choices of A or B; first-shown is the one of
    the two that stood before the other, so an agent that does not look at positions comes near a half when
    every set is shown in both orders.

    Extra column `verdict`: engaged, locked-primacy, locked-recency, undecided where so few choices could have
    such a rate by chance, or "" where nothing can be counted.
    """
    rows = []
    for agent, own in cards.rows.groupby("agent", sort=True):
        trials = own[TRIAL_ID].nunique()
        chosen = own[(own["chosen"] == 1)]
        counted = chosen[chosen["letter"] < 2]
        between = own[own["letter"] < 2]
        front = between["position"] == between.groupby(TRIAL_ID)["position"].transform("min")
        first, n, missing = int(front[counted.index].sum()), len(counted), trials - len(chosen)
        if n == 0:
            rows.append(
                tidy_row("first_shown", str(agent), 0, missing, note="no choice of A or B", verdict="")
            )
            continue
        rate, verdict = first / n, _verdict(first, n)
        low, high = proportion_confint(first, n, method="wilson")
        z = (rate - 0.5) / np.sqrt(0.25 / n)
        rows.append(
            tidy_row(
                "first_shown",
                str(agent),
                n,
                missing,
                estimate=rate,
                std_error=np.sqrt(rate * (1 - rate) / n),
                statistic=z,
                p_value=2 * stats.norm.sf(abs(z)),
                conf_low=low,
                conf_high=high,
                note=join_notes(_note(own), TOO_FEW if verdict == "undecided" else ""),
                verdict=verdict,
            )
        )
    return tidy_frame(rows, "verdict")


def _verdict(first: int, n: int) -> str:
    rate = first / n
    if abs(rate - 0.5) <= LOCKED:
        return "engaged"
    if stats.binomtest(first, n).pvalue >= LEVEL:
        return "undecided"
    return PRIMACY if rate > 0.5 else RECENCY


def _note(own: pd.DataFrame) -> str:
    """Without both orders, a preference for A cannot be told from one for the place where A stands."""
    orders = own.drop_duplicates(TRIAL_ID)["ordering"].value_counts()
    if orders.get("forward", 0) == orders.get("reversed", 0):
        return ""
    return "sets are not shown equally often in both orders"
