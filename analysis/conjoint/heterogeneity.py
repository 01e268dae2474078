"""Pool the part-worths of agents: what agents have in common, and what a new one may weigh."""

import pandas as pd

from analysis.conjoint.frames import ALL_AGENTS
from analysis.conjoint.full_models import FullModels
from analysis.estimators.partial_pooling import partial_pooling
from analysis.tables.frame import FRAME_COLUMNS

AGENT = "agent"


def heterogeneity(every: list[FullModels]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the random effects of agents' part-worths, and the shrunken part-worth of each agent.

    The part-worths are those of the log-price form of `full_models`, for all agents alike; `price` is for a
    price that is e times as high. See `partial_pooling` for the columns; both are empty with one agent.
    """
    frames = [
        models.fits["log"].frame(models.agent).assign(part=AGENT, level=models.agent, group=ALL_AGENTS)
        for models in (every if len(every) > 1 else ())
    ]
    empty = pd.DataFrame(columns=[*FRAME_COLUMNS, "part", "level"])
    return partial_pooling(pd.concat(frames, ignore_index=True) if frames else empty)
