"""Compare what agents would pay for the same products."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import pandas as pd

from analysis.estimators.comparing import compare_sides, means_apart
from analysis.estimators.repeats import agents_without_variation, one_answer_each
from analysis.montecarlo.valuation import CONTROL, HIGH, LOW, measures
from analysis.tables.responses_table import check_responses

TEXT: Final = (
    "Answers in percent of the list price: willingness to pay without an anchor, its absolute deviation from"
    " the list price, and how much the high anchor adds to the low one. Products that both were asked about"
    " count alike. Answers to a question are draws, so the differences are about these questions."
)
LEAST: Final = 5
_FEW: Final = f"no interval: fewer than {LEAST} answers to a question"
_ABSENT: Final = "no product in common with a list price"
_ALIKE: Final = "no interval: the answers do not vary"
_TERMS: Final = {
    "wtp_percent": ("response", {CONTROL: 1}),
    "deviation_percent": ("apd", {CONTROL: 1}),
    "high_less_low_percent": ("response", {HIGH: 1, LOW: -1}),
}
"""What is averaged over products, and the sign of each condition in it."""


def compare_valuations(table: pd.DataFrame) -> pd.DataFrame:
    """Compare each two agents, or runs of an agent; see `compare_sides`. n counts answers."""
    return compare_sides(table, _cells, partial(means_apart, absent=_ABSENT, alike=_ALIKE))


def _cells(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The mean answers of each term, by product and condition."""
    checked = measures(check_responses(rows))
    counting = one_answer_each(checked, agents_without_variation(checked))
    found = {}
    for term, (column, signs) in _TERMS.items():
        share = 100 * counting[column] / counting["reference"]
        cells = answer_cells(share, [counting["item"], counting["condition"]])
        sign = pd.Series(cells.index.get_level_values("condition").map(signs), cells.index)
        cells = cells[sign.notna()]
        cells = cells[cells.groupby("item")["n"].transform("size") == len(signs)]
        found[term] = cells.assign(value=sign[cells.index] * cells["value"])
    return found


def answer_cells(answers: "pd.Series[float]", cells: Sequence["pd.Series[Any]"]) -> pd.DataFrame:
    """Return the mean of the answers in each cell that has some, as `means_apart` takes it."""
    found = answers.groupby(list(cells)).agg(["mean", "var", "count"])
    found = found[found["count"] > 0]
    few = found["count"] < LEAST
    made = {
        "value": found["mean"],
        "variance": (found["var"] / found["count"]).mask(few),
        "df": found["count"] - 1,
        "n": found["count"],
        "note": few.map({True: _FEW, False: ""}),
    }
    return pd.DataFrame(made)
