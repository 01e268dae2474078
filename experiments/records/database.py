"""Open a database by its URL, lock it for writing, and tell failures that pass from those that do not."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from interventions.errors import UserError

_LOCK: Final = 0x50_55_4B
"""The advisory lock that writers of one PostgreSQL database take in turn; any number would do."""

_PASSING: Final = re.compile(r"08|40001|40P01|53300|55P03|57P0")
"""SQLSTATE of PostgreSQL: connection lost, serialisation, deadlock, too many clients, lock, shutting down."""

_FULL: Final = re.compile(r"53100|53200|58030")
"""SQLSTATE of PostgreSQL: disk full, out of memory, input/output error."""


DatabaseFailure = SQLAlchemyError
"""The errors that a database raises, for other rooms that go on without it."""


class Text(sql.types.TypeDecorator[str]):
    """Text of any length, without what a database refuses: NUL, and halves of characters."""

    impl = sql.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sql.Dialect) -> str | None:
        """Return the value as it goes into the database."""
        if value is None or (value.isascii() and "\0" not in value):
            return value
        return value.replace("\0", "\ufffd").encode(errors="replace").decode()


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
            sql.create_engine(
                url, pool_pre_ping=True, connect_args={"connect_timeout": 10, "client_encoding": "utf8"}
            )
        )
    if url.get_backend_name() != "sqlite":
        shown = without_password(url.render_as_string())
        raise UserError(
            f"--db {shown}: runs are kept in SQLite or PostgreSQL; "
            "write sqlite:///FILE or postgresql://USER@HOST/NAME"
        )
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = sql.create_engine(url, connect_args={"timeout": float(str(url.query.get("timeout", 30)))})

    @sql.event.listens_for(engine, "connect")
    def set_pragmas(connection: Any, _: object) -> None:
        # WAL: readers do not stop the writer, and a killed writer leaves a sound file behind.
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    return engine


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


def time_in(connection: sql.Connection) -> datetime:
    """Return the time by the clock that all who use the database share.

    This is the server's clock, or this machine's own.
    """
    if connection.dialect.name == "postgresql":
        told: datetime = connection.execute(sql.select(sql.func.clock_timestamp())).scalar_one()
        return told.astimezone(UTC)
    return datetime.now(UTC)


def is_away(error: BaseException) -> bool:
    """Return whether the database is locked or cannot be reached, so that another try may succeed later."""
    if not isinstance(error, DBAPIError):
        return False
    if error.connection_invalidated:
        return True
    if name := getattr(error.orig, "sqlite_errorname", ""):
        return name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
    if isinstance(error, sql.exc.OperationalError | sql.exc.InterfaceError):
        # psycopg gives no code to what the server had no chance to say.
        state = getattr(error.orig, "sqlstate", "")
        return state is None or bool(_PASSING.match(state))
    return False


def is_full(error: BaseException) -> bool:
    """Return whether nothing can be written any more.

    Then the disk is full or broken, or the file may not be written.
    """
    if not isinstance(error, DBAPIError):
        return isinstance(error, OSError)
    if name := getattr(error.orig, "sqlite_errorname", ""):
        return name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN"))
    return bool(_FULL.match(getattr(error.orig, "sqlstate", None) or ""))


def cause(error: BaseException) -> str:
    """Return the database's message in one line."""
    return str(getattr(error, "orig", None) or error).split("\n", 1)[0]


def unusable(url: str, error: SQLAlchemyError | OSError) -> UserError:
    """Return the user's error for a database that cannot be used."""
    return UserError(f"--db {without_password(url)}: {cause(error)}; check that it exists and can be written")


def without_password(url: str) -> str:
    """Return a database URL, well formed or not, in a form that may be shown."""
    url = re.sub(r"(//[^:/@]*):.*@", r"\1:***@", url)
    return re.sub(r"(password=)[^&]*", r"\1***", url)
