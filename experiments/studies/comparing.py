"""Read the choices of several stored runs, to compare their agents."""

from collections.abc import Sequence

import pandas as pd

from analysis.choice.stopping import TERMS
from experiments.designs.shop.strata_order import strata_order
from experiments.records.record import Row
from experiments.records.store import Records
from experiments.records.tidy_tables import tidy_table
from experiments.studies.kinds import agents_left


def tables_of(
    records: Records, found: Sequence[Row], only: Sequence[str], without: Sequence[str]
) -> pd.DataFrame:
    """Return the choices of these runs as one table, of the agents that `agents_left` names.

    Raises UserError.
    """
    with records.reading():
        table = pd.concat([tidy_table(records, run["run"]) for run in found], ignore_index=True)
    left = agents_left(sorted(set(table["agent"])), only, without)
    return table[table["agent"].isin(left)].reset_index(drop=True)


def rules_of(found: Sequence[Row]) -> dict[str, str]:
    """Return by run the term that a rule is about which could stop the run."""
    orders = {run["run"]: strata_order(run["facts"]) for run in found}
    return {run: TERMS[order.rule.effect] for run, order in orders.items() if order}
