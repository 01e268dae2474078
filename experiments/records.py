"""What is kept: runs, trials, options, steps, receipts, calls and content-addressed artifacts, in SQL.

SQLite by default, PostgreSQL by URL. A trial is written once, whole, in one transaction when it ends: a
killed run loses at most the trials that were running, and a re-run knows which ones ended.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sql
import zstandard
from sqlalchemy.exc import SQLAlchemyError

from experiments.database import Text, connect, lock, unusable, without_password
from interventions.errors import UserError

SCHEMA_VERSION: Final = 3

_SEEN: Final = 10_000
"""Artifacts that a process remembers to have stored."""

metadata = sql.MetaData()

schema = sql.Table("souk_schema", metadata, sql.Column("version", sql.Integer, primary_key=True))

runs = sql.Table(
    "runs",
    metadata,
    sql.Column("run", Text, primary_key=True),
    sql.Column("name", Text, nullable=False),
    sql.Column("started_at", Text, nullable=False),
    sql.Column("facts", sql.JSON, nullable=False),
)


def _of_trial(name: str, *columns: sql.Column[Any], key: str | None) -> sql.Table:
    """A table whose rows belong to a trial; with `key`, numbered within it."""
    own = [sql.Column(key, sql.Integer, primary_key=True)] if key else []
    return sql.Table(
        name,
        metadata,
        sql.Column("run", Text, primary_key=True),
        sql.Column("trial", Text, primary_key=True),
        *own,
        *columns,
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
    key=None,
)

options = _of_trial(
    "options",
    sql.Column("option", Text, nullable=False),
    sql.Column("name", Text, nullable=False),
    sql.Column("category", Text, nullable=False),
    sql.Column("price", sql.Float),
    sql.Column("rating", sql.Float),
    sql.Column("reviews", sql.BigInteger),
    sql.Column("viewed_first", sql.Integer, nullable=False),
    sql.Column("nudged", sql.Integer, nullable=False),
    key="position",
)

steps = _of_trial(
    "steps",
    sql.Column("url", Text, nullable=False),
    sql.Column("observation", Text),
    sql.Column("thought", Text, nullable=False),
    sql.Column("memory", Text, nullable=False),
    sql.Column("action", Text, nullable=False),
    sql.Column("error", Text, nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
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
    key="number",
)

attributes = _of_trial("attributes", sql.Column("attributes", sql.JSON, nullable=False), key="position")
"""What an option shows besides the columns of `options`: name -> text or number."""

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
"""A trial with cards; `response` is empty where it is a choice, or there was no valid answer."""

answers = _of_trial(
    "answers",
    sql.Column("card", Text, nullable=False),
    sql.Column("text", Text, nullable=False),
    sql.Column("value", Text),
    sql.Column("reason", Text, nullable=False),
    key="number",
)
"""Every answer to a card, in order; `value` is empty where it is invalid, for the `reason`."""

disagreements = _of_trial("disagreements", sql.Column("text", Text, nullable=False), key="number")
"""Where pages of one trial show a product with different prices, ratings or numbers of reviews."""

factors = _of_trial(
    "factors",
    sql.Column("factor", Text, nullable=False),
    sql.Column("quotation", Text, nullable=False),
    sql.Column("judge", Text, nullable=False),
    sql.Column("reason", Text, nullable=False),
    key="number",
)
"""What decided a choice by the agent's own words, to a judge; `reason`: why that is not accepted."""

prompts = _of_trial(
    "prompts",
    sql.Column("anchor", sql.Float, nullable=False),
    sql.Column("fields", Text, nullable=False),
    key=None,
)
"""A trial with a stimulus: its number, and the present fields, joined by +."""

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
"""What a run is told (`wanted`: running or paused); `wasted`: USD of stored attempts that were replaced."""

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

OF_TRIAL: Final = (
    trials, options, steps, receipts, calls, disagreements, attributes, questions, answers, factors,
    prompts, scores,
)  # fmt: skip

Row = dict[str, Any]


@dataclass(slots=True)
class TrialRecord:
    """Everything about one finished trial: a row of `trials`, the rows of the other tables, and the pages.

    `artifacts` maps a hash (see `artifact_hash`) to the text it stands for.
    """

    trial: Row
    options: list[Row] = field(default_factory=list)
    steps: list[Row] = field(default_factory=list)
    receipts: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)
    disagreements: list[Row] = field(default_factory=list)
    attributes: list[Row] = field(default_factory=list)
    questions: list[Row] = field(default_factory=list)
    answers: list[Row] = field(default_factory=list)
    factors: list[Row] = field(default_factory=list)
    prompts: list[Row] = field(default_factory=list)
    scores: list[Row] = field(default_factory=list)
    artifacts: dict[str, str] = field(default_factory=dict)


