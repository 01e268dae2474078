"""Guard the file of a SQLite database: against being moved in use, and against losing its `-wal` file."""

import threading
from pathlib import Path
from typing import Any

from experiments.records.errors import Unreadable
from interventions.errors import UserError


class GuardedFile:
    """The file of a database in use.

    Who moves or deletes it takes nothing away from a process that has it open: SQLite goes on writing to a
    file that nobody finds any more. So every use looks whether the file is still there, and saves what is
    stored to a new file beside it if not.
    """

    def __init__(self, path: Path) -> None:
        """Take the path.

        Raises:
            UserError: the file is missing, but its `-wal` file is there with trials in it.
        """
        self._path = path
        self._identity: tuple[int, int] | None = None
        self._rescued: Path | None = None
        self._lock = threading.Lock()
        wal = path.with_name(f"{path.name}-wal")
        if size_of(wal) and not size_of(path):
            # SQLite would make a new file, and throw the other one away.
            raise UserError(
                f"--db sqlite:///{path}: the file is missing, but {wal.name}, which belongs to it and holds "
                "stored trials, is there; move the file back beside it"
            )

    def opened(self) -> None:
        """Remember which file this is, once a connection has been opened."""
        if self._identity is None:
            self._identity = self._found()

    def check(self, connection: Any = None) -> None:
        """Save what is stored, through an open connection, if the file is not there any more.

        Raises:
            Unreadable: it is not there.
        """
        if self._identity in (None, self._found()):
            return
        gone = f"--db sqlite:///{self._path}: the file was moved or deleted while it was in use; "
        with self._lock:
            try:
                if connection is not None:
                    self._rescue(connection)
            except Exception as error:  # whatever it is, a full disk for example: it is the last chance
                raise Unreadable(f"{gone}what was stored could not be saved ({error})") from None
        raise Unreadable(
            f"{gone}everything stored is in {self._rescued}: move that to {self._path}, and the same command "
            "goes on"
            if self._rescued
            else f"{gone}move it back"
        )

    def _rescue(self, connection: Any) -> None:
        if self._rescued is None:
            self._rescued = free_name(self._path, "rescued")
        partial = self._rescued.with_name(f"{self._rescued.name}.partial")
        partial.unlink(missing_ok=True)
        connection.execute("VACUUM INTO ?", (str(partial),))
        partial.replace(self._rescued)

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


def free_name(path: Path, word: str) -> Path:
    """Return a name beside a file that no file has yet: `t.db.WORD`, `t.db.WORD-2` ..."""
    names = (f"{path.name}.{word}{number}" for number in ("", *(f"-{n}" for n in range(2, 1_000))))
    return next(found for name in names if not (found := path.with_name(name)).exists())


def size_of(path: Path) -> int:
    """Return the size of a file, in bytes; 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
