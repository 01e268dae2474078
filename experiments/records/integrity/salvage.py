"""Read what can be read of a database, whatever has become of it, and tell what is as it was stored."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Self

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from experiments.records.database import connect, hold
from experiments.records.errors import is_damaged, other_version, unreadable, unusable, without_password
from experiments.records.packing import Unpacker, base_of
from experiments.records.record import Row, screenshot_of
from experiments.records.seals import Rows, batches, rows_of, rows_of_run, seal
from experiments.records.tables import (
    OF_TRIAL,
    SCHEMA_VERSION,
    artifacts,
    foreign_objects,
    metadata,
    missing_tables,
    runs,
    schema_version,
    sent_pages,
    steps,
    strange_cell,
    trials,
)
from interventions.errors import UserError

Progress = Callable[[str, int, int], None]
"""A function that is told what is being done, how much of it is done, and of how much."""

Keep = Callable[[Rows], None]

Key = tuple[str, str]
"""A trial: its run and its id."""

_LAST_ROW: Final = 2**40
_ONWARDS: Final = "WHERE rowid > :last ORDER BY rowid"

SENT: Final = ("body", "given", "site")
"""The columns of what the shop sent that name artifacts."""


@dataclass(slots=True)
class SalvageFindings:
    """What a database holds, as far as it can be read."""

    trials: int = 0
    """The number of trials that are as they were stored."""
    damaged: dict[str, list[str]] = field(default_factory=dict)
    """The ids of trials that are not, and ids under which there are rows but no trial, by run."""
    runs: list[str] = field(default_factory=list)
    lost_runs: list[str] = field(default_factory=list)
    """The runs whose facts are not as they were stored, or gone."""
    pages: int = 0
    """The number of artifacts that are as their names say."""
    known_lost: int = 0
    """The number of artifacts that an earlier repair has found lost."""
    damaged_pages: list[str] = field(default_factory=list)
    """The names of artifacts that are damaged, or that are missing although a step has shown them."""
    unnamed: list[str] = field(default_factory=list)
    """The names of artifacts that no step has shown."""

    @property
    def lost(self) -> int:
        """The number of trials that are damaged."""
        return sum(map(len, self.damaged.values()))


class Salvage:
    """A database that is read without trust; nothing in it is changed."""

    def __init__(self, url: str) -> None:
        """Open the database.

        Raises:
            Unreadable: it is damaged so that nothing of it can be read.
            UserError: it cannot be reached, or this version of Souk has not written it.
        """
        self.url = without_password(url)
        self.engine = connect(url)
        try:
            self.connection = self.engine.connect()
            hold(self.connection)
            version = schema_version(self.connection)
            self.missing = missing_tables(self.connection)
        except (SQLAlchemyError, OSError) as error:
            self.engine.dispose()
            raise (unreadable if is_damaged(error) else unusable)(url, error) from None
        if len(self.missing) == len(metadata.tables):
            self.close()
            raise UserError(f"--db {self.url}: no runs are in it")
        if version not in (SCHEMA_VERSION, None):
            self.close()
            raise other_version(self.url, version)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def structure(self) -> list[str]:
        """Return what the database itself finds wrong, and what in it is not Souk's."""
        try:
            foreign = [f"{name} is not Souk's" for name in foreign_objects(self.connection)]
            if not self._is_file:
                return foreign
            found = self.connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars().all()
            keys = self.connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        except DBAPIError as error:
            return [str(error.orig)]
        wrong = [line for line in found if line != "ok"]
        return [*wrong, *(f"foreign key: {row}" for row in keys), *foreign]

    def read(
        self,
        progress: Progress,
        keep: Keep = lambda _: None,
    ) -> SalvageFindings:
        """Read everything; give the rows that are as they were stored to a function, some at a time."""
        found = SalvageFindings()
        keys = set[Key]().union(*map(self._keys, OF_TRIAL))
        self._read_runs(found, {run for run, _ in self._keys(trials)}, keep)
        shown = self._read_trials(found, sorted(keys), progress, keep)
        self._read_pages(found, shown, progress, keep)
        return found

    def _read_runs(self, found: SalvageFindings, of_trials: set[str], keep: Keep) -> None:
        known = {run for (run,) in self._column(runs.c.run)} | of_trials
        for run in sorted(known):
            rows = self._run(run)
            if rows is None:
                found.lost_runs.append(run)
            else:
                found.runs.append(run)
                keep(rows)

    def _read_trials(
        self,
        found: SalvageFindings,
        keys: Sequence[Key],
        progress: Progress,
        keep: Keep,
    ) -> set[str]:
        """Read the trials; returns the names of the pages that they have shown."""
        shown, done, doubtful = set[str](), 0, dict[Key, Rows]()

        def take(whole: list[Rows]) -> None:
            found.trials += len(whole)
            together: dict[sql.Table, list[Mapping[str, Any]]] = {}
            for rows in whole:
                for table, its in rows.items():
                    together.setdefault(table, []).extend(its)
                shown.update(row["observation"] for row in rows.get(steps, ()))
                shown.update(row[name] for row in rows.get(sent_pages, ()) for name in SENT)
            keep(together)

        for run, names in batches(keys):
            rows = self._rows(run, names)
            whole = {name: its for name in names if (its := sealed(run, name, rows[name]))}
            doubtful |= {(run, name): rows[name] for name in names if name not in whole}
            take(list(whole.values()))
            done += len(names)
            progress("trials", done, len(keys))
        for (run, name), rows_of_trial in self._without_indices(doubtful):
            if its := sealed(run, name, rows_of_trial):
                take([its])
            else:
                found.damaged.setdefault(run, []).append(name)
        return shown - {None}

    def _without_indices(self, doubtful: Mapping[Key, Rows]) -> Iterator[tuple[Key, Rows]]:
        """Trials with the rows that the tables hold, where an index that leads to them may be damaged."""
        scanned = dict[Key, dict[sql.Table, list[Row]]]()
        if doubtful and self._is_file:
            for table in filter(_has_index, self._there):
                for row in self._scan(table):
                    if (key := (row["run"], row["trial"])) in doubtful:
                        scanned.setdefault(key, {}).setdefault(table, []).append(row)
        for key, rows in doubtful.items():
            yield key, {**rows, **scanned.get(key, {})}

    def _read_pages(self, found: SalvageFindings, shown: set[str], progress: Progress, keep: Keep) -> None:
        there = {name for (name,) in self._column(artifacts.c.hash)}
        queue, seen, doubtful = sorted(shown), set(shown), set[str]()
        unpacker = Unpacker(self._data)

        def take(name: str, data: object) -> None:
            # A page names its screenshot, and how it is packed, its base.
            more = {base_of(data)} - {""} if isinstance(data, bytes) else set[str]()
            if (text := unpacker.text(name, data)) is not None and isinstance(data, bytes):
                found.pages += 1
                keep({artifacts: [{"hash": name, "data": data}]})
                doubtful.discard(name)
                more |= {screenshot_of(text)} - {""}
            elif data == b"":
                found.known_lost += 1
            else:
                doubtful.add(name)
            queue.extend(more - seen)
            seen.update(more)

        def take_all() -> None:
            while queue:
                name = queue.pop()
                take(name, self._data(name))
                progress("pages", len(seen) - len(queue), len(seen))

        take_all()
        if doubtful and self._is_file:  # the index that leads to them may be damaged
            for row in self._scan(artifacts):
                if row["hash"] in doubtful:
                    take(row["hash"], row["data"])
            take_all()
        found.damaged_pages = sorted(doubtful)
        found.unnamed = sorted(there - seen)

    def _data(self, name: str) -> bytes | None:
        try:
            return self.connection.scalar(sql.select(artifacts.c.data).where(artifacts.c.hash == name))
        except DBAPIError:
            return None

    def _scan(self, table: sql.Table) -> Iterator[Row]:
        """The rows of a table that has an index, without it: all that can be read, past what cannot."""
        if table.name in self.missing:
            return
        names = ", ".join(f'"{column.name}"' for column in table.columns)
        query = sql.text(f'SELECT rowid, {names} FROM "{table.name}" NOT INDEXED {_ONWARDS}')  # noqa: S608
        last, jump = 0, 1
        while last < _LAST_ROW:
            try:
                for number, *cells in self.connection.execute(query, {"last": last}):
                    last, jump = number, 1
                    yield dict(zip(table.columns.keys(), cells, strict=True))
            except DBAPIError:
                last, jump = last + jump, 2 * jump
            else:
                return

    def _keys(self, table: sql.Table) -> set[Key]:
        pairs = self._column(table.c.run, table.c.trial)
        return {(run, trial) for run, trial in pairs if isinstance(run, str) and isinstance(trial, str)}

    def _column(self, *columns: sql.Column[Any]) -> set[tuple[Any, ...]]:
        """The keys of a table: from its start, and where that ends in damage, from its end."""
        if columns[0].table.name in self.missing:
            return set()
        found = set[tuple[Any, ...]]()
        for ordered in (columns, [column.desc() for column in columns]):
            try:
                for row in self.connection.execute(sql.select(*columns).distinct().order_by(*ordered)):
                    found.add(tuple(row))
            except DBAPIError:
                continue
            break
        else:
            found |= self._by_index(*columns)
        return found

    def _by_index(self, *columns: sql.Column[Any]) -> set[tuple[Any, ...]]:
        """The keys of trials as far as their index can be read."""
        found = set[tuple[Any, ...]]()
        if columns == (trials.c.run, trials.c.trial) and self._is_file:
            query = "SELECT run, trial FROM trials INDEXED BY trials_by_outcome"
            with suppress(DBAPIError):
                for row in self.connection.exec_driver_sql(query):
                    found.add(tuple(row))
        return found

    def _rows(self, run: str, names: list[str]) -> dict[str, dict[sql.Table, list[Row]]]:
        """The rows of several trials, as far as they can be read."""
        try:
            return rows_of(self.connection, run, names, self._there)
        except (DBAPIError, LookupError):
            if len(names) > 1:
                return {name: self._rows(run, [name])[name] for name in names}
        found: dict[sql.Table, list[Row]] = {}
        for table in self._there:
            with suppress(DBAPIError, LookupError):
                found |= rows_of(self.connection, run, names, [table])[names[0]]
        return {names[0]: found}

    def _run(self, run: str) -> Rows | None:
        """The rows of a run itself, if they are as they were stored."""
        try:
            return sealed(run, "", rows_of_run(self.connection, run))
        except DBAPIError:
            return None

    @property
    def _is_file(self) -> bool:
        return self.connection.dialect.name == "sqlite"

    @property
    def _there(self) -> list[sql.Table]:
        return [table for table in OF_TRIAL if table.name not in self.missing]


def sealed(run: str, trial: str, rows: Rows) -> Rows | None:
    """Return the rows of a trial, or with an empty `trial` of a run, if they are as they were stored."""
    of_seal = rows.get(trials if trial else runs, ())
    if len(of_seal) != 1 or any(strange_cell(table, row) for table, its in rows.items() for row in its):
        return None
    return rows if of_seal[0]["seal"] == seal(run, trial, rows) else None


def _has_index(table: sql.Table) -> bool:
    return bool(table.dialect_options["sqlite"]["with_rowid"])


def counts(connection: sql.Connection, tables: Sequence[sql.Table]) -> Counter[str]:
    """Count the rows of tables."""
    number = sql.func.count()
    return Counter(
        {table.name: connection.scalar(sql.select(number).select_from(table)) or 0 for table in tables}
    )
