"""Find agents that choose by position, before anything else is estimated."""

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from analysis.conjoint.cards import ShownOptions
from analysis.conjoint.frames import tidy_frame, tidy_row
from analysis.estimators.randomisation import exact_p, flipped, score_interval
from analysis.tables.choice_table import TRIAL_ID
from analysis.tables.frame import join_notes

LOCKED = 0.35
"""The distance of the first-shown rate from a half beyond which an agent is locked.

So an agent is locked outside 15-85 %.
"""

PRIMACY, RECENCY = "locked-primacy", "locked-recency"
"""The verdicts of locked agents: they take what is shown first, or last."""
ORDERS = 2
UNCLEAR = "the interval reaches over a limit of 15 to 85 %"


def triage(cards: ShownOptions) -> pd.DataFrame:
    """Return the first-shown rate of each agent, with an interval, a test against a half, and the verdict.

    The interval is Wilson's, the test a z test. Counted are the choices of A or B; first-shown is the one of
    the two that stood before the other, so an agent that does not look at positions comes near a half when
    every set is shown in both orders.

    Extra columns: `p_exact`, `exact_low` and `exact_high`, of the sets that were shown in both orders: if
    positions do nothing, the two orders of a set could have been exchanged. That is McNemar's exact test,
    with Tango's interval. `verdict`: engaged, locked-primacy or locked-recency where the whole exact interval
    (without such sets Wilson's) says so, undecided where it does not, or "" where nothing can be counted.
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
        rate = first / n
        low, high = proportion_confint(first, n, method="wilson")
        exact = _by_set(counted.assign(front=front[counted.index]))
        verdict = _verdict(exact.get("exact_low", low), exact.get("exact_high", high))
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
                note=join_notes(_note(own), UNCLEAR if verdict == "undecided" else ""),
                verdict=verdict,
                **exact,
            )
        )
    return tidy_frame(rows, "p_exact", "exact_low", "exact_high", "verdict")


def _by_set(counted: pd.DataFrame) -> dict[str, float]:
    """The exact test and the interval of the rate; nothing where no set was chosen from in both orders."""
    shares = counted.groupby(["set", "ordering"])["front"].mean().unstack().dropna()
    if shares.shape[1] != ORDERS or shares.empty:
        return {}
    values = shares.sum(axis=1).to_numpy() - 1
    low, high = score_interval(values, -1, 1)
    p_exact = exact_p(values, [flipped(value) for value in values.tolist()])
    return {"p_exact": p_exact, "exact_low": (1 + low) / 2, "exact_high": (1 + high) / 2}


def _verdict(low: float, high: float) -> str:
    if low > 0.5 + LOCKED:
        return PRIMACY
    if high < 0.5 - LOCKED:
        return RECENCY
    return "engaged" if low >= 0.5 - LOCKED and high <= 0.5 + LOCKED else "undecided"


def _note(own: pd.DataFrame) -> str:
    """Without both orders, a preference for A cannot be told from one for the place where A stands."""
    orders = own.drop_duplicates(TRIAL_ID)["ordering"].value_counts()
    if orders.get("forward", 0) == orders.get("reversed", 0):
        return ""
    return "sets are not shown equally often in both orders"
