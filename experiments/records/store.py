"""Store runs and their trials, with content-addressed artifacts, in SQL.

SQLite by default, PostgreSQL by URL. A trial is written once, whole, in one transaction when it ends: a
killed run loses at most the trials that were running, and a re-run knows which ones ended.
"""

import hashlib
import json
import logging
import re
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from experiments.records.chain import LinkFacts, entry, extend, plan_hash
from experiments.records.database import (
    connect,
    cut,
    forbid_writing,
    hold,
    lock,
    open_connections,
    sqlite_path,
)
from experiments.records.errors import (
    CHECK_IT,
    Unreadable,
    is_damaged,
    not_ours,
    other_version,
    unreadable,
    unusable,
    without_password,
)
from experiments.records.packing import HEAD, Packer, StoredBases, Unpacker
from experiments.records.record import Row, RunFacts, TrialRecord
from experiments.records.seals import rows_of_run, seal, seal_run
from experiments.records.stored_facts import strange_fact, whole_characters
from experiments.records.tables import (
    OF_TRIAL,
    SCHEMA_VERSION,
    artifacts,
    claims,
    control,
    disagreements,
    foreign_objects,
    is_strange,
    metadata,
    missing_tables,
    paid,
    runs,
    schema,
    schema_version,
    sent_pages,
    strange_cell,
    trials,
)
from interventions.errors import UserError

_told = logging.getLogger("souk.told")
"""What it is told is shown to the person who gave the command."""

RUNS: Final = Path("runs")

_SEEN: Final = 10_000
"""The number of artifacts that a process remembers to have stored."""

_ROWS: Final = tuple(table for table in OF_TRIAL if table is not trials)
"""The tables with the rows of a trial besides its own; a record has their rows under their names."""


