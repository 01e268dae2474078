"""The table of simulated trials with the choices that a test has drawn."""

import numpy.typing as npt
import pandas as pd

from experiments.designs.shop.simulation import SimulatedTrials


def with_choices(made: SimulatedTrials, chosen: npt.ArrayLike) -> pd.DataFrame:
    """Return the table with these choices, one in each trial."""
    return made.table.assign(chosen=pd.Series(chosen, made.table.index).astype("Int64"))