def artifact_hash(text: str) -> str:
    """The name of an artifact: BLAKE2b-128 of its UTF-8 bytes, in hex."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class Records:
    """A database of runs. One process writes the trials of a run; any number may read."""

    def __init__(self, url: str) -> None:
        """Open the database; create its tables where they are missing, and bring older ones up to date.

        Raises:
            UserError: the URL is malformed, or the database cannot be reached or written.
        """
        self.url = without_password(url)
        self._seen_artifacts: set[str] = set()
        # Making one takes longer than compressing a page with it.
        self._packer = zstandard.ZstdCompressor(level=9)
        self.engine = connect(url)
        try:
            with self.engine.connect() as connection:
                version = _version(connection)
            if version != SCHEMA_VERSION:
                self._upgrade()
        except (SQLAlchemyError, OSError) as error:
            raise unusable(url, error) from None

    def _upgrade(self) -> None:
        with self.writing() as connection:
            version = _version(connection)
            if version is None:
                metadata.create_all(connection)
                connection.execute(schema.insert().values(version=SCHEMA_VERSION))
                return
            if version not in (*UPGRADES, SCHEMA_VERSION):
                raise UserError(
                    f"--db {self.url}: written by another version of Souk (schema {version}, this one has "
                    f"{SCHEMA_VERSION}); use a new file"
                )
            for step in range(version, SCHEMA_VERSION):
                UPGRADES[step](connection)
            connection.execute(schema.update().values(version=SCHEMA_VERSION))

    def close(self) -> None:
        """Release the connections."""
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[sql.Connection]:
        """A transaction that no other writer interrupts."""
        with self.engine.begin() as connection:
            lock(connection)
            yield connection

    def begin_run(self, run: str, name: str, facts: Mapping[str, Any]) -> None:
        """Note a run; a run that is resumed keeps its first start and takes the new facts."""
        with self.writing() as connection:
            known = connection.execute(runs.update().where(runs.c.run == run).values(facts=dict(facts)))
            if not known.rowcount:
                row = {"run": run, "name": name, "started_at": now(), "facts": dict(facts)}
                connection.execute(runs.insert().values(row))
            if not connection.scalar(sql.select(control.c.run).where(control.c.run == run)):
                first = {"run": run, "wanted": "running", "wasted": 0.0, "updated_at": now()}
                connection.execute(control.insert().values(first))

    def finished(self, run: str) -> set[str]:
        """Ids of the run's trials that need no repetition: all with an outcome but `infra_error`."""
        query = sql.select(trials.c.trial).where(trials.c.run == run, trials.c.outcome != "infra_error")
        with self.engine.connect() as connection:
            return set(connection.scalars(query))

    def answered(self, run: str) -> tuple[set[str], set[str]]:
        """Ids of the run's trials that need no repetition, and of those among them with a valid answer."""
        query = sql.select(trials.c.trial).where(trials.c.run == run, trials.c.outcome == "choice")
        with self.engine.connect() as connection:
            return self.finished(run), set(connection.scalars(query))

    def save(self, *finished: TrialRecord) -> None:
        """Write trials, all or none of them; what is stored of them already is replaced.

        So it may be repeated when it is not known whether it came through.
        """
        new = {name: text for record in finished for name, text in record.artifacts.items()}
        new = {name: text for name, text in new.items() if name not in self._seen_artifacts}
        rows: dict[sql.Table, list[Row]] = {table: [] for table in OF_TRIAL}
        for record in finished:
            key = {"run": record.trial["run"], "trial": record.trial["trial"]}
            rows[trials].append(record.trial)
            for table in OF_TRIAL[1:]:
                rows[table] += ({**key, **row} for row in getattr(record, table.name))
        with self.writing() as connection:
            self._forget(connection, finished)
            known = set(connection.scalars(sql.select(artifacts.c.hash).where(artifacts.c.hash.in_(new))))
            rows[artifacts] = [
                {"hash": name, "data": self._packer.compress(text.encode())}
                for name, text in new.items()
                if name not in known
            ]
            for table, its_rows in rows.items():
                if its_rows:
                    connection.execute(table.insert(), its_rows)
        if len(self._seen_artifacts) > _SEEN:
            self._seen_artifacts.clear()
        self._seen_artifacts.update(new)

    def _forget(self, connection: sql.Connection, replacing: Sequence[TrialRecord]) -> None:
        """Remove what an earlier attempt has left; what it cost stays known."""
        began = {
            (record.trial["run"], record.trial["trial"]): record.trial["started_at"] for record in replacing
        }
        known = sql.select(trials.c.run, trials.c.trial, trials.c.started_at, trials.c.cost).where(
            trials.c.run.in_({run for run, _ in began}), trials.c.trial.in_([trial for _, trial in began])
        )
        for run, trial, started_at, cost in connection.execute(known).all():
            if cost and began.get((run, trial)) != started_at:
                changed = control.update().where(control.c.run == run)
                connection.execute(changed.values(wasted=control.c.wasted + cost))
            for table in OF_TRIAL:
                connection.execute(table.delete().where(table.c.run == run, table.c.trial == trial))

    def artifact(self, name: str) -> str:
        """The text stored under a hash. Raises KeyError when there is none."""
        with self.engine.connect() as connection:
            data = connection.scalar(sql.select(artifacts.c.data).where(artifacts.c.hash == name))
        if data is None:
            raise KeyError(name)
        return zstandard.ZstdDecompressor().decompress(data).decode()

    def latest_run(self, name: str | None = None, kind: str | None = None) -> Row:
        """The run started last, or the one with this id, or the last one with this name.

        `kind`: only runs that are analysed so (`choice`, `conjoint` ...).

        Raises:
            UserError: there is none.
        """
        kinds = sql.func.coalesce(runs.c.facts["analysis"].as_string(), "choice").label("kind")
        query = sql.select(runs.c.run, runs.c.name, kinds).order_by(runs.c.started_at.desc(), runs.c.run)
        with self.engine.connect() as connection:
            known = connection.execute(query).all()
            for row in known:
                if name in (None, row.run, row.name) and kind in (None, row.kind):
                    whole = sql.select(runs).where(runs.c.run == row.run)
                    return dict(connection.execute(whole).mappings().one())
        wanted = f"no run {name!r}" if name else "no run"
        if kind and any(name in (None, row.run, row.name) for row in known):
            wanted += f" for souk analyze {kind}"
        names = sorted({row.name for row in known})
        hint = f"runs: {', '.join(names)}" if names else "run an experiment first: souk run nudges"
        raise UserError(f"{self.url}: {wanted} in this database; {hint}")

    def outcomes(self, run: str, only: Collection[str] | None = None) -> dict[str, int]:
        """How many of the run's trials (of those in `only`, best a set) ended in each outcome."""
        counts: dict[str, int] = {}
        with self.engine.connect() as connection:
            if only is None:
                counted = sql.select(trials.c.outcome, sql.func.count()).where(trials.c.run == run)
                return {name: n for name, n in connection.execute(counted.group_by(trials.c.outcome))}
            each = sql.select(trials.c.trial, trials.c.outcome).where(trials.c.run == run)
            for trial, outcome in connection.execute(each):
                if trial in only:
                    counts[outcome] = counts.get(outcome, 0) + 1
        return counts

    def disagreeing(self, run: str, only: Collection[str]) -> tuple[int, str]:
        """How many of these trials had pages that disagree about a product, and what the first one said."""
        query = (
            sql.select(disagreements.c.trial, disagreements.c.text)
            .where(disagreements.c.run == run)
            .order_by(disagreements.c.trial, disagreements.c.number)
        )
        with self.engine.connect() as connection:
            found = [(trial, text) for trial, text in connection.execute(query) if trial in only]
        return len({trial for trial, _ in found}), found[0][1] if found else ""

    def first_reason(self, run: str, outcome: str) -> str:
        """Why the first of the run's trials with this outcome ended so."""
        query = (
            sql.select(trials.c.reason)
            .where(trials.c.run == run, trials.c.outcome == outcome)
            .order_by(trials.c.started_at)
            .limit(1)
        )
        with self.engine.connect() as connection:
            return connection.scalar(query) or ""