class Records:
    """A database of runs. Any number of processes may write and read it."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        """Open the database.

        `create`: make the tables where there are none yet.

        Raises:
            UserError: the URL is malformed, or the database cannot be reached or written, lacks tables, or is
                of another version of Souk.
        """
        self.url = without_password(url)
        self._seen_artifacts: set[str] = set()
        self._packer, self._unpacker = Packer(), Unpacker(self._data)
        self._sent: dict[str, StoredBases] = {}
        """By run, what the pages that its shop sends are packed with."""
        self.engine = connect(url)
        self._open = open_connections(self.engine)
        self.stood_still = False
        """Whether the server has been hung up on, and has taken nothing since."""
        self._held = threading.local()
        try:
            with self.engine.connect() as connection:
                version = schema_version(connection)
                missing = missing_tables(connection)
                foreign = foreign_objects(connection)
            unmade = version is None and len(missing) == len(metadata.tables)
            if missing and version in (SCHEMA_VERSION, None) and not unmade:
                raise Unreadable(f"--db {self.url}: the table {missing[0]} is missing; {CHECK_IT}")
            if unmade and not create:
                raise Unreadable(
                    f"--db {self.url}: no runs are in it; a copy of a database in use needs its -wal file too"
                )
            if foreign and not unmade:
                raise not_ours(url, foreign)
            if version is None:
                self._make()
            elif version != SCHEMA_VERSION:
                raise other_version(self.url, version)
        except (SQLAlchemyError, OSError) as error:
            raise (unreadable if is_damaged(error) else unusable)(url, error) from None

    def _make(self) -> None:
        with self.writing() as connection:
            if schema_version(connection) is None:
                metadata.create_all(connection)
                connection.execute(schema.insert().values(version=SCHEMA_VERSION))

    def folder(self, run: str) -> Path:
        """Return the folder of a run, for its authority, log, figures and report. Raises UserError."""
        return run_folder(self.engine.url, run)

    @property
    def file(self) -> Path | None:
        """The file of the database; None where it has none."""
        return sqlite_path(self.engine.url)

    def read_only(self) -> None:
        """Let the database itself refuse to be written through this object from now on."""
        forbid_writing(self.engine)

    def close(self) -> None:
        """Close the connections to the database."""
        self.engine.dispose()

    @contextmanager
    def writing(self) -> Iterator[sql.Connection]:
        """Open a transaction that no other writer interrupts."""
        try:
            with self.engine.begin() as connection:
                lock(connection)
                yield connection
            self.stood_still = False
        except SQLAlchemyError as error:
            error.add_note(f"--db {self.url}")  # for whoever tells the user
            raise

    @contextmanager
    def reading(self) -> Iterator[sql.Connection]:
        """Open a transaction in which everything is as it was at one moment, whatever others write.

        A block within a block, in the same thread, is part of the outer one.

        Raises:
            Unreadable: the database is away, damaged, or not there any more.
        """
        if outer := getattr(self._held, "connection", None):
            yield outer
            return
        try:
            with self.engine.connect() as connection:
                hold(connection)
                self._held.connection = connection
                try:
                    yield connection
                finally:
                    self._held.connection = None
        except SQLAlchemyError as error:
            raise unreadable(self.url, error) from error

    def hang_up(self) -> None:
        """Cut the connections to a server, so that a thread that waits for an answer goes on with an error.

        Nothing happens to a file: who has locked it may keep it long, and that is told by its own error.
        """
        self.stood_still = self.stood_still or bool(self._open)
        for connection in list(self._open):
            cut(connection)

    def fault(self) -> str:
        """Return the first fault in the structure of the database; empty where there is none.

        PostgreSQL looks after its own.
        """
        if self.engine.dialect.name != "sqlite":
            return ""
        with self.reading() as connection:
            found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        return "" if found == "ok" else str(found)

    def checked(self, table: sql.Table, row: Mapping[Any, Any]) -> Row:
        """Return a row as it was read.

        Raises:
            Unreadable: a cell holds what its column cannot hold.
        """
        if strange := strange_cell(table, row):
            raise Unreadable(f"--db {self.url}: {strange}; {CHECK_IT}")
        return dict(row)

    def ask(self, query: sql.Executable) -> Sequence[Any]:
        """Return the rows of the answer to a query, which asks for no bytes.

        Raises:
            Unreadable: as `reading` does; or a cell holds bytes or an infinite number, as SQLite lets any.
        """
        with self.reading() as connection:
            found = connection.execute(query).all()
        for strange in (cell for row in found for cell in row if is_strange(cell)):
            raise Unreadable(f"--db {self.url}: {repr(strange)[:40]} is no value of a column; {CHECK_IT}")
        return found

    def column(self, query: sql.Executable) -> list[Any]:
        """Return the first column of the answer to a query."""
        return [row[0] for row in self.ask(query)]

    def value(self, query: sql.Executable) -> Any:
        """Return the first cell of the answer to a query; None where there is none."""
        return next(iter(self.column(query)), None)

    def rows(self, table: sql.Table, query: sql.Executable) -> list[Row]:
        """Return rows, or some columns, of a table. Raises Unreadable: a cell holds what it cannot hold."""
        with self.reading() as connection:
            return [self.checked(table, row) for row in connection.execute(query).mappings()]

    def begin_run(self, run: str, name: str, facts: RunFacts) -> None:
        """Note a run; one that is known keeps its start and its agents, and takes the new facts.

        Raises:
            UserError: other things count as shown to programs than in the run's earlier trials.
        """
        new = facts.to_dict()
        with self.writing() as connection:
            known = connection.scalar(sql.select(runs.c.facts).where(runs.c.run == run))
            if registered := plan_hash(connection, run):
                new["plan"] = registered
            if known is None:
                row = {"run": run, "name": name, "started_at": now(), "facts": new}
                connection.execute(runs.insert().values(row))
            else:
                known = known if isinstance(known, dict) else {}
                new["agents"] = list(dict.fromkeys([*known.get("agents", ()), *facts.agents]))
                shown = known.get("observe")
                if shown and new.setdefault("observe", shown) != shown:  # others may have been no programs
                    raise UserError(
                        f"--observe {new['observe']}: {run} has --observe {shown}; use one for all trials of "
                        "a run, or another database"
                    )
                if fonts := dict.fromkeys([*known.get("fonts", ()), *(facts.fonts or ())]):
                    new["fonts"] = list(fonts)
                versions = known.get("versions")
                if isinstance(versions, dict):  # those of local models that other commands ran, too
                    new["versions"] = versions | new["versions"]
                shoppers = known.get("shoppers")
                if isinstance(shoppers, dict):
                    new["shoppers"] = shoppers | new.get("shoppers", {})
                connection.execute(runs.update().where(runs.c.run == run).values(facts=new))
            if not connection.scalar(sql.select(control.c.run).where(control.c.run == run)):
                first = {"run": run, "wanted": "running", "wasted": 0.0, "updated_at": now()}
                connection.execute(control.insert().values(first))
            seal_run(connection, run)

    def finished(self, run: str) -> set[str]:
        """Return the ids of the run's trials with an outcome other than `infra_error`."""
        query = sql.select(trials.c.trial).where(trials.c.run == run, trials.c.outcome != "infra_error")
        return set(self.column(query))

    def answered(self, run: str) -> tuple[set[str], set[str]]:
        """Return the ids of the run's trials that need no repetition.

        Returned are also the ids of those among them with a valid answer.
        """
        query = sql.select(trials.c.trial).where(trials.c.run == run, trials.c.outcome == "choice")
        with self.reading():
            return self.finished(run), set(self.column(query))

    def save(self, *finished: TrialRecord) -> None:
        """Write trials, all or none of them; their claims end.

        A trial that is stored stays as it is, unless it ended as `infra_error`: that one is replaced. So this
        may be repeated when it is not known whether it came through.
        """
        sent, self._sent = self._sent, {}  # what is not written is no base
        with self.writing() as connection:
            wanted = self._replacing(connection, finished)
            new = {name: text for record in wanted for name, text in record.artifacts.items()}
            new = {name: text for name, text in new.items() if name not in self._seen_artifacts}
            rows: dict[sql.Table, list[Row]] = {table: [] for table in (artifacts, *OF_TRIAL)}
            chained: dict[str, list[LinkFacts]] = {}
            for record in wanted:
                key = {"run": record.trial.run, "trial": record.trial.trial}
                own: dict[sql.Table, list[Row]] = {trials: [dict(vars(record.trial))]}
                own |= {each: _numbered(each, key, getattr(record, each.name)) for each in _ROWS}
                own[trials][0]["seal"] = seal(key["run"], key["trial"], own, new=True)
                chained.setdefault(key["run"], []).append(entry("trial", own))
                for table, its_rows in own.items():
                    rows[table] += its_rows
            # Of what a repair has found lost, only the name is known, without any data.
            there = sql.select(artifacts.c.hash, artifacts.c.data == b"").where(artifacts.c.hash.in_(new))
            found = {name: bool(lost) for name, lost in connection.execute(there)}
            known = {name for name, lost in found.items() if not lost}
            if lost := found.keys() - known:
                connection.execute(artifacts.delete().where(artifacts.c.hash.in_(lost)))
            bodies = {
                row["body"]: (record.trial.run, row["url"]) for record in wanted for row in record.sent_pages
            }
            for name, text in new.items():
                if name in bodies and name not in known:
                    run, url = bodies[name]
                    if run not in sent:
                        sent[run] = self._sent_before(connection, run)
                    data = sent[run].pack(self._packer, self._unpacker, url, name, text)
                    rows[artifacts].append({"hash": name, "data": data})
                elif name not in known:
                    rows[artifacts].append({"hash": name, "data": self._packer.pack(text)})
            for table, all_rows in rows.items():
                if all_rows:
                    connection.execute(table.insert(), all_rows)
            for run, entries in chained.items():
                extend(connection, run, entries)
                self._note_fonts(connection, run, wanted)
        if len(self._seen_artifacts) > _SEEN:
            self._seen_artifacts.clear()
        self._seen_artifacts.update(new)
        self._sent = sent

    @staticmethod
    def _note_fonts(connection: sql.Connection, run: str, finished: Sequence[TrialRecord]) -> None:
        """Add to the facts of a run how letters were drawn in trials that are new."""
        fonts = dict.fromkeys(each.fonts for each in finished if each.fonts and each.trial.run == run)
        if not fonts:
            return
        facts = connection.scalar(sql.select(runs.c.facts).where(runs.c.run == run))
        if not isinstance(facts, dict) or fonts.keys() <= set(known := facts.get("fonts", ())):
            return
        facts = {**facts, "fonts": list(dict.fromkeys([*known, *fonts]))}
        connection.execute(runs.update().where(runs.c.run == run).values(facts=facts))
        seal_run(connection, run)

    @staticmethod
    def _sent_before(connection: sql.Connection, run: str) -> StoredBases:
        """What is stored of the pages that the shop of a run has sent."""
        head = sql.func.substr(artifacts.c.data, 1, HEAD, type_=sql.LargeBinary)
        query = sql.select(sent_pages.c.url, artifacts.c.hash, head)
        stored = query.join(artifacts, sent_pages.c.body == artifacts.c.hash)
        there = stored.where(sent_pages.c.run == run, artifacts.c.data != b"")
        return StoredBases((url, name, data) for url, name, data in connection.execute(there))

    def _data(self, name: str) -> bytes | None:
        """The data stored under a hash; None: there are none."""
        query = sql.select(artifacts.c.data).where(artifacts.c.hash == name)
        with self.reading() as connection:
            return connection.scalar(query)

    def _replacing(self, connection: sql.Connection, finished: Sequence[TrialRecord]) -> list[TrialRecord]:
        """The records to insert, once what they replace is removed. What is not kept has been paid for."""
        new = {(record.trial.run, record.trial.trial): record for record in finished}
        those = {run: [trial for its_run, trial in new if its_run == run] for run, _ in new}
        columns = [*(trials.c[name] for name in ("trial", "outcome", "started_at", "seconds")), paid]
        for run, names in those.items():
            connection.execute(claims.delete().where(claims.c.run == run, claims.c.trial.in_(names)))
            known = sql.select(*columns).where(trials.c.run == run, trials.c.trial.in_(names))
            for trial, outcome, started_at, seconds, cost in connection.execute(known).all():
                record = new[run, trial].trial
                lost = cost
                if outcome != "infra_error":
                    del new[run, trial]
                    lost = record.cost
                else:
                    for table in OF_TRIAL:
                        connection.execute(table.delete().where(table.c.run == run, table.c.trial == trial))
                if lost and (started_at, seconds) != (record.started_at, record.seconds):
                    changed = control.update().where(control.c.run == run)
                    connection.execute(changed.values(wasted=control.c.wasted + lost))
                    seal_run(connection, run)
        return list(new.values())

    def artifact(self, name: str) -> str:
        """Return the text stored under a hash.

        Raises:
            KeyError: there is none, or it was lost.
            UserError: it is damaged.
        """
        data = self._data(name)
        if not data:
            raise KeyError(name)
        text = self._unpacker.text(name, data)
        if text is None:
            raise Unreadable(f"--db {self.url}: the page {name} is damaged; {CHECK_IT}")
        return text

    def kept(self, name: str | None) -> str | None:
        """Return the text stored under a hash; None: there is none, or it was lost."""
        try:
            return self.artifact(name) if name else None
        except KeyError:
            return None

    def latest_run(self, name: str | None = None, kind: str | None = None) -> Row:
        """Return the run started last, or the one with this id, or the last one with this name.

        `kind`: only runs that are analysed so (`choice`, `conjoint` ...).

        Raises:
            UserError: there is none.
        """
        kinds = sql.func.coalesce(runs.c.facts["analysis"].as_string(), "choice").label("kind")
        query = sql.select(runs.c.run, runs.c.name, kinds).order_by(runs.c.started_at.desc(), runs.c.run)
        with self.reading() as connection:
            known = connection.execute(query).all()
            own = [row for row in known if name in (None, row.run, row.name) and kind in (None, row.kind)]
            same = [row.run for row in own]
            if name and name not in same and len(same) > 1:
                _tell_of_others(name, *same)
            if same:
                return self._whole_run(connection, name if name and name in same else same[0])
        wanted = f"no run {name!r}" if name else "no run"
        if kind and (others := [row for row in known if name in (None, row.run, row.name)]):
            if name:
                raise UserError(f"{name} is a study of the kind {others[0].kind}, not {kind}")
            wanted += f" of the kind {kind}"
        names = sorted({row.name for row in known})
        hint = f"runs: {', '.join(names)}" if names else "run an experiment first: souk run nudges"
        raise UserError(f"{self.url}: {wanted} in this database; {hint}")

    def _whole_run(self, connection: sql.Connection, run: str) -> Row:
        """The row of a run, as it was stored."""
        rows = rows_of_run(connection, run)
        row = self.checked(runs, rows[runs][0])
        if row.pop("seal") != seal(run, "", rows):
            raise Unreadable(
                f"--db {self.url}: the facts of run {run} are not what was stored; {CHECK_IT}, and the same "
                "souk run writes them again"
            )
        if strange := strange_fact(row["facts"]):
            raise Unreadable(f"--db {self.url}: the facts of run {run}: {strange}; {CHECK_IT}")
        return row | {"facts": whole_characters(row["facts"])}

    def outcomes(self, run: str, only: Collection[str] | None = None) -> dict[str, int]:
        """Count the run's trials (of those in `only`, best a set) by outcome."""
        counts: dict[str, int] = {}
        with self.reading() as connection:
            if only is None:
                counted = sql.select(trials.c.outcome, sql.func.count()).where(trials.c.run == run)
                return {name: n for name, n in connection.execute(counted.group_by(trials.c.outcome))}
            each = sql.select(trials.c.trial, trials.c.outcome).where(trials.c.run == run)
            for trial, outcome in connection.execute(each):
                if trial in only:
                    counts[outcome] = counts.get(outcome, 0) + 1
        return counts

    def disagreeing(self, run: str, only: Collection[str]) -> tuple[int, str]:
        """Count those of these trials whose pages disagree about a product.

        Returned is also the text of the first disagreement.
        """
        query = (
            sql.select(disagreements.c.trial, disagreements.c.text)
            .where(disagreements.c.run == run)
            .order_by(disagreements.c.trial, disagreements.c.number)
        )
        found = [(trial, text) for trial, text in self.ask(query) if trial in only]
        return len({trial for trial, _ in found}), found[0][1] if found else ""


