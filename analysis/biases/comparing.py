"""Compare how strongly agents are biased, in the same experiments."""

from functools import partial
from typing import Final

import pandas as pd

from analysis.biases.batteries import experiments
from analysis.biases.study import check_answers
from analysis.estimators.comparing import compare_sides, means_apart

TEXT: Final = (
    "The mean d of each bias over the scenarios and temperatures that both have, with the sum of their"
    " variances. Answers to a question are draws, so the differences are about these questions."
)
_ABSENT: Final = "no experiment in common"
_LOST: Final = "no interval: an effect has no error"


def compare_biases(table: pd.DataFrame) -> pd.DataFrame:
    """Compare each two agents, or runs of an agent, by bias; see `compare_sides`. n counts answers."""
    return compare_sides(table, _cells, partial(means_apart, absent=_ABSENT, alike=_LOST))


def _cells(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The effects of each bias, by scenario and temperature."""
    effects = experiments(check_answers(rows), valid=2)
    cells = effects.assign(
        value=effects["estimate"],
        variance=(effects["std_error"] ** 2).where(effects["conf_low"].notna()),
        df=effects["n_control"] + effects["n_treatment"] - 2,
        place=effects["scenario"] + " " + effects["temperature"].astype(str),
    )
    return {str(bias): own.set_index("place") for bias, own in cells.groupby("term", sort=False)}
