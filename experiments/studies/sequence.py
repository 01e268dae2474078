"""Give the stored trials of a run with a stopping rule to its analysis, in the order of the design."""

from collections.abc import Sequence

import pandas as pd

from analysis.choice.stopping import COLUMNS
from experiments.designs.shop.strata_order import StrataOrder
from experiments.records.record import EndedTrial


def sequence_table(order: StrataOrder, ended: Sequence[EndedTrial]) -> pd.DataFrame:
    """Return the table that `analysis.choice.stopping.sequences` reads, of trials that have ended."""
    rule = order.rule
    rows = [
        (trial.agent, *row[:3], "" if row[3] is None else str(int(row[3])), rule.effect, rule.alpha,
         "" if rule.margin is None else str(rule.margin), order.most)
        for trial in ended
        if (row := order.row(trial)) is not None
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS)).sort_values(["agent", "place"], ignore_index=True)