def _numbered(table: sql.Table, key: Row, rows: Sequence[Row]) -> list[Row]:
    """Return rows of a trial with its key; where rows have numbers, they have them in their order."""
    if "number" not in table.c:
        return [{**key, **row} for row in rows]
    return [{**key, "number": number, **row} for number, row in enumerate(rows)]


def run_folder(database: sql.URL, run: str) -> Path:
    """Return the folder of a run, which no run of another database has.

    The same run may be in several databases. The folder is `runs/RUN` for the default database,
    `FILE-runs/RUN` for another SQLite file, and `runs/NAME-DIGEST/RUN` for a server. Raises UserError.
    """
    if not re.fullmatch(r"[a-z0-9-]+", run):  # from a database that a stranger made
        raise UserError(f"run {run!r}: its name is no name for a folder; choose a folder with --out")
    name = database.database or ":memory:"
    if database.get_backend_name() == "sqlite" and name != ":memory:":
        file = Path(name)
        if file.resolve() == (RUNS / "souk.db").resolve():
            return RUNS / run
        return file.with_name(f"{file.name}-runs") / run
    where = json.dumps([database.host, database.port, name, sorted(database.query.items())])
    digest = hashlib.blake2b(where.encode(), digest_size=4).hexdigest()
    return RUNS / f"{re.sub(r'[^A-Za-z0-9-]', '_', name)}-{digest}" / run


def now() -> str:
    """Return the time, as the tables keep it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def _tell_of_others(name: str, run: str, *others: str) -> None:
    """Say, once in a process, which of several runs a name is taken for, and how the others are named."""
    count, known = len(others) + 1, ", ".join(others[:2]) + (" ..." if others[2:] else "")
    text = "%s is taken for %s, the latest of %d runs of this name; name another by its id: %s"
    _told.warning(text, name, run, count, known)
