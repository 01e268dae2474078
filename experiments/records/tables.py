"""Define the tables of a database of runs: those of `tables.yaml`."""

import re
from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sql

from experiments.records.database import Text
from interventions.data_file import read_data

SCHEMA_VERSION: Final = 1

metadata = sql.MetaData()

_KINDS: Final[Mapping[str, type[sql.types.TypeEngine[Any]]]] = {
    "text": Text,
    "whole": sql.Integer,
    "large": sql.BigInteger,
    "real": sql.Float,
    "json": sql.JSON,
    "bytes": sql.LargeBinary,
}
_ORDERED: Final = ("trials", "options", "attributes", "sent_pages", "links")
"""Tables whose rows SQLite keeps in the order of their key, without an index beside them.

That is smaller and faster to read whole. For short rows only.
"""


def _column(name: str, told: str) -> sql.Column[Any]:
    kind, _, key = told.partition(" ")
    made = _KINDS[kind.removesuffix("?")]
    return sql.Column(name, made, primary_key=bool(key), nullable=kind.endswith("?"))


for _name, _columns in read_data(__file__, "tables.yaml").items():
    _made = (_column(name, str(told)) for name, told in _columns.items())
    sql.Table(_name, metadata, *_made, sqlite_with_rowid=_name not in _ORDERED)

answers = metadata.tables["answers"]
archived = metadata.tables["archived"]
artifacts = metadata.tables["artifacts"]
attributes = metadata.tables["attributes"]
calls = metadata.tables["calls"]
claims = metadata.tables["claims"]
control = metadata.tables["control"]
disagreements = metadata.tables["disagreements"]
factors = metadata.tables["factors"]
hits = metadata.tables["hits"]
links = metadata.tables["links"]
notes = metadata.tables["notes"]
on_screen = metadata.tables["on_screen"]
options = metadata.tables["options"]
output = metadata.tables["output"]
page_errors = metadata.tables["page_errors"]
plans = metadata.tables["plans"]
prompts = metadata.tables["prompts"]
questions = metadata.tables["questions"]
receipts = metadata.tables["receipts"]
runners = metadata.tables["runners"]
runs = metadata.tables["runs"]
safety_checks = metadata.tables["safety_checks"]
scores = metadata.tables["scores"]
sent_pages = metadata.tables["sent_pages"]
schema = metadata.tables["souk_schema"]
steps = metadata.tables["steps"]
trials = metadata.tables["trials"]
unchecked = metadata.tables["unchecked"]

paid = sql.func.coalesce(
    trials.c.cost,
    sql.select(sql.func.sum(calls.c.cost))
    .where(calls.c.run == trials.c.run, calls.c.trial == trials.c.trial)
    .correlate(trials)
    .scalar_subquery(),
    0.0,
)
"""The known cost of a trial, in USD: that of its requests whose cost is known, where its own is not."""

sql.Index("trials_by_outcome", trials.c.run, trials.c.outcome, trials.c.started_at)
sql.Index("trials_by_start", trials.c.run, trials.c.started_at, trials.c.trial)
sql.Index("trials_by_set", trials.c.run, trials.c.set, trials.c.condition)

OF_TRIAL: Final = tuple(
    table
    for table in metadata.sorted_tables
    if {"run", "trial"} <= {*table.columns.keys()} and table not in (claims, links, notes)
)
"""The tables with the rows of trials."""


def same_trial(one: sql.Table, other: sql.Table) -> sql.ColumnElement[bool]:
    """Return the condition that rows of two tables belong to one trial."""
    return (one.c.run == other.c.run) & (one.c.trial == other.c.trial)


_NOT_OURS: Final = re.compile(r"\b(UNIQUE|CONFLICT|COLLATE|GENERATED|AS|DEFAULT|CHECK)\b", re.IGNORECASE)
"""Words with which SQLite's tables and indices may change or drop rows; none is in those that Souk makes."""

_ON_OUR_TABLES: Final = """
SELECT 'trigger ' || tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE NOT tgisinternal AND relnamespace = current_schema()::regnamespace AND relname = ANY(:ours)
UNION ALL SELECT 'rule ' || rulename FROM pg_rules
WHERE schemaname = current_schema() AND tablename = ANY(:ours)
UNION ALL SELECT 'policy ' || policyname FROM pg_policies
WHERE schemaname = current_schema() AND tablename = ANY(:ours)
"""


def schema_version(connection: sql.Connection) -> int | None:
    """Return the schema's version of a database; None where it has none yet."""
    if not sql.inspect(connection).has_table(schema.name):
        return None
    return connection.scalar(sql.select(schema.c.version)) or 0


def missing_tables(connection: sql.Connection) -> list[str]:
    """Return the names of the tables that are not there."""
    return sorted(metadata.tables.keys() - set(sql.inspect(connection).get_table_names()))


def foreign_objects(connection: sql.Connection) -> list[str]:
    """Name what Souk has not made, and what may change, drop or hide rows of its tables."""
    if connection.dialect.name == "sqlite":
        query = sql.text("SELECT type || ' ' || name, type, sql FROM sqlite_master WHERE sql IS NOT NULL")
        found = connection.execute(query).all()
        return [name for name, kind, made in found if kind in ("trigger", "view") or _NOT_OURS.search(made)]
    return list(connection.scalars(sql.text(_ON_OUR_TABLES), {"ours": list(metadata.tables)}))


def strange_cell(table: sql.Table, row: Mapping[Any, Any]) -> str:
    """Describe the first cell of a row that its column cannot hold; empty: there is none."""
    for name, value in row.items():
        column = table.c[name]
        if not (column.nullable if value is None else isinstance(value, _held_by(column.type))):
            return f"{table.name}.{name} is {repr(value)[:40]}, which its column cannot hold"
    return ""


def _held_by(kind: sql.types.TypeEngine[Any]) -> tuple[type, ...]:
    """The types of the values that a column holds."""
    if isinstance(kind, sql.JSON):
        return (dict,)
    if isinstance(kind, sql.LargeBinary):
        return (bytes,)
    if isinstance(kind, sql.Float):
        return (float, int)
    return (int,) if isinstance(kind, sql.Integer) else (str,)
