"""Count the outcomes of a run by choice set and condition, and what a nudge did to choices."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sql

from experiments.records.record import BOTH, CONTROL
from experiments.records.store import Records
from experiments.records.tables import options, same_trial, trials


@dataclass(frozen=True, slots=True)
class GridCell:
    """Trials of one set, condition, order and agent that ended alike.

    choice: the option chosen; None where none was. carrier: whether it carried the treatment.
    """

    set: str
    condition: str
    ordering: str
    agent: str
    outcome: str
    choice: str | None
    carrier: bool
    trials: int


@dataclass(frozen=True, slots=True)
class Flips:
    """Pairs of treated trials of a set and their controls, which differ in the treatment alone.

    toward: in so many the treated option was chosen with the treatment and not without; away: the reverse.
    """

    pairs: int
    toward: int
    away: int


def grid(records: Records, run: str) -> list[GridCell]:
    """Return the trials of a run by set, condition, order, agent and end, in that order."""
    chosen = same_trial(options, trials) & (options.c.option == trials.c.choice) & (options.c.nudged == 1)
    group = (
        trials.c.set,
        trials.c.condition,
        trials.c.ordering,
        trials.c.agent,
        trials.c.outcome,
        trials.c.choice,
        sql.func.coalesce(options.c.nudged, 0),
    )
    query = (
        sql.select(*group, sql.func.count())
        .select_from(trials.outerjoin(options, chosen))
        .where(trials.c.run == run)
        .group_by(*group)
        .order_by(*group)
    )
    return [
        GridCell(
            name, condition, ordering, agent, outcome, choice, carrier == 1 and condition != BOTH, number
        )
        for name, condition, ordering, agent, outcome, choice, carrier, number in records.ask(query)
    ]


def flips(records: Records, run: str, by: Literal["set", "nudge"] = "set") -> dict[str, Flips]:
    """Return by choice set, or nudge, how often treatments flipped the choice; without pairs it is left out.

    A pair is two trials with a choice that are alike in agent, nudge, order, profile, modality, match and
    repeat, of which one is a control.
    """
    names = ("set", "agent", "nudge", "ordering", "profile", "match", "repeat")
    alike = (*(trials.c[name] for name in names), sql.func.coalesce(trials.c.modality, ""))
    chosen = sql.select(trials.c.choice, *alike).where(trials.c.run == run, trials.c.outcome == "choice")
    carries = same_trial(options, trials) & (options.c.nudged == 1)
    treated = chosen.add_columns(options.c.option).select_from(trials.join(options, carries))
    # Joined here: without statistics a database may compare every trial with every control.
    without: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    pairs: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)
    with records.reading():
        for choice, *key in records.ask(chosen.where(trials.c.condition == CONTROL)):
            without[tuple(key)][choice] += 1
        for choice, *key, carrier in records.ask(treated.where(trials.c.condition != CONTROL)):
            for other, number in without[tuple(key)].items():
                pairs[key[names.index(by)]][choice == carrier, other == carrier] += number
    return {
        name: Flips(found.total(), toward=found[True, False], away=found[False, True])
        for name, found in pairs.items()
    }


def option_names(records: Records, run: str, sets: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the options of choice sets by set: option -> name, in the order of the options' keys."""
    query = (
        sql.select(trials.c.set, options.c.option, sql.func.min(options.c.name))
        .join_from(trials, options, same_trial(trials, options))
        .where(trials.c.run == run, trials.c.set.in_(sets))
        .group_by(trials.c.set, options.c.option)
        .order_by(trials.c.set, options.c.option)
    )
    found: dict[str, dict[str, str]] = {name: {} for name in sets}
    for name, option, shown in records.ask(query):
        found[name][option] = shown
    return found


def state_of(records: Records, run: str) -> tuple[int, str]:
    """Return what changes whenever a trial of a run is stored: the number of trials, and the latest start."""
    query = sql.select(sql.func.count(), sql.func.max(trials.c.started_at)).where(trials.c.run == run)
    number, latest = records.ask(query)[0]
    return number, latest or ""
