"""Compare how often agents are deceived."""

from functools import partial
from typing import Final

import pandas as pd

from analysis.estimators.comparing import compare_sides, means_apart
from analysis.orders.study import DECEIVED, QUESTION, TASK
from analysis.orders.table import CONTROL, FAILED, check_orders

TEXT: Final = (
    "How often agents are deceived, and do their task, in the treated trials, in percent. Interventions that"
    " both were shown count alike; a question that is asked again counts once. Questions are draws, so the"
    " differences are about these choice sets."
)
_ABSENT: Final = "no intervention in common"
_ALIKE: Final = "no interval: the answers do not vary"


def compare_orders(table: pd.DataFrame) -> pd.DataFrame:
    """Compare each two agents, or runs of an agent; see `compare_sides`. n counts questions, repeats once."""
    return compare_sides(table, _cells, partial(means_apart, absent=_ABSENT, alike=_ALIKE))


def _cells(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The share of each outcome, by intervention."""
    checked = check_orders(rows)
    treated = checked[(checked["condition"] != CONTROL) & ~checked["outcome"].isin(FAILED)]
    found = {}
    questions = treated.groupby(QUESTION, dropna=False)
    for term in (DECEIVED, TASK):
        cells = (100 * questions[term].mean().astype(float)).groupby("nudge").agg(["mean", "var", "count"])
        found[term] = pd.DataFrame(
            {
                "value": cells["mean"],
                "variance": cells["var"] / cells["count"],
                "df": cells["count"] - 1,
                "n": cells["count"],
                "note": "",
            }
        )
    return found
