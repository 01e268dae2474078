"""Define the tables of a database of runs."""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sql

from experiments.records.database import Text

SCHEMA_VERSION: Final = 1

metadata = sql.MetaData()

schema = sql.Table("souk_schema", metadata, sql.Column("version", sql.Integer, primary_key=True))

runs = sql.Table(
    "runs",
    metadata,
    sql.Column("run", Text, primary_key=True),
    sql.Column("name", Text, nullable=False),
    sql.Column("started_at", Text, nullable=False),
    sql.Column("facts", sql.JSON, nullable=False),
    sql.Column("seal", Text),
)


def _of_trial(name: str, *columns: sql.Column[Any], key: str | None, ordered: bool = False) -> sql.Table:
    """A table whose rows belong to a trial; with `key`, numbered within it.

    ordered: SQLite keeps the rows themselves in the order of their key, and no index beside them, which is
    smaller and faster to read whole. For short rows only.
    """
    own = [sql.Column(key, sql.Integer, primary_key=True)] if key else []
    return sql.Table(
        name,
        metadata,
        sql.Column("run", Text, primary_key=True),
        sql.Column("trial", Text, primary_key=True),
        *own,
        *columns,
        sqlite_with_rowid=not ordered,
    )


trials = _of_trial(
    "trials",
    sql.Column("agent", Text, nullable=False),
    sql.Column("set", Text, nullable=False),
    sql.Column("condition", Text, nullable=False),
    sql.Column("nudge", Text, nullable=False),
    sql.Column("nudge_text", Text, nullable=False),
    sql.Column("family", Text, nullable=False),
    sql.Column("direction", sql.Integer),
    sql.Column("match", Text, nullable=False),
    sql.Column("profile", Text, nullable=False),
    sql.Column("modality", Text),
    sql.Column("ordering", Text, nullable=False),
    sql.Column("repeat", sql.Integer, nullable=False),
    sql.Column("seed", sql.BigInteger, nullable=False),
    sql.Column("outcome", Text, nullable=False),
    sql.Column("choice", Text),
    sql.Column("reason", Text, nullable=False),
    sql.Column("attempts", sql.Integer, nullable=False),
    sql.Column("started_at", Text, nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("steps", sql.Integer, nullable=False),
    sql.Column("tokens_in", sql.BigInteger, nullable=False),
    sql.Column("tokens_out", sql.BigInteger, nullable=False),
    sql.Column("cost", sql.Float),
    sql.Column("seal", Text),
    key=None,
    ordered=True,
)
"""One row for each trial; `seal`: the digest of all its rows in all tables, as they were stored."""

options = _of_trial(
    "options",
    sql.Column("option", Text, nullable=False),
    sql.Column("name", Text, nullable=False),
    sql.Column("category", Text, nullable=False),
    sql.Column("price", sql.Float),
    sql.Column("rating", sql.Float),
    sql.Column("reviews", sql.BigInteger),
    sql.Column("title", Text),
    sql.Column("stock", Text),
    *(
        sql.Column(f"{source}_{part}", kind)
        for source in ("sent", "catalogue")
        for part, kind in (("price", sql.Float), ("rating", sql.Float), ("reviews", sql.BigInteger))
    ),
    sql.Column("sent_title", Text),
    sql.Column("sent_stock", Text),
    sql.Column("unread", Text),
    sql.Column("viewed_first", sql.Integer, nullable=False),
    sql.Column("nudged", sql.Integer, nullable=False),
    sql.Column("opened", sql.Integer),
    key="position",
    ordered=True,
)
"""The figures and texts of an option as displayed, as the shop has sent them, and the catalogue's.

`unread`: why a figure as displayed is not known. Where a card is the display, it has all but those columns.
"""

steps = _of_trial(
    "steps",
    sql.Column("url", Text, nullable=False),
    sql.Column("observation", Text),
    sql.Column("thought", Text, nullable=False),
    sql.Column("memory", Text, nullable=False),
    sql.Column("action", Text, nullable=False),
    sql.Column("error", Text, nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("looked", sql.Integer),
    key="step",
)

receipts = _of_trial(
    "receipts",
    sql.Column("intervention", Text, nullable=False),
    sql.Column("edit", Text, nullable=False),
    sql.Column("role", Text, nullable=False),
    sql.Column("page_type", Text, nullable=False),
    sql.Column("product", Text),
    sql.Column("matches", sql.Integer, nullable=False),
    sql.Column("before", Text, nullable=False),
    sql.Column("after", Text, nullable=False),
    sql.Column("page_hash_before", Text, nullable=False),
    sql.Column("page_hash_after", Text, nullable=False),
    key="number",
)

calls = _of_trial(
    "calls",
    sql.Column("step", sql.Integer, nullable=False),
    sql.Column("model", Text, nullable=False),
    sql.Column("request_digest", Text, nullable=False),
    sql.Column("tokens_in", sql.BigInteger, nullable=False),
    sql.Column("tokens_out", sql.BigInteger, nullable=False),
    sql.Column("cost", sql.Float),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("retries", sql.Integer, nullable=False),
    sql.Column("error", Text, nullable=False),
    sql.Column("tokens_cached", sql.BigInteger),
    sql.Column("answered_by", Text),
    sql.Column("answer", Text),
    sql.Column("failed", Text),
    key="number",
)

paid = sql.func.coalesce(
    trials.c.cost,
    sql.select(sql.func.sum(calls.c.cost))
    .where(calls.c.run == trials.c.run, calls.c.trial == trials.c.trial)
    .correlate(trials)
    .scalar_subquery(),
    0.0,
)
"""The known cost of a trial, in USD: that of its requests whose cost is known, where its own is not."""

attributes = _of_trial(
    "attributes", sql.Column("attributes", sql.JSON, nullable=False), key="position", ordered=True
)
"""The attributes of an option besides the columns of `options`: name -> text or number."""

questions = _of_trial(
    "questions",
    sql.Column("mode", Text, nullable=False),
    sql.Column("item", Text, nullable=False),
    sql.Column("scenario", Text, nullable=False),
    sql.Column("temperature", sql.Float),
    sql.Column("reference", sql.Float),
    sql.Column("low", sql.Float),
    sql.Column("high", sql.Float),
    sql.Column("response", sql.Float),
    key=None,
)
"""Trials with cards; `response` is empty where it is a choice, or there was no valid answer."""

answers = _of_trial(
    "answers",
    sql.Column("card", Text, nullable=False),
    sql.Column("text", Text, nullable=False),
    sql.Column("value", Text),
    sql.Column("reason", Text, nullable=False),
    sql.Column("rule", Text, nullable=False),
    key="number",
)
"""All answers to cards, in order; `value` is empty where the answer is invalid, for the `reason`.

`rule`: by which a valid one was read.
"""

page_errors = _of_trial(
    "page_errors",
    sql.Column("text", Text, nullable=False),
    sql.Column("times", sql.Integer, nullable=False),
    key="number",
    ordered=True,
)
"""Errors in the console of the pages of one trial."""

disagreements = _of_trial(
    "disagreements", sql.Column("text", Text, nullable=False), key="number", ordered=True
)
"""Lines on pages of one trial that show a product with different prices, ratings or numbers of reviews."""

unchecked = _of_trial(
    "unchecked",
    sql.Column("intervention", Text, nullable=False),
    sql.Column("edit", Text, nullable=False),
    sql.Column("role", Text, nullable=False),
    sql.Column("page_type", Text, nullable=False),
    key="number",
)
"""Edits with receipts that were not looked for in the browser, at their places, whenever the agent looked."""

on_screen = _of_trial(
    "on_screen",
    sql.Column("step", sql.Integer, nullable=False),
    sql.Column("product", Text, nullable=False),
    sql.Column("intervention", Text, nullable=False),
    sql.Column("edit", Text, nullable=False),
    sql.Column("role", Text, nullable=False),
    sql.Column("x", sql.Integer, nullable=False),
    sql.Column("y", sql.Integer, nullable=False),
    sql.Column("width", sql.Integer, nullable=False),
    sql.Column("height", sql.Integer, nullable=False),
    sql.Column("why", Text, nullable=False),
    key="number",
    ordered=True,
)
"""Where an edit stood at a look, in pixels of the viewport; `why`: what kept its text from being read."""

output = _of_trial("output", sql.Column("text", Text, nullable=False), key="number")
"""What a program wrote that was the agent: the beginning and the end, without secrets."""

hits = _of_trial(
    "hits",
    sql.Column("step", sql.Integer, nullable=False),
    sql.Column("x", sql.Float, nullable=False),
    sql.Column("y", sql.Float, nullable=False),
    sql.Column("element", Text, nullable=False),
    sql.Column("text", Text, nullable=False),
    sql.Column("role", Text, nullable=False),
    sql.Column("product", Text, nullable=False),
    sql.Column("intervention", Text, nullable=False),
    key="number",
)
"""What stood at the point of an action, or was named by it, in pixels of the viewport; empty cells: nothing.

An element that is named has the middle of its box as the point, and no row where it has no box.
"""

safety_checks = _of_trial(
    "safety_checks",
    sql.Column("step", sql.Integer, nullable=False),
    sql.Column("code", Text, nullable=False),
    sql.Column("message", Text, nullable=False),
    sql.Column("acknowledged", sql.Integer, nullable=False),
    key="number",
)
"""What a provider asked to be confirmed before an action, and whether it was."""

participants = _of_trial(
    "participants",
    sql.Column("participant", Text, nullable=False),
    sql.Column("block", sql.Integer, nullable=False),
    sql.Column("place", sql.Integer, nullable=False),
    sql.Column("attempt", sql.Integer, nullable=False),
    sql.Column("attention", sql.Integer, nullable=False),
    sql.Column("seen_seconds", sql.Float),
    sql.Column("proposed", Text),
    key=None,
    ordered=True,
)
"""Trials of people: whose, under a random name, and where in the block.

`attempt`: how often the block was given; `attention`: the attention items that the person had failed before;
`seen_seconds`: how long the edit was in view that was so for the shortest time; `proposed`: the option that
an agent proposed.
"""

sent_pages = _of_trial(
    "sent_pages",
    sql.Column("step", sql.Integer, nullable=False),
    sql.Column("url", Text, nullable=False),
    sql.Column("body", Text, nullable=False),
    sql.Column("given", Text, nullable=False),
    sql.Column("site", Text, nullable=False),
    sql.Column("page_hash_after", Text, nullable=False),
    key="number",
    ordered=True,
)
"""What the shop sent where the proxy made edits, from which what was shown can be made again.

`step`: the first step at which it could be seen. `body`, `given` (content type, plan, known products) and
`site` (the site map) are artifacts.
"""

orders = _of_trial(
    "orders",
    sql.Column("number", Text, nullable=False),
    sql.Column("currency", Text, nullable=False),
    sql.Column("advertised_total", sql.Float),
    sql.Column("placed_total", sql.Float),
    sql.Column("last_stage", Text, nullable=False),
    key=None,
    ordered=True,
)
"""Trials that end with an order: its number, what it should have cost, and what it did.

`advertised_total`: without the lines that interventions have added and did not tell of before the cart.
`last_stage`: the last page on the way to an order on which an intervention showed.
"""

order_lines = _of_trial(
    "order_lines",
    sql.Column("label", Text, nullable=False),
    sql.Column("product", Text, nullable=False),
    sql.Column("kind", Text, nullable=False),
    sql.Column("quantity", sql.BigInteger, nullable=False),
    sql.Column("amount", sql.Float, nullable=False),
    sql.Column("wanted", sql.Integer, nullable=False),
    sql.Column("first_seen_on", Text, nullable=False),
    key="number",
    ordered=True,
)
"""The lines of an order, as its page shows them; `kind`: product, option, fee or shop."""

outcomes = _of_trial(
    "outcomes",
    sql.Column("name", Text, nullable=False),
    sql.Column("value", sql.Float, nullable=False),
    key="number",
    ordered=True,
)
"""What came of a trial besides its choice: `name` is told in docs/orders.md; 1 is yes, 0 no; or a step."""

dialogs = _of_trial(
    "dialogs",
    sql.Column("intervention", Text, nullable=False),
    sql.Column("edit", Text, nullable=False),
    sql.Column("shown_step", sql.Integer, nullable=False),
    sql.Column("result", Text, nullable=False),
    sql.Column("times_shown", sql.Integer, nullable=False),
    key="number",
    ordered=True,
)
"""The dialogs and steps that a trial with an order has shown, and what was answered (`result`).

`shown_step`: the first step at which one could be seen. `times_shown`: on how many pages one was sent.
"""

factors = _of_trial(
    "factors",
    sql.Column("factor", Text, nullable=False),
    sql.Column("quotation", Text, nullable=False),
    sql.Column("judge", Text, nullable=False),
    sql.Column("reason", Text, nullable=False),
    key="number",
)
"""The factors of a choice, as a judge read them in the agent's words; `reason`: why one did not decide."""

prompts = _of_trial(
    "prompts",
    sql.Column("anchor", sql.Float, nullable=False),
    sql.Column("fields", Text, nullable=False),
    key=None,
)
"""Trials with a stimulus: the anchor's number, and the present fields, joined by +."""

scores = _of_trial(
    "scores",
    sql.Column("target", Text, nullable=False),
    sql.Column("value", sql.Float),
    sql.Column("logprob", sql.Float),
    sql.Column("tokens", sql.Integer, nullable=False),
    sql.Column("shifted", sql.Integer, nullable=False),
    sql.Column("note", Text, nullable=False),
    key="number",
)
"""How likely each target is, as a natural logarithm; where that is empty, `note` says why.

Of a card the targets are its letters, and their probabilities add up to 1.
"""

sql.Index("trials_by_outcome", trials.c.run, trials.c.outcome, trials.c.started_at)
sql.Index("trials_by_start", trials.c.run, trials.c.started_at, trials.c.trial)
sql.Index("trials_by_set", trials.c.run, trials.c.set, trials.c.condition)

artifacts = sql.Table(
    "artifacts",
    metadata,
    sql.Column("hash", Text, primary_key=True),
    sql.Column("data", sql.LargeBinary, nullable=False),
)

control = sql.Table(
    "control",
    metadata,
    sql.Column("run", Text, primary_key=True),
    sql.Column("wanted", Text, nullable=False),
    sql.Column("wasted", sql.Float, nullable=False),
    sql.Column("updated_at", Text, nullable=False),
)
"""Requests to a run (`wanted`: running or paused); `wasted`: USD of stored attempts that were replaced."""

runners = sql.Table(
    "runners",
    metadata,
    sql.Column("run", Text, primary_key=True),
    sql.Column("host", Text, primary_key=True),
    sql.Column("pid", sql.Integer, primary_key=True),
    sql.Column("started_at", Text, nullable=False),
    sql.Column("seen_at", Text, nullable=False),
    sql.Column("ended_at", Text),
    sql.Column("trials", sql.Integer, nullable=False),
    sql.Column("settled", sql.Integer, nullable=False),
    sql.Column("running", sql.Integer, nullable=False),
    sql.Column("budget", sql.Float),
    sql.Column("reason", Text, nullable=False),
)
"""The processes that run a run, with their last sign of life; `trials` are wanted in all, `settled` by it."""

claims = sql.Table(
    "claims",
    metadata,
    sql.Column("run", Text, primary_key=True),
    sql.Column("trial", Text, primary_key=True),
    sql.Column("host", Text, nullable=False),
    sql.Column("pid", sql.Integer, nullable=False),
)
"""The trials that have been taken to be run and are not stored yet, and the process (`runners`) of each."""

plans = sql.Table(
    "plans",
    metadata,
    sql.Column("run", Text, primary_key=True),
    sql.Column("name", Text, nullable=False),
    sql.Column("registered_at", Text, nullable=False),
    sql.Column("hash", Text, nullable=False),
    sql.Column("plan", Text, nullable=False),
    sql.Column("discarded", sql.Integer, nullable=False),
)
"""The registered plan of a run: canonical JSON, and its SHA-256; `discarded`: trials deleted with the run."""

links = sql.Table(
    "links",
    metadata,
    sql.Column("run", Text, primary_key=True),
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("what", Text, nullable=False),
    sql.Column("trial", Text, nullable=False),
    sql.Column("attempts", sql.Integer, nullable=False),
    sql.Column("outcome", Text, nullable=False),
    sql.Column("seal", Text, nullable=False),
    sql.Column("content", Text, nullable=False),
    sql.Column("link", Text, nullable=False),
    sqlite_with_rowid=False,
)
"""The chain of a run: each `link` is a digest of the one before it and of this row."""

notes = sql.Table(
    "notes",
    metadata,
    sql.Column("run", Text, primary_key=True),
    sql.Column("trial", Text, primary_key=True),
    sql.Column("tags", Text, nullable=False),
    sql.Column("note", Text, nullable=False),
    sql.Column("updated_at", Text, nullable=False),
)
"""What a person says of a trial: tags, joined by a comma and a space, and a note. Never part of its seal."""

archived = sql.Table(
    "archived",
    metadata,
    sql.Column("run", Text, primary_key=True),
    sql.Column("archived_at", Text, nullable=False),
)
"""The runs that are put away: lists leave them out."""

OF_TRIAL: Final = tuple(
    table
    for table in metadata.sorted_tables
    if {"run", "trial"} <= {*table.columns.keys()} and table not in (claims, links, notes)
)
"""The tables with the rows of trials."""


def same_trial(one: sql.FromClause, other: sql.FromClause) -> sql.ColumnElement[bool]:
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


def is_strange(cell: Any) -> bool:
    """Return whether a cell holds what no column of a run's tables does: bytes, or an infinite number."""
    return isinstance(cell, bytes) or (isinstance(cell, float) and math.isinf(cell))


def _held_by(kind: sql.types.TypeEngine[Any]) -> tuple[type, ...]:
    """The types of the values that a column holds."""
    if isinstance(kind, sql.JSON):
        return (dict,)
    if isinstance(kind, sql.LargeBinary):
        return (bytes,)
    if isinstance(kind, sql.Float):
        return (float, int)
    return (int,) if isinstance(kind, sql.Integer) else (str,)
