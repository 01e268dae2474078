"""Compare how strongly agents are biased, in the same experiments."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.biases.batteries import FEW_ANSWERS, LEAST_ANSWERS, experiments
from analysis.biases.study import check_answers
from analysis.reporting.comparing import compare_sides, difference

TEXT: Final = (
    "The mean d of each bias over the scenarios and temperatures that both have, with the sum of their"
    " variances. Answers to a question are draws, so the differences are about these questions."
)
_PLACE: Final = ["term", "scenario", "temperature"]


def compare_biases(table: pd.DataFrame) -> pd.DataFrame:
    """Compare each two agents, or runs of an agent, by bias; see `compare_sides`. n counts answers."""
    return compare_sides(table, _prepared, _differences)


def _prepared(rows: pd.DataFrame) -> pd.DataFrame:
    effects = experiments(check_answers(rows), valid=2)
    return effects.assign(temperature=effects["temperature"].fillna(-1)).set_index(_PLACE)


def _differences(one: pd.DataFrame, other: pd.DataFrame) -> Iterator[dict[str, Any]]:
    places = one.index.intersection(other.index)
    for bias in dict.fromkeys([*one.index.get_level_values("term"), *other.index.get_level_values("term")]):
        own = [place for place in places if place[0] == bias]
        if not own:
            yield difference(bias, (np.nan, np.nan), np.nan, np.nan, 0, "no experiment in common")
            continue
        sides = [each.loc[own] for each in (one, other)]
        both = pd.concat(sides)
        values = sides[0]["estimate"].mean(skipna=False), sides[1]["estimate"].mean(skipna=False)
        variance, counts = both["std_error"] ** 2, both[["n_control", "n_treatment"]]
        n, error, df, note = int(both["n"].sum()), np.nan, np.nan, ""
        if variance.isna().any() or both["conf_low"].isna().any():
            reasons = filter(None, both["note"])
            note = "; ".join(dict.fromkeys(reasons)) or "no interval: an effect has no error"
        elif (counts < LEAST_ANSWERS).to_numpy().any():
            note = FEW_ANSWERS
        else:
            error = float(np.sqrt(variance.sum()) / len(own))
            df = float(variance.sum() ** 2 / (variance**2 / (counts.sum(axis=1) - 2)).sum())
        yield difference(bias, values, error, df, n, note)
