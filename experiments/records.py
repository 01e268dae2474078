"""What is kept: runs, trials, options, steps, receipts, calls and content-addressed artifacts, in SQL.

SQLite by default, any SQLAlchemy URL otherwise. A trial is written once, whole, in one transaction when it
ends: a killed run loses at most the trials that were running, and a re-run knows which ones ended.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sql
import zstandard
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from interventions.errors import UserError

SCHEMA_VERSION: Final = 1

metadata = sql.MetaData()

schema = sql.Table("souk_schema", metadata, sql.Column("version", sql.Integer, primary_key=True))

runs = sql.Table(
    "runs",
    metadata,
    sql.Column("run", sql.String(80), primary_key=True),
    sql.Column("name", sql.String(60), nullable=False),
    sql.Column("started_at", sql.String(32), nullable=False),
    sql.Column("facts", sql.JSON, nullable=False),
)


def _of_trial(name: str, *columns: sql.Column[Any], key: str | None) -> sql.Table:
    """A table whose rows belong to a trial; with `key`, numbered within it."""
    own = [sql.Column(key, sql.Integer, primary_key=True)] if key else []
    return sql.Table(
        name,
        metadata,
        sql.Column("run", sql.String(80), primary_key=True),
        sql.Column("trial", sql.String(32), primary_key=True),
        *own,
        *columns,
    )


trials = _of_trial(
    "trials",
    sql.Column("agent", sql.String(120), nullable=False),
    sql.Column("set", sql.String(80), nullable=False),
    sql.Column("condition", sql.String(80), nullable=False),
    sql.Column("nudge", sql.String(80), nullable=False),
    sql.Column("nudge_text", sql.Text, nullable=False),
    sql.Column("family", sql.String(80), nullable=False),
    sql.Column("direction", sql.Integer),
    sql.Column("match", sql.String(80), nullable=False),
    sql.Column("profile", sql.String(80), nullable=False),
    sql.Column("ordering", sql.String(40), nullable=False),
    sql.Column("repeat", sql.Integer, nullable=False),
    sql.Column("seed", sql.BigInteger, nullable=False),
    sql.Column("outcome", sql.String(20), nullable=False),
    sql.Column("choice", sql.Text),
    sql.Column("reason", sql.Text, nullable=False),
    sql.Column("attempts", sql.Integer, nullable=False),
    sql.Column("started_at", sql.String(32), nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("steps", sql.Integer, nullable=False),
    sql.Column("tokens_in", sql.Integer, nullable=False),
    sql.Column("tokens_out", sql.Integer, nullable=False),
    sql.Column("cost", sql.Float),
    key=None,
)

options = _of_trial(
    "options",
    sql.Column("option", sql.Text, nullable=False),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("category", sql.String(120), nullable=False),
    sql.Column("price", sql.Float),
    sql.Column("rating", sql.Float),
    sql.Column("reviews", sql.Integer),
    sql.Column("viewed_first", sql.Integer, nullable=False),
    sql.Column("nudged", sql.Integer, nullable=False),
    key="position",
)

steps = _of_trial(
    "steps",
    sql.Column("url", sql.Text, nullable=False),
    sql.Column("observation", sql.String(64)),
    sql.Column("thought", sql.Text, nullable=False),
    sql.Column("memory", sql.Text, nullable=False),
    sql.Column("action", sql.Text, nullable=False),
    sql.Column("error", sql.Text, nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
    key="step",
)

receipts = _of_trial(
    "receipts",
    sql.Column("intervention", sql.String(80), nullable=False),
    sql.Column("edit", sql.String(40), nullable=False),
    sql.Column("role", sql.String(80), nullable=False),
    sql.Column("page_type", sql.String(20), nullable=False),
    sql.Column("product", sql.Text),
    sql.Column("matches", sql.Integer, nullable=False),
    sql.Column("before", sql.Text, nullable=False),
    sql.Column("after", sql.Text, nullable=False),
    sql.Column("page_hash_before", sql.String(64), nullable=False),
    sql.Column("page_hash_after", sql.String(64), nullable=False),
    key="number",
)

calls = _of_trial(
    "calls",
    sql.Column("step", sql.Integer, nullable=False),
    sql.Column("model", sql.String(120), nullable=False),
    sql.Column("request_digest", sql.String(64), nullable=False),
    sql.Column("tokens_in", sql.Integer, nullable=False),
    sql.Column("tokens_out", sql.Integer, nullable=False),
    sql.Column("cost", sql.Float),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("retries", sql.Integer, nullable=False),
    sql.Column("error", sql.Text, nullable=False),
    key="number",
)

attributes = _of_trial("attributes", sql.Column("attributes", sql.JSON, nullable=False), key="position")
"""What an option shows besides the columns of `options`: name -> text or number."""

questions = _of_trial(
    "questions",
    sql.Column("mode", sql.String(10), nullable=False),
    sql.Column("item", sql.Text, nullable=False),
    sql.Column("scenario", sql.String(40), nullable=False),
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
    sql.Column("card", sql.String(80), nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("value", sql.Text),
    sql.Column("reason", sql.Text, nullable=False),
    key="number",
)
"""Every answer to a card, in order; `value` is empty where it is invalid, for the `reason`."""

disagreements = _of_trial("disagreements", sql.Column("text", sql.Text, nullable=False), key="number")
"""Where pages of one trial show a product with different prices, ratings or numbers of reviews."""

factors = _of_trial(
    "factors",
    sql.Column("factor", sql.String(20), nullable=False),
    sql.Column("quotation", sql.Text, nullable=False),
    sql.Column("judge", sql.String(120), nullable=False),
    sql.Column("reason", sql.Text, nullable=False),
    key="number",
)
"""What decided a choice by the agent's own words, to a judge; `reason`: why that is not accepted."""

