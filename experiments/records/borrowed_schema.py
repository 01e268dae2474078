"""Read a SQLite file whose first pages are lost, which say where its tables are, with those of an empty one.

Souk makes its tables always in the same order, so they begin at the same pages in each database: as they were
made, or as `souk db vacuum` has put them. Whether this is so here, the seals of the trials show.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from experiments.records.salvage import Salvage
from experiments.records.store import Records
from interventions.errors import UserError

_COUNTERS: Final = {24: 1, 32: 0, 36: 0, 92: 1}
"""Numbers in the head of a file, by their place: of changes, of the free pages, and of changes again."""
_PAGES_AT: Final = 28
"""The place of the number of pages."""


@contextmanager
def borrowed_schema(path: Path) -> Iterator[Salvage | None]:
    """Open a copy of a damaged file with the first pages of an empty one; None: no trial can be read so."""
    with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        for vacuumed in (False, True):
            copy = Path(folder, f"{vacuumed}.db")
            shutil.copyfile(path, copy)
            _replace_schema(copy, Path(folder, f"empty-{vacuumed}.db"), vacuumed)
            try:
                salvage = Salvage(f"sqlite:///{copy}")
            except UserError:
                continue
            with salvage:
                if salvage.read(lambda *_: None).trials:
                    yield salvage
                    return
        yield None


def _replace_schema(copy: Path, empty: Path, vacuumed: bool) -> None:
    Records(f"sqlite:///{empty}").close()
    with closing(sqlite3.connect(empty, isolation_level=None)) as connection:
        if vacuumed:
            connection.execute("VACUUM")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        roots = {root for (root,) in connection.execute("SELECT rootpage FROM sqlite_schema")}
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = empty.read_bytes()
    with copy.open("r+b") as file:
        # In an empty database all pages but the first ones of the tables belong to the schema.
        for number in set(range(len(data) // size)) - {root - 1 for root in roots}:
            file.seek(number * size)
            file.write(data[number * size : (number + 1) * size])
        for place, value in {**_COUNTERS, _PAGES_AT: copy.stat().st_size // size}.items():
            file.seek(place)
            file.write(value.to_bytes(4))