def kind_of(run: Row) -> str:
    """How a run is analysed: what follows `souk analyze`."""
    return str(run["facts"].get("analysis", "choice"))


def now() -> str:
    """The time, as the tables keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _version(connection: sql.Connection) -> int | None:
    """The schema of a database; None where it has none yet."""
    if not sql.inspect(connection).has_table(schema.name):
        return None
    return connection.scalar(sql.select(schema.c.version))


def _from_1(connection: sql.Connection) -> None:
    """Texts of any length, larger whole numbers, an index, and the tables that were not there."""
    if connection.dialect.name == "postgresql":
        quote = connection.dialect.identifier_preparer.quote
        there = set(sql.inspect(connection).get_table_names())
        for table in metadata.sorted_tables:
            for column in table.columns if table.name in there else ():
                if isinstance(column.type, Text | sql.BigInteger):
                    kind = column.type.compile(connection.dialect)
                    change = f"ALTER TABLE {quote(table.name)} ALTER {quote(column.name)} TYPE {kind}"
                    connection.execute(sql.text(change))
    metadata.create_all(connection)
    for index in trials.indexes:
        index.create(connection, checkfirst=True)


def _from_2(connection: sql.Connection) -> None:
    """The tables of prompts and scores."""
    metadata.create_all(connection)


UPGRADES: Final[Mapping[int, Callable[[sql.Connection], None]]] = {1: _from_1, 2: _from_2}
"""What leads from each older schema to the next one."""


def to_row(value: Any, **more: Any) -> Row:
    """A dataclass as a row, with further columns."""
    return {**asdict(value), **more}


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: the same text on every machine, to be hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
