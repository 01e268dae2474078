"""Read the trials of people: whose they are, and what was changed in them."""

import pandas as pd
import sqlalchemy as sql

from experiments.records.record import Row
from experiments.records.store import Records
from experiments.records.tables import options, participants, receipts, same_trial, trials

CELL = ("set", "nudge", "condition", "profile", "ordering")
"""What two trials share, besides the option that carries the nudge, that show the same."""


def participants_of(records: Records, run: str) -> pd.DataFrame:
    """Return the trials of people in a run: trial, participant, attention, seen_seconds, proposed."""
    names = ("trial", "participant", "attention", "seen_seconds", "proposed")
    columns = [participants.c[name] for name in names]
    found = records.ask(sql.select(*columns).where(participants.c.run == run))
    return pd.DataFrame(found, columns=[column.name for column in columns])


def changes_in(records: Records, run: str, participant: str) -> list[Row]:
    """Return the receipts of a person's trials, in the order of the trials."""
    query = (
        sql.select(receipts)
        .join_from(receipts, participants, same_trial(receipts, participants))
        .where(receipts.c.run == run, participants.c.participant == participant)
        .order_by(participants.c.place, receipts.c.number)
    )
    return [dict(row._mapping) for row in records.ask(query)]


def trials_of_people(records: Records, run: str) -> list[Row]:
    """Return the trials of people in a run: whose, where in which block, what was proposed, set, outcome."""
    query = sql.select(participants, trials.c.set, trials.c.outcome).join_from(
        participants, trials, same_trial(participants, trials)
    )
    order = participants.c.participant, participants.c.place
    found = records.ask(query.where(participants.c.run == run).order_by(*order))
    return [dict(row._mapping) for row in found]


def stored_of(records: Records, run: str, participant: str) -> int:
    """Return how many trials of a person are stored, without those that are to be repeated."""
    query = (
        sql.select(sql.func.count())
        .join_from(participants, trials, same_trial(participants, trials))
        .where(participants.c.run == run, participants.c.participant == participant)
        .where(trials.c.outcome != "infra_error")
    )
    return int(records.value(query) or 0)


def choices_of(records: Records, run: str, agent: str) -> dict[tuple[object, ...], str]:
    """Return by cell of the design the option that an agent chose first in a stored run."""
    columns = [trials.c[name] for name in CELL]
    carried = sql.select(options.c.option).where(same_trial(options, trials), options.c.nudged == 1)
    query = sql.select(trials.c.choice, carried.limit(1).scalar_subquery(), *columns).where(
        trials.c.run == run, trials.c.agent == agent, trials.c.outcome == "choice"
    )
    found: dict[tuple[object, ...], str] = {}
    for choice, carrier, *cell in records.ask(query.order_by(trials.c.repeat)):
        found.setdefault((carrier, *cell), choice)
    return found
