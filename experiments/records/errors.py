"""Tell failures of a database that pass from those that do not, each in one line."""

import re
import sqlite3
from collections.abc import Sequence
from typing import Final

import sqlalchemy as sql
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from interventions.errors import UserError

_PASSING: Final = re.compile(r"08|40001|40P01|53300|55P03|57P0")
"""SQLSTATE of PostgreSQL: connection lost, serialisation, deadlock, too many clients, lock, shutting down."""

_FULL: Final = re.compile(r"53100|53200|58030")
"""SQLSTATE of PostgreSQL: disk full, out of memory, input/output error."""

_DAMAGED: Final = re.compile(r"XX00[012]|42P01|42703")
"""SQLSTATE of PostgreSQL: damaged pages, damaged indices, a table or a column that is not there."""

CHECK_IT: Final = "souk db check says what is lost and what is not"


class Unreadable(UserError):
    """A database that does not say what is asked: it is away, damaged, or not there any more."""


DatabaseFailure: Final = (SQLAlchemyError, Unreadable)
"""The errors that a database raises, for other rooms that go on without it."""


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


def is_lost(error: BaseException) -> bool:
    """Return whether a failure of a database does not pass by itself."""
    return not is_away(error.__cause__ if isinstance(error, Unreadable) and error.__cause__ else error)


def is_full(error: BaseException) -> bool:
    """Return whether nothing can be written any more.

    Then the disk is full or broken, or the file may not be written.
    """
    if not isinstance(error, DBAPIError):
        return isinstance(error, OSError)
    if name := getattr(error.orig, "sqlite_errorname", ""):
        return name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN"))
    return bool(_FULL.match(getattr(error.orig, "sqlstate", None) or ""))


def _has_no_room(error: BaseException) -> bool:
    original = getattr(error, "orig", None)
    name, state = getattr(original, "sqlite_errorname", ""), getattr(original, "sqlstate", None)
    return name.startswith(("SQLITE_FULL", "SQLITE_IOERR")) or state == "53100"


def is_damaged(error: BaseException) -> bool:
    """Return whether the database holds something else than what Souk has written."""
    if not isinstance(error, DBAPIError):
        return False
    if name := getattr(error.orig, "sqlite_errorname", ""):
        missing = name == "SQLITE_ERROR" and "no such" in str(error.orig)
        return missing or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
    state = getattr(error.orig, "sqlstate", None) or ""
    return bool(_DAMAGED.match(state)) or "decode" in str(error.orig)


def corrupt(message: str) -> DBAPIError:
    """Return the error of a database that holds what it cannot hold, where the driver has none."""
    original = sqlite3.DatabaseError(message)
    original.sqlite_errorname = "SQLITE_CORRUPT"
    return sql.exc.DatabaseError(None, None, original)


def cause(error: BaseException) -> str:
    """Return the database's message in one line."""
    said = str(getattr(error, "orig", None) or error).split("\n", 1)[0]
    return f"its disk is full or broken ({said})" if _has_no_room(error) else said


def unusable(url: str, error: SQLAlchemyError | OSError) -> UserError:
    """Return the user's error for a database that cannot be used."""
    advice = "make room there" if _has_no_room(error) else "check that it exists and can be written"
    return UserError(f"--db {without_password(url)}: {cause(error)}; {advice}")


def unreadable(url: str, error: BaseException) -> "Unreadable":
    """Return the user's error for a database that does not say what is asked."""
    if is_damaged(error):
        return Unreadable(f"--db {without_password(url)}: {cause(error)}; {CHECK_IT}")
    return Unreadable(f"--db {without_password(url)}: {cause(error)}; what is stored stays: try again later")


def other_version(url: str, version: int) -> UserError:
    """Return the user's error for a database whose tables are not those of this version of Souk."""
    return UserError(
        f"--db {without_password(url)}: written by another version of Souk (schema {version}); use a new file"
    )


def not_ours(url: str, names: Sequence[str]) -> UserError:
    """Return the user's error for a database with triggers, views or rules that Souk has not made."""
    return UserError(
        f"--db {without_password(url)}: {', '.join(names[:3])} is not Souk's, and may change what is stored; "
        "drop it, or use a new database"
    )


def told(error: BaseException) -> str:
    """Return the line for an error that a database has raised; empty for any other error."""
    if not isinstance(error, SQLAlchemyError):
        return ""
    url = next(iter(getattr(error, "__notes__", [])), "the database")
    return f"{url}: {cause(error)}; what was stored before stays, and {CHECK_IT}"


def without_password(url: str) -> str:
    """Return a database URL, well formed or not, in a form that may be shown."""
    url = re.sub(r"(//[^:/@]*):.*@", r"\1:***@", url)
    return re.sub(r"(password=)[^&]*", r"\1***", url)
