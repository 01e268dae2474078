"""Find the trials whose choices a judge can judge, and store what the judge says."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sql

from experiments.records.chain import link_again
from experiments.records.record import Row
from experiments.records.seals import seal_trial
from experiments.records.store import Records
from experiments.records.tables import factors, steps, trials


@dataclass(frozen=True, slots=True)
class _Judgeable:
    """The ids of a run's trials with a choice."""

    choices: frozenset[str]
    spoken: frozenset[str]
    """The trials among them with words of the agent."""
    judged: frozenset[str]
    """The trials among them that the judge has judged."""


def judgeable(records: Records, run: str, judge: str) -> _Judgeable:
    """Find the trials that a judge can judge, or has judged."""
    chosen = sql.select(trials.c.trial).where(trials.c.run == run, trials.c.outcome == "choice")
    judged = sql.select(factors.c.trial).where(factors.c.run == run, factors.c.judge == judge)
    words = sql.select(steps.c.trial).where(
        steps.c.run == run, (steps.c.thought != "") | (steps.c.memory != "")
    )
    with records.reading() as connection:
        choices = frozenset(connection.scalars(chosen))
        done, spoken = set(connection.scalars(judged)), set(connection.scalars(words))
    return _Judgeable(choices, choices & spoken, choices & done)


def add_factors(records: Records, run: str, trial: str, rows: Sequence[Row]) -> None:
    """Store the factors of a trial, numbered from 0, after what other judges said of it."""
    own = (factors.c.run == run) & (factors.c.trial == trial)
    with records.writing() as connection:
        last = connection.scalar(sql.select(sql.func.max(factors.c.number)).where(own))
        first = 0 if last is None else last + 1
        numbered = ({**row, "number": first + row["number"]} for row in rows)
        connection.execute(factors.insert(), [{"run": run, "trial": trial, **row} for row in numbered])
        seal_trial(connection, run, trial)
        link_again(connection, run, trial, "judged")
