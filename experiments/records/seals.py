"""Seal what is stored: a digest of all rows of a trial shows later whether they are still what they were."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, Final

import sqlalchemy as sql

from experiments.records.database import Text, clean
from experiments.records.record import Row
from experiments.records.tables import OF_TRIAL, control, runs, trials

AT_ONCE: Final = 200
"""The number of trials that are read together."""

_APART: Final = ("run", "trial", "seal")

Columns = Sequence[tuple[str, Callable[[Any], Any]]]
"""The names of columns, with what turns a value into that which the database will give back."""

Rows = Mapping[sql.Table, Sequence[Mapping[str, Any]]]
"""The rows of one trial, or of one run, by table."""


def seal(run: str, trial: str, rows: Rows, *, new: bool = False) -> str:
    """Return the digest of rows as they are read from the database; `new`: as they will be read from it.

    Empty cells do not count.
    """
    told = [
        [table.name, [_cells(row, columns, new=new) for row in sorted(rows[table], key=number)]]
        for table, columns, number in kept_columns()
        if rows.get(table)
    ]
    content = json.dumps([run, trial, told], default=repr)  # bytes, which only a stranger writes
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _cells(row: Mapping[str, Any], columns: Columns, *, new: bool) -> list[Any]:
    """The names and values of the cells of a row that are not empty."""
    if new:
        return [
            each
            for name, convert in columns
            if (value := row.get(name)) is not None and (kept := convert(value)) is not None
            for each in (name, kept)
        ]
    return [each for name, _ in columns if (value := row[name]) is not None for each in (name, value)]


@cache
def kept_columns() -> list[tuple[sql.Table, Columns, Callable[[Mapping[str, Any]], Any]]]:
    """Return the tables that are sealed, with their columns, and what their rows are sorted by."""
    found: list[tuple[sql.Table, Columns, Callable[[Mapping[str, Any]], Any]]] = []
    for table in sorted({*OF_TRIAL, runs, control}, key=lambda table: table.name):
        columns = sorted(table.columns, key=lambda column: column.name)
        kept = [(column.name, _converter(column.type)) for column in columns if column.name not in _APART]
        *_, last = table.primary_key.columns.keys()
        found.append((table, kept, itemgetter(last)))
    return found


def _converter(kind: sql.types.TypeEngine[Any]) -> Callable[[Any], Any]:
    if isinstance(kind, Text):
        return clean
    if isinstance(kind, sql.Integer):
        return int
    return _real if isinstance(kind, sql.Float) else lambda value: value


def _real(value: float) -> float | None:
    # SQLite stores what is no number as an empty cell, and knows no negative zero.
    return None if math.isnan(value) else float(value) + 0.0


def rows_of(
    connection: sql.Connection, run: str, names: Sequence[str], tables: Sequence[sql.Table] = OF_TRIAL
) -> dict[str, dict[sql.Table, list[Row]]]:
    """Return the rows of some trials of a run, by trial and table."""
    found: dict[str, dict[sql.Table, list[Row]]] = {name: {} for name in names}
    for table in tables:
        of_these = sql.select(table).where(table.c.run == run, table.c.trial.in_(names))
        for row in connection.execute(of_these).mappings():
            found[row["trial"]].setdefault(table, []).append(dict(row))
    return found


def rows_of_run(connection: sql.Connection, run: str) -> dict[sql.Table, list[Row]]:
    """Return the rows of a run itself: its facts, and what was requested of it."""
    both = {table: sql.select(table).where(table.c.run == run) for table in (runs, control)}
    return {table: [dict(row) for row in connection.execute(q).mappings()] for table, q in both.items()}


def seal_run(connection: sql.Connection, run: str) -> None:
    """Seal the rows of a run itself anew, after a change."""
    digest = seal(run, "", rows_of_run(connection, run))
    connection.execute(runs.update().where(runs.c.run == run).values(seal=digest))


def seal_trial(connection: sql.Connection, run: str, trial: str) -> None:
    """Seal a trial anew, after rows were added to it."""
    digest = seal(run, trial, rows_of(connection, run, [trial])[trial])
    key = (trials.c.run == run) & (trials.c.trial == trial)
    connection.execute(trials.update().where(key).values(seal=digest))


def batches(keys: Sequence[Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield trials, given by run and trial, some at a time: a run with its trials."""
    by_run: dict[str, list[str]] = {}
    for run, trial in keys:
        by_run.setdefault(run, []).append(trial)
    for run, names in by_run.items():
        names.sort()
        for start in range(0, len(names), AT_ONCE):
            yield run, names[start : start + AT_ONCE]
