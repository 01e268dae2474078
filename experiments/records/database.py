"""Open a database by its URL, lock it for writing, and let it be read as it was at one moment."""

import json
import os
import socket
import sqlite3
import time
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from experiments.records.errors import corrupt, unusable, without_password
from experiments.records.sqlite_file import GuardedFile
from interventions.errors import UserError

_LOCK: Final = 0x50_55_4B
"""The advisory lock that writers of one PostgreSQL database take in turn; any number would do."""

_NO_TEXT: Final = "database disk image is malformed: its names are no text"

_LASTING: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 40_000,
}
"""Seconds (the last: milliseconds) after which a server counts as gone whose network answers no more."""


def _log_ahead(connection: sqlite3.Connection, *, until: float) -> None:
    """Switch to write-ahead logging. Where several open a new file at once, SQLite itself does not wait."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


class Text(sql.types.TypeDecorator[str]):
    """Text of any length, without what a database refuses: NUL, and halves of characters."""

    impl = sql.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sql.Dialect) -> str | None:
        """Return the value as it goes into the database."""
        return None if value is None else clean(value)


def clean(text: str) -> str:
    """Return a text as it is stored: without NUL and halves of characters."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


def connect(url: str) -> Engine:
    """Return the engine of a database.

    The folder of a SQLite file is made.

    Raises:
        UserError: the URL is malformed, or its driver is not installed.
    """
    try:
        return _engine(make_url(url))
    except (ArgumentError, ValueError):
        raise UserError(
            f"--db {without_password(url)}: not a database URL; write sqlite:///FILE or "
            "postgresql://USER@HOST/NAME"
        ) from None
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise UserError(f"--db: {error}; install souk[postgres], or use sqlite:///FILE") from None
    except OSError as error:
        raise unusable(url, error) from None


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        if url.drivername == "postgresql":
            url = url.set(drivername="postgresql+psycopg")
        # A connection that a restarted server has closed is noticed before it is used.
        return _in_unicode(
            sql.create_engine(url, pool_pre_ping=True, connect_args={**_LASTING, "client_encoding": "utf8"})
        )
    if url.get_backend_name() != "sqlite":
        shown = without_password(url.render_as_string())
        raise UserError(
            f"--db {shown}: runs are kept in SQLite or PostgreSQL; "
            "write sqlite:///FILE or postgresql://USER@HOST/NAME"
        )
    path = sqlite_path(url)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
    seconds = float(str(url.query.get("timeout", 30)))
    engine = sql.create_engine(url, connect_args={"timeout": seconds}, json_deserializer=_from_json)

    @sql.event.listens_for(engine, "connect")
    def set_pragmas(connection: Any, _: object) -> None:
        # WAL: readers do not stop the writer, and a killed writer leaves a sound file behind.
        try:
            _log_ahead(connection, until=time.monotonic() + seconds)
        except UnicodeDecodeError as error:
            raise corrupt(_NO_TEXT) from error
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA cell_size_check=ON")

    @sql.event.listens_for(engine, "handle_error")
    def name_damage(context: sql.engine.ExceptionContext) -> None:
        # The driver cannot read a message of SQLite that quotes a damaged name.
        if isinstance(context.original_exception, UnicodeDecodeError):
            raise corrupt(_NO_TEXT)

    if path:
        _guard(engine, GuardedFile(path))
    return engine


def open_connections(engine: Engine) -> set[Any]:
    """Return the set of the driver's open connections to a server; it changes with them."""
    found: set[Any] = set()
    if engine.dialect.name == "postgresql":
        sql.event.listen(engine, "connect", lambda connection, _: found.add(connection))
        sql.event.listen(engine, "close", lambda connection, _: found.discard(connection))
    return found


def cut(connection: Any) -> None:
    """Shut down the socket of a connection to a server, while another thread waits for an answer."""
    with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as ours:
        ours.shutdown(socket.SHUT_RDWR)


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise corrupt(f"no JSON where JSON was stored: {error}") from None


def _guard(engine: Engine, file: GuardedFile) -> None:
    """Let each use of the file look first whether it is still there."""
    sql.event.listen(engine, "do_connect", lambda *_: file.check())
    sql.event.listen(engine, "connect", lambda *_: file.opened())
    sql.event.listen(engine, "checkout", lambda connection, *_: file.check(connection))


def in_its_place(url: str) -> str:
    """Return an empty database in memory for a SQLite file that does not exist: a look writes nothing."""
    path = file_of(url)
    return url if path is None or path.exists() else "sqlite://"


def file_of(url: str) -> Path | None:
    """Return the file of a SQLite database; None where it has none, or the URL is malformed."""
    try:
        return sqlite_path(make_url(url))
    except (ArgumentError, ValueError):  # which `connect` tells
        return None


def sqlite_path(url: URL) -> Path | None:
    """Return the file of a SQLite database; None where it has none, or the URL names a host."""
    if url.get_backend_name() != "sqlite" or url.host or url.database in (None, "", ":memory:"):
        return None
    return Path(str(url.database))


def _in_unicode(engine: Engine) -> Engine:
    """Let connections to a PostgreSQL database fail whose encoding cannot hold every character."""

    @sql.event.listens_for(engine, "connect")
    def check_encoding(connection: Any, _: object) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding not in ("UTF8", "SQL_ASCII"):  # the latter keeps any bytes, so UTF-8 too
            shown = without_password(engine.url.render_as_string())
            raise UserError(
                f"--db {shown}: its encoding {encoding} lacks characters of pages "
                "and answers; make a database with ENCODING 'UTF8' TEMPLATE template0"
            )

    return engine


def lock(connection: sql.Connection) -> None:
    """Let other writers wait until this transaction ends.

    What the transaction reads first stays true while it writes.
    """
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    elif connection.dialect.name == "postgresql":
        connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_LOCK)))


def forbid_writing(engine: Engine) -> None:
    """Let every connection that is opened from now on refuse to write."""
    statement = {
        "sqlite": "PRAGMA query_only=ON",
        "postgresql": "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY",
    }[engine.dialect.name]

    @sql.event.listens_for(engine, "connect")
    def refuse(connection: Any, _: object) -> None:
        with closing(connection.cursor()) as cursor:
            cursor.execute(statement)
        connection.commit()

    engine.dispose()


def hold(connection: sql.Connection) -> None:
    """Let everything that is read in this transaction be as it is now, whatever others write meanwhile."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN")
    elif connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def time_in(connection: sql.Connection) -> datetime:
    """Return the time by the clock that all who use the database share.

    This is the server's clock, or this machine's own.
    """
    if connection.dialect.name == "postgresql":
        told: datetime = connection.execute(sql.select(sql.func.clock_timestamp())).scalar_one()
        return told.astimezone(UTC)
    return datetime.now(UTC)
