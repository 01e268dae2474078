"""Find what interventions did in a run: the trials with their receipts, and one to show for each."""

from dataclasses import dataclass
from itertools import groupby

import sqlalchemy as sql

from experiments.records.store import Records
from experiments.records.tables import options, receipts, trials


@dataclass(frozen=True, slots=True)
class Received:
    """The trials with receipts of an intervention in one cell of the design, and how they ended.

    chosen: trials with a choice; carrier: those of them in which the treated option was chosen. example: the
    id of one of the trials, of one with a choice if there is any.
    """

    intervention: str
    condition: str
    nudge: str
    trials: int
    chosen: int
    carrier: int
    example: str


def received(records: Records, run: str) -> dict[str, list[Received]]:
    """Return the interventions of a run that have receipts, by their ids, with their trials by cell."""
    its = sql.select(receipts.c.intervention, receipts.c.trial).distinct()
    its = its.where(receipts.c.run == run, receipts.c.intervention != "")
    edited = its.subquery()
    carrier = (
        (options.c.run == trials.c.run)
        & (options.c.trial == trials.c.trial)
        & (options.c.option == trials.c.choice)
        & (options.c.nudged == 1)
    )
    made = trials.c.outcome == "choice"
    group = (edited.c.intervention, trials.c.condition, trials.c.nudge)
    query = (
        sql.select(
            *group,
            sql.func.count(),
            sql.func.count(sql.case((made, 1))),
            sql.func.count(sql.case((made, options.c.nudged))),
            sql.func.coalesce(sql.func.min(sql.case((made, trials.c.trial))), sql.func.min(trials.c.trial)),
        )
        .select_from(edited.join(trials, edited.c.trial == trials.c.trial).outerjoin(options, carrier))
        .where(trials.c.run == run)
        .group_by(*group)
        .order_by(*group)
    )
    with records.reading() as connection:
        rows = [Received(*row) for row in connection.execute(query)]
    return {name: list(cells) for name, cells in groupby(rows, key=lambda each: each.intervention)}
