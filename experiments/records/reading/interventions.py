"""Find what interventions did in a run: the trials with their receipts, and one to show for each."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

import sqlalchemy as sql

from experiments.records.record import BOTH
from experiments.records.store import Records
from experiments.records.tables import options, receipts, same_trial, trials


@dataclass(frozen=True, slots=True)
class InterventionReceipts:
    """The trials with receipts of an intervention in one cell of the design, and how they ended.

    chosen: trials with a choice of which an option is treated; carrier: those of them in which that option
    was chosen. example: the id of one of the trials, of one with a choice if there is any.
    """

    intervention: str
    condition: str
    nudge: str
    trials: int
    chosen: int
    carrier: int
    example: str


def never_received(
    records: Records,
    run: str,
    planned: Mapping[str, int] | None = None,
    agents: Collection[str] = (),
) -> dict[str, int]:
    """Return the interventions without a receipt in a run, with the trials that they were planned in.

    planned: the trials by intervention; None: of the nudges of the trials that have ended, as stored. Only
    the trials of these `agents` count; none named: all.
    """
    mine = trials.c.run == run
    mine &= trials.c.agent.in_(agents) if agents else sql.true()
    nudges = sql.select(trials.c.nudge, sql.func.count()).group_by(trials.c.nudge)
    # A control has the name of its cell's nudge, which is not planned.
    carried = (trials.c.nudge != "") & (trials.c.condition != "control")
    nudges = nudges.where(mine, carried, trials.c.outcome != "infra_error")
    edited = sql.select(receipts.c.intervention).distinct()
    edited = edited.where(receipts.c.run == run, receipts.c.trial.in_(sql.select(trials.c.trial).where(mine)))
    with records.reading():  # one state of a run that goes on
        if planned is None:
            planned = Counter[str]()
            for names, count in records.ask(nudges):
                planned.update(dict.fromkeys(names.split(":"), count))
        known = set(records.column(edited)) if planned else set()
    return {name: count for name, count in sorted(planned.items()) if name not in known}


def warnings(unreceived: Mapping[str, int]) -> Iterator[str]:
    """Say of each of these interventions that no page has a receipt of it."""
    for name, count in unreceived.items():
        in_all = "1 trial" if count == 1 else f"{count:,} trials"
        yield (
            f"{name}: planned in {in_all}, but no page has a receipt of it; "
            "see whether its pages are among those that the agent opens"
        )


def received(records: Records, run: str) -> dict[str, list[InterventionReceipts]]:
    """Return the interventions of a run that have receipts, by their ids, with their trials by cell."""
    its = sql.select(receipts.c.intervention, receipts.c.trial).distinct()
    its = its.where(receipts.c.run == run, receipts.c.intervention != "")
    edited = its.subquery()
    carrier = same_trial(options, trials) & (options.c.option == trials.c.choice) & (options.c.nudged == 1)
    made, treated = trials.c.outcome == "choice", options.alias()
    among = sql.exists().where(same_trial(treated, trials), treated.c.nudged == 1)
    name, on_first = edited.c.intervention, (options.c.position == 0) == (trials.c.ordering == "forward")
    own = trials.c.condition != BOTH
    own |= sql.case(
        (on_first, trials.c.nudge.startswith(name + ":")), else_=trials.c.nudge.endswith(":" + name)
    )
    group = (edited.c.intervention, trials.c.condition, trials.c.nudge)
    query = (
        sql.select(
            *group,
            sql.func.count(),
            sql.func.count(sql.case((made & among, 1))),
            sql.func.count(sql.case((made & own, options.c.nudged))),
            sql.func.coalesce(sql.func.min(sql.case((made, trials.c.trial))), sql.func.min(trials.c.trial)),
        )
        .select_from(edited.join(trials, edited.c.trial == trials.c.trial).outerjoin(options, carrier))
        .where(trials.c.run == run)
        .group_by(*group)
        .order_by(*group)
    )
    rows = [InterventionReceipts(*row) for row in records.ask(query)]
    return {name: list(cells) for name, cells in groupby(rows, key=lambda each: each.intervention)}
