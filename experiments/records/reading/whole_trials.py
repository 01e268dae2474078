"""Read a trial with all that is stored of it, and the trials that differ from it in one thing."""

from dataclasses import fields
from typing import Any, Final

import sqlalchemy as sql

from experiments.records.record import Row, TrialRecord, TrialRow
from experiments.records.store import Records
from experiments.records.tables import OF_TRIAL, options, trials

_PAIRED: Final = ("set", "ordering", "repeat", "match")
"""The columns in which the counterparts of a trial are as it is."""
_VARIED: Final = ("condition", "nudge", "agent", "profile", "modality")
"""The columns in which a counterpart may differ, those first in which it should."""


def whole_trial(records: Records, run: str, trial: str) -> TrialRecord | None:
    """Return a trial with its rows in all tables and without its pages; None: the run has no such trial."""
    rows: dict[str, Any] = {}
    with records.reading():
        for table in OF_TRIAL:
            query = sql.select(table).where(table.c.run == run, table.c.trial == trial)
            rows[table.name] = records.rows(table, query.order_by(*table.primary_key.columns))
    own = rows.pop("trials")
    if not own:
        return None
    return TrialRecord(_trial(own[0]), **rows)


def counterparts(records: Records, row: TrialRow) -> list[TrialRow]:
    """Return the trials of the same set, order and repeat that are not this one, the most similar first.

    They differ in their condition, which counts most, or in nudge, profile, modality or agent.
    """
    same = [trials.c[name] == getattr(row, name) for name in _PAIRED]
    query = sql.select(trials).where(trials.c.run == row.run, trials.c.trial != row.trial, *same)
    found = records.rows(trials, query)
    others = [_trial(each) for each in found]

    def distance(other: TrialRow) -> tuple[int, bool, str]:
        differing = [name for name in _VARIED if getattr(other, name) != getattr(row, name)]
        return len(set(differing) - {"condition"}), "condition" not in differing, other.trial

    return sorted(others, key=distance)


def options_of(records: Records, run: str, names: list[str]) -> dict[str, list[Row]]:
    """Return the options of these trials by the ids of the trials, each in the order shown."""
    query = sql.select(options).where(options.c.run == run, options.c.trial.in_(names))
    found: dict[str, list[Row]] = {name: [] for name in names}
    for row in records.rows(options, query.order_by(options.c.trial, options.c.position)):
        found[row["trial"]].append(row)
    return found


def _trial(row: Row) -> TrialRow:
    return TrialRow(**{each.name: row[each.name] for each in fields(TrialRow)})
