"""Bring an older database up to date."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import sqlalchemy as sql

from experiments.records.database import Text
from experiments.records.seals import seal_all
from experiments.records.tables import calls, metadata, options, runs, steps, trials


def _from_1(connection: sql.Connection) -> None:
    """Texts of any length, larger whole numbers, and the tables that were not there."""
    if connection.dialect.name == "postgresql":
        quote = connection.dialect.identifier_preparer.quote
        there = set(sql.inspect(connection).get_table_names())
        for table in metadata.sorted_tables:
            for column in table.columns if table.name in there else ():
                added_later = column.name in ("seal", "modality", "tokens_cached", "answered_by")
                if isinstance(column.type, Text | sql.BigInteger) and not added_later:
                    kind = column.type.compile(connection.dialect)
                    change = f"ALTER TABLE {quote(table.name)} ALTER {quote(column.name)} TYPE {kind}"
                    connection.execute(sql.text(change))
    metadata.create_all(connection)


def _from_6(connection: sql.Connection) -> None:
    """How often each option was opened."""
    _add(connection, options.c.opened)


def _add(connection: sql.Connection, column: sql.Column[Any]) -> None:
    """Add a column, unless an older database has just been given the whole table."""
    table, kind = column.table.name, column.type.compile(connection.dialect)
    if column.name not in {there["name"] for there in sql.inspect(connection).get_columns(table)}:
        connection.execute(sql.text(f"ALTER TABLE {table} ADD COLUMN {column.name} {kind}"))


def _from_9(connection: sql.Connection) -> None:
    """The modality of a trial, whether a step was looked at, indexes, tables of hits, checks and outputs."""
    metadata.create_all(connection)
    for column in (trials.c.modality, steps.c.looked):
        _add(connection, column)
    for index in trials.indexes:
        index.create(connection, checkfirst=True)


def _from_12(connection: sql.Connection) -> None:
    """The tokens of a request that came from a provider's cache."""
    _add(connection, calls.c.tokens_cached)


def _from_13(connection: sql.Connection) -> None:
    """The model that answered a request."""
    _add(connection, calls.c.answered_by)


def _from_7(connection: sql.Connection) -> None:
    """A seal for each trial and run, as they are now: of all tables and columns that there are today."""
    _from_9(connection)
    _from_12(connection)
    _from_13(connection)
    for table in (trials, runs):
        _add(connection, table.c.seal)
    seal_all(connection)


UPGRADES: Final[Mapping[int, Callable[[sql.Connection], None]]] = {
    1: _from_1,
    2: metadata.create_all,  # the tables of prompts and scores
    3: metadata.create_all,  # the table of claims
    4: metadata.create_all,  # the table of edits that were not checked
    5: metadata.create_all,  # the table of where edits stood
    6: _from_6,
    7: _from_7,
    8: metadata.create_all,  # the tables of plans and links
    9: _from_9,
    10: metadata.create_all,  # the table of what the shop sent
    11: metadata.create_all,  # the tables of notes and archived runs
    12: _from_12,
    13: _from_13,
}
"""The functions that lead from each older schema to the next one."""
