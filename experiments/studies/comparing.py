"""Read the choices of several stored runs, to compare their agents."""

from collections.abc import Sequence

import pandas as pd

from analysis.choice.stopping import TERMS
from analysis.tables.choice_table import check_table
from experiments.designs.shop.strata_order import strata_order
from experiments.records.record import Row
from experiments.records.store import Records
from experiments.studies.assignment import choice_table
from experiments.studies.kinds import agents_left


def stored_tables(records: Records, found: Sequence[Row]) -> list[pd.DataFrame]:
    """Return the choices of each of these runs."""
    with records.reading():
        return [choice_table(records, run["run"]) for run in found]


def of_agents(tables: Sequence[pd.DataFrame], only: Sequence[str], without: Sequence[str]) -> pd.DataFrame:
    """Return the tables as one, of the agents that `agents_left` names.

    Raises AnalysisError for a table with a mistake, UserError for an agent that is not there.
    """
    table = pd.concat([check_table(each) for each in tables], ignore_index=True)
    left = agents_left(sorted(set(table["agent"])), only, without)
    return table[table["agent"].isin(left)].reset_index(drop=True)


def rules_of(found: Sequence[Row]) -> dict[str, str]:
    """Return by run the term that a rule is about which could stop the run."""
    orders = {run["run"]: strata_order(run["facts"]) for run in found}
    return {run: TERMS[order.rule.effect] for run, order in orders.items() if order}
