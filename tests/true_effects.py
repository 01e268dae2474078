"""What the estimator of effects gives on average, for a chooser whose chances are known."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.choice.effects.effects import agents, contrast_frame, contrasts_of
from analysis.tables.choice_table import check_table
from analysis.tables.errors import AnalysisError


def true_effects(table: pd.DataFrame, probabilities: npt.ArrayLike) -> pd.DataFrame:
    """Return what `choice_effects` estimates on average for a chooser with known probabilities.

    probabilities: the chance of each row's option to be chosen, in the order of the table's rows. The
    estimator is linear in the outcome, so its expectation on this design is the estimator applied to the
    probabilities.

    Returns the columns term, group, estimate (percentage points) and note.
    """
    table = check_table(table)
    truth = np.asarray(probabilities, float)
    if truth.shape != (len(table),):
        raise AnalysisError(f"probabilities: {truth.shape} values for {len(table)} rows; give one per row")
    frames = []
    for agent, _, used in agents(table):
        contrasts = contrasts_of(used, truth[used.index.to_numpy()])
        frames.append(contrast_frame(contrasts, agent, 0, 0)[["term", "group", "estimate", "note"]])
    effects = pd.concat(frames, ignore_index=True)
    effects["note"] = effects["note"].where(effects["estimate"].isna(), "")
    return effects