artifacts = sql.Table(
    "artifacts",
    metadata,
    sql.Column("hash", sql.String(64), primary_key=True),
    sql.Column("data", sql.LargeBinary, nullable=False),
)

OF_TRIAL: Final = (
    trials, options, steps, receipts, calls, disagreements, attributes, questions, answers, factors,
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
    artifacts: dict[str, str] = field(default_factory=dict)


def artifact_hash(text: str) -> str:
    """The name of an artifact: BLAKE2b-128 of its UTF-8 bytes, in hex."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class Records:
    """A database of runs. One process writes to it; any number may read."""

    def __init__(self, url: str) -> None:
        """Open the database and create its tables where they are missing.

        Raises:
            UserError: the URL is malformed, or the database cannot be reached or written.
        """
        self.url = without_password(url)
        self._seen_artifacts: set[str] = set()
        # Making one takes longer than compressing a page with it.
        self._packer = zstandard.ZstdCompressor(level=9)
        try:
            self.engine = _connect(make_url(url))
            metadata.create_all(self.engine)
            with self.engine.begin() as connection:
                version = connection.scalar(sql.select(schema.c.version))
                if version is None:
                    connection.execute(schema.insert().values(version=SCHEMA_VERSION))
        except (ArgumentError, ValueError):
            raise UserError(
                f"--db {self.url}: not a database URL; write sqlite:///FILE or postgresql+psycopg://..."
            ) from None
        except (NoSuchModuleError, ModuleNotFoundError) as error:
            raise UserError(f"--db: {error}; install souk[postgres], or use sqlite:///FILE") from None
        except (SQLAlchemyError, OSError) as error:
            cause = str(getattr(error, "orig", None) or error).split("\n", 1)[0]
            raise UserError(f"--db {self.url}: {cause}; check that it exists and can be written") from None
        if version not in (None, SCHEMA_VERSION):
            raise UserError(
                f"--db {self.url}: written by another version of Souk (schema {version}, this one has "
                f"{SCHEMA_VERSION}); use a new file"
            )

    def close(self) -> None:
        """Release the connections."""
        self.engine.dispose()

    def begin_run(self, run: str, name: str, facts: Mapping[str, Any]) -> None:
        """Note a run; a run that is resumed keeps its first start and takes the new facts."""
        with self.engine.begin() as connection:
            known = connection.execute(runs.update().where(runs.c.run == run).values(facts=dict(facts)))
            if not known.rowcount:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                connection.execute(
                    runs.insert().values(run=run, name=name, started_at=now, facts=dict(facts))
                )

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
        """Write trials, all or none of them. An earlier `infra_error` of one is replaced."""
        new = {name: text for record in finished for name, text in record.artifacts.items()}
        new = {name: text for name, text in new.items() if name not in self._seen_artifacts}
        rows: dict[sql.Table, list[Row]] = {table: [] for table in OF_TRIAL}
        for record in finished:
            key = {"run": record.trial["run"], "trial": record.trial["trial"]}
            rows[trials].append(record.trial)
            for table in OF_TRIAL[1:]:
                rows[table] += ({**key, **row} for row in getattr(record, table.name))
        with self.engine.begin() as connection:
            self._forget(connection, rows[trials])
            known = set(connection.scalars(sql.select(artifacts.c.hash).where(artifacts.c.hash.in_(new))))
            rows[artifacts] = [
                {"hash": name, "data": self._packer.compress(text.encode())}
                for name, text in new.items()
                if name not in known
            ]
            for table, its_rows in rows.items():
                if its_rows:
                    connection.execute(table.insert(), its_rows)
        self._seen_artifacts.update(new)

    def _forget(self, connection: sql.Connection, replaced: Sequence[Row]) -> None:
        """Remove what an earlier attempt has left."""
        ids = [row["trial"] for row in replaced]
        runs_of = {row["run"] for row in replaced}
        known = sql.select(trials.c.run, trials.c.trial).where(
            trials.c.run.in_(runs_of), trials.c.trial.in_(ids)
        )
        for run, trial in connection.execute(known).all():
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
        query = sql.select(runs).order_by(runs.c.started_at.desc(), runs.c.run)
        with self.engine.connect() as connection:
            known = [dict(row) for row in connection.execute(query).mappings()]
        for row in known:
            if name in (None, row["run"], row["name"]) and kind in (None, kind_of(row)):
                return row
        wanted = f"no run {name!r}" if name else "no run"
        if kind and any(name in (None, row["run"], row["name"]) for row in known):
            wanted += f" for souk analyze {kind}"
        names = sorted({row["name"] for row in known})
        hint = f"runs: {', '.join(names)}" if names else "run an experiment first: souk run nudges"
        raise UserError(f"{self.url}: {wanted} in this database; {hint}")

    def outcomes(self, run: str, only: Iterable[str] | None = None) -> dict[str, int]:
        """How many of the run's trials ended in each outcome."""
        query = sql.select(trials.c.trial, trials.c.outcome).where(trials.c.run == run)
        wanted = None if only is None else set(only)
        counts: dict[str, int] = {}
        with self.engine.connect() as connection:
            for trial, outcome in connection.execute(query):
                if wanted is None or trial in wanted:
                    counts[outcome] = counts.get(outcome, 0) + 1
        return counts

    def disagreeing(self, run: str, only: Iterable[str]) -> tuple[int, str]:
        """How many of these trials had pages that disagree about a product, and what the first one said."""
        query = (
            sql.select(disagreements.c.trial, disagreements.c.text)
            .where(disagreements.c.run == run)
            .order_by(disagreements.c.trial, disagreements.c.number)
        )
        wanted = set(only)
        with self.engine.connect() as connection:
            found = [(trial, text) for trial, text in connection.execute(query) if trial in wanted]
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


def _connect(url: URL) -> Engine:
    if url.get_backend_name() != "sqlite":
        return sql.create_engine(url)
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = sql.create_engine(url, connect_args={"timeout": 30})

    @sql.event.listens_for(engine, "connect")
    def set_pragmas(connection: Any, _: object) -> None:
        # WAL: readers do not stop the writer, and a killed writer leaves a sound file behind.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    return engine


def without_password(url: str) -> str:
    """A database URL, well formed or not, fit to be shown."""
    url = re.sub(r"(//[^:/@]*):.*@", r"\1:***@", url)
    return re.sub(r"(password=)[^&]*", r"\1***", url)


def to_row(value: Any, **more: Any) -> Row:
    """A dataclass as a row, with further columns."""
    return {**asdict(value), **more}


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: the same text on every machine, to be hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
