"""Repair a database, rename its runs, give its free space back, or copy it; the old one is never lost."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import sqlalchemy as sql
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from experiments.records.chain import begin_anew, mend
from experiments.records.control import refuse_at_work
from experiments.records.database import sqlite_path
from experiments.records.errors import Unreadable, cause, unusable, without_password
from experiments.records.integrity.salvage import Progress, Salvage, SalvageFindings, counts
from experiments.records.seals import Rows, seal_run
from experiments.records.sqlite_file import free_name, size_of
from experiments.records.store import Records
from experiments.records.tables import (
    OF_TRIAL,
    archived,
    artifacts,
    control,
    links,
    metadata,
    notes,
    plans,
    runners,
    runs,
    strange_cell,
    trials,
)
from interventions.errors import UserError

_AT_ONCE = 500
"""The number of artifacts in one statement; databases limit the number of values."""


@dataclass(frozen=True, slots=True)
class _Repaired:
    """What a repair has found, and the file that the damaged database was moved to."""

    found: SalvageFindings
    old: Path | None


def _insert(connection: sql.Connection, rows: Rows) -> None:
    for table, its in rows.items():
        if its:
            connection.execute(table.insert(), list(its))


def repair(url: str, progress: Progress) -> _Repaired:
    """Keep what is as it was stored, and nothing else; whatever was lost is run again by `souk run`.

    A SQLite file is written anew, and the damaged one stays beside it. In PostgreSQL the damaged rows are
    deleted, and missing tables made.

    Raises:
        UserError: nothing can be read, a process is at work on a run, or there is no room.
    """
    path = sqlite_path(make_url(url))
    try:
        if path:
            _refuse_if_open(path)
        with Salvage(url) as salvage:
            if path:
                return _Repaired(*_repair_file(salvage, path, progress))
            return _Repaired(_repair_here(salvage, progress), None)
    except Unreadable as error:
        if not path:
            raise
        raise UserError(
            f"{str(error).rpartition('; ')[0]}; its list of tables is lost, so take a copy of yours, or "
            f"look what SQLite finds: sqlite3 {path} .recover"
        ) from None
    except (SQLAlchemyError, OSError) as error:
        raise UserError(
            f"--db {without_password(url)}: {cause(error)}; nothing was changed: make room, or end what uses "
            "it, and repair it again"
        ) from None


def _repair_file(salvage: Salvage, path: Path, progress: Progress) -> tuple[SalvageFindings, Path]:
    repaired = path.with_name(f"{path.name}.repairing")
    _remove(repaired)
    new = Records(f"sqlite:///{repaired}")
    with new.writing() as connection:
        found = salvage.read(progress, partial(_insert, connection))
        _note_lost_pages(connection, found.damaged_pages)
        _copy_chains(salvage, connection)
        for table in (notes, archived):
            _copy_sound(salvage, connection, table)
    new.close()
    # Whoever opens the file now finds it moved, and says so.
    salvage.close()
    old = free_name(path, "damaged")
    for end in ("-wal", "-shm"):  # before the file: a file without them is still sound
        beside = path.with_name(f"{path.name}{end}")
        if beside.exists():
            beside.rename(old.with_name(f"{old.name}{end}"))
    path.rename(old)
    repaired.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return found, old


def _copy_chains(salvage: Salvage, connection: sql.Connection) -> None:
    """Copy plans and chains; what was lost is linked as lost, and what cannot be read begins anew."""
    anew: set[str] = set()
    for table in (plans, links):
        if not _copy_sound(salvage, connection, table):
            anew = set(connection.scalars(sql.select(trials.c.run).distinct()))
    mend(connection)
    for run in sorted(anew):
        begin_anew(connection, run)


def _copy_sound(salvage: Salvage, connection: sql.Connection, table: sql.Table) -> bool:
    """Copy the sound rows of a table; return whether it could be read."""
    try:
        rows = [dict(row) for row in salvage.connection.execute(sql.select(table)).mappings()]
        rows = [row for row in rows if not strange_cell(table, row)]
        if rows:
            connection.execute(table.insert(), rows)
    except (DBAPIError, LookupError, TypeError):
        return False
    return True


def _refuse_if_open(path: Path) -> None:
    """Raise OperationalError if another process has the file open: it would go on writing to the old one."""
    engine = sql.create_engine(f"sqlite:///{path}", connect_args={"timeout": 2})
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA locking_mode=EXCLUSIVE")
            connection.exec_driver_sql("BEGIN EXCLUSIVE")
    except sql.exc.DatabaseError as error:
        if "locked" in str(error.orig):
            raise
    finally:
        engine.dispose()


def _note_lost_pages(connection: sql.Connection, names: Sequence[str]) -> None:
    """Keep the names of lost pages, without data: what shows them is whole but for them."""
    if names:
        _forget_pages(connection, names)
        connection.execute(artifacts.insert(), [{"hash": name, "data": b""} for name in names])


def _forget_pages(connection: sql.Connection, names: Sequence[str]) -> None:
    for start in range(0, len(names), _AT_ONCE):
        some = names[start : start + _AT_ONCE]
        connection.execute(artifacts.delete().where(artifacts.c.hash.in_(some)))


def _repair_here(salvage: Salvage, progress: Progress) -> SalvageFindings:
    found = salvage.read(progress)
    salvage.close()
    with salvage.engine.begin() as connection:
        metadata.create_all(connection)
    records = Records(salvage.engine.url.render_as_string(hide_password=False))
    refuse_at_work(records)
    with records.writing() as connection:
        for run, names in found.damaged.items():
            for table in OF_TRIAL:
                connection.execute(table.delete().where(table.c.run == run, table.c.trial.in_(names)))
        for run in found.lost_runs:
            for table in (runs, control):
                connection.execute(table.delete().where(table.c.run == run))
        _forget_pages(connection, found.unnamed)
        _note_lost_pages(connection, found.damaged_pages)
        mend(connection)
    records.close()
    return found


def rename_run(records: Records, run: str, name: str) -> None:
    """Give a run another name.

    Raises:
        UserError: a process is at work on the run.
    """
    with records.writing() as connection:
        refuse_at_work(records, run)
        connection.execute(runs.update().where(runs.c.run == run).values(name=name))
        seal_run(connection, run)


def vacuum(records: Records) -> tuple[int, int]:
    """Give the free space of a database back; returns its size in bytes before and after.

    Raises:
        UserError: a process is at work on a run, or there is no room for a copy.
    """
    refuse_at_work(records)
    before = _size(records)
    write_anew(records)
    return before, _size(records)


def write_anew(records: Records) -> None:
    """Write a database anew, whoever uses it: nothing of what was deleted is left in its file.

    Raises:
        UserError: there is no room for a copy, or others use the database all the time.
    """
    file = records.engine.dialect.name == "sqlite"
    try:
        with records.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM" if file else "VACUUM FULL")
            if file and connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").scalar():
                raise UserError(f"--db {records.url}: others read it all the time; souk db vacuum ends this")
    except SQLAlchemyError as error:
        raise unusable(records.url, error) from None


def _size(records: Records) -> int:
    path = sqlite_path(records.engine.url)
    if path:
        return sum(size_of(path.with_name(f"{path.name}{end}")) for end in ("", "-wal"))
    return int(records.value(sql.select(sql.func.pg_database_size(sql.func.current_database()))) or 0)


def move(source: Records, to: str, progress: Progress) -> SalvageFindings:
    """Copy everything to another, empty database, whole or not at all; the old one stays as it is.

    Raises:
        UserError: a process is at work on a run, something is damaged, or the other database is not empty.
    """
    refuse_at_work(source)
    url = source.engine.url.render_as_string(hide_password=False)
    target = Records(to)
    try:
        with Salvage(url) as salvage, target.writing() as connection:
            if any(counts(connection, [runs, *OF_TRIAL, artifacts]).values()):
                raise UserError(f"{target.url}: there are runs in it already; move to a new database")
            found = salvage.read(progress, partial(_insert, connection))
            if found.lost or found.lost_runs or found.damaged_pages:
                raise UserError(f"--db {source.url}: it is damaged; souk db check --repair first")
            known_lost = sql.select(artifacts.c.hash).where(artifacts.c.data == b"")
            names = set(salvage.connection.scalars(known_lost)) - set(found.unnamed)
            _note_lost_pages(connection, sorted(names))
            for table in (runners, plans, links, notes, archived):
                own = [dict(row) for row in salvage.connection.execute(sql.select(table)).mappings()]
                if own:
                    connection.execute(table.insert(), own)
            _compare(salvage.connection, connection, found)
    finally:
        target.close()
    return found


def _compare(old: sql.Connection, new: sql.Connection, found: SalvageFindings) -> None:
    """Raise UserError if a table of the copy has another number of rows than the old one."""
    tables = [runs, control, runners, plans, links, notes, archived, *OF_TRIAL, artifacts]
    wanted, there = counts(old, tables), counts(new, tables)
    wanted[artifacts.name] -= len(found.unnamed)
    if different := [name for name in wanted if wanted[name] != there[name]]:
        name = different[0]
        raise UserError(f"{name}: {there[name]:,} of {wanted[name]:,} rows were copied; nothing was moved")


def _remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
