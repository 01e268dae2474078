"""Say what others are shown of a trial: its rows as data, without the folders of this machine."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sql

from experiments.records.seals import Rows, kept_columns
from experiments.records.tables import disagreements, hits, on_screen, page_errors, steps

OWN_WORDS: Final = ("agent", "reason", "model", "error")
"""Columns that may name a file of the machine on which the run was made."""

PAGES: Final = ("step", "url", "observation")
"""Of the steps: the page that was seen, by its address and its hash, and no words of the agent."""

_LEFT_OUT: Final = frozenset({disagreements, on_screen, hits, page_errors})
_ABSOLUTE: Final = re.compile(r"(?<![^\s'\"(=:])(?:/|[A-Za-z]:\\)(?:[^/\\\s'\"]+[/\\])+")

Shown = dict[str, list[dict[str, Any]]]
"""The rows of a trial by the name of their table; each row has its cells that are not empty."""


def without_folders(value: Any) -> Any:
    """Return the value with the last part of each path in its texts: where a study lies is private."""
    if isinstance(value, dict):
        return {key: without_folders(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_folders(inner) for inner in value]
    return _ABSOLUTE.sub("", value) if isinstance(value, str) else value


def shown(rows: Rows) -> Shown:
    """Return what is shown of a trial; `rows` may be new, or as they are read from the database."""
    found: Shown = {}
    for table, columns, number in kept_columns():
        if table in _LEFT_OUT or not rows.get(table):
            continue
        wanted = [each for each in columns if table is not steps or each[0] in PAGES]
        found[table.name] = [_cells(row, wanted) for row in sorted(rows[table], key=number)]
    return found


def content_digest(content: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return SHA-256 of what is shown of a trial, in hex."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def rows_for(
    table: sql.Table, key: Mapping[str, str], its: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the rows of a table again from what is shown of them. A column that is none is left out."""
    empty = {column.name: None if column.nullable else _nothing(column) for column in table.columns}
    return [{**empty, **{name: row[name] for name in row if name in empty}, **key} for row in its]


def _nothing(column: sql.Column[Any]) -> Any:
    return 0 if isinstance(column.type, sql.Integer | sql.Float) else ""


def _cells(row: Mapping[str, Any], columns: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The cells that are not empty, by name; an empty text is one."""
    found = {}
    for name, convert in columns:
        if (value := row.get(name)) is not None and (kept := convert(value)) not in (None, ""):
            found[name] = without_folders(kept) if name in OWN_WORDS else kept
    return found
