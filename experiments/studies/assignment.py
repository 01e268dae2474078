"""Add to the choices of a run with `allocation: adaptive` the chance with which each trial was assigned."""

import pandas as pd

from experiments.designs.shop.allocation import ALWAYS, allocation_of
from experiments.records.reading.queries import ended_trials, facts_of
from experiments.records.reading.tidy_tables import tidy_table
from experiments.records.record import CONTROL
from experiments.records.store import Records


def choice_table(records: Records, run: str) -> pd.DataFrame:
    """Return the tidy table of a run; with the column `assignment` where its repeats are allocated.

    It is ALWAYS / repeats of the trial's question for an agent that was asked no further repeats, else 1.
    """
    table, allocation = tidy_table(records, run), allocation_of(facts_of(records, run))
    if allocation is None or table.empty:
        return table
    ended = ended_trials(records, run)
    settled = {agent for agent, each in allocation.agreements(ended).items() if each.settled}
    settled -= {trial.agent for trial in ended if allocation.is_further(trial)}  # guests are given all trials
    repeats = table["condition"].eq(CONTROL).map(lambda control: allocation.rounds.count(control=control))
    chances = (ALWAYS / repeats).clip(upper=1.0).where(table["agent"].isin(settled), 1.0)
    table.insert(list(table).index("steps"), "assignment", chances)
    return table
