"""Compare what agents would pay for the same products."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.estimators.repeats import agents_without_variation, one_answer_each
from analysis.montecarlo.valuation import CONTROL, HIGH, LOW, measures
from analysis.reporting.comparing import compare_sides, difference, means_apart
from analysis.tables.responses_table import check_responses

TEXT: Final = (
    "Answers in percent of the list price: willingness to pay without an anchor, its absolute deviation from"
    " the list price, and how much the high anchor adds to the low one. Products that both were asked about"
    " count alike. Answers to a question are draws, so the differences are about these questions."
)
LEAST: Final = 5


def compare_valuations(table: pd.DataFrame) -> pd.DataFrame:
    """Compare each two agents, or runs of an agent; see `compare_sides`. n counts answers."""
    return compare_sides(table, _prepared, _differences)


def _prepared(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Mean, variance and number of answers by product and condition, of each measure."""
    checked = measures(check_responses(rows))
    counting = one_answer_each(checked, agents_without_variation(checked))
    share = counting.assign(
        wtp=100 * counting["response"] / counting["reference"],
        off=100 * counting["apd"] / counting["reference"],
    )
    cells = share.groupby(["item", "condition"])
    found = {name: cells[name].agg(["mean", "var", "count"]) for name in ("wtp", "off")}
    return {name: pd.DataFrame(each).rename(columns={"count": "n"}) for name, each in found.items()}


def _differences(one: dict[str, pd.DataFrame], other: dict[str, pd.DataFrame]) -> Iterator[dict[str, Any]]:
    shared = {
        name: one[name][one[name]["n"] > 0].index.intersection(other[name][other[name]["n"] > 0].index)
        for name in one
    }
    for term, name, signs in (
        ("wtp_percent", "wtp", {CONTROL: 1.0}),
        ("deviation_percent", "off", {CONTROL: 1.0}),
        ("high_less_low_percent", "wtp", {HIGH: 1.0, LOW: -1.0}),
    ):
        cells = shared[name]
        products = sorted(set(cells.get_level_values("item")))
        items = [item for item in products if all((item, each) in cells for each in signs)]
        if not items:
            yield difference(
                term, (np.nan, np.nan), np.nan, np.nan, 0, "no product in common with a list price"
            )
            continue
        places = pd.MultiIndex.from_tuples([(item, each) for item in items for each in signs])
        weights = pd.Series([sign / len(items) for _ in items for sign in signs.values()], places)
        yield means_apart(term, one[name], other[name], weights, LEAST)
