"""Delete a stored run: all its rows, and the pages that no other run holds."""

import re
from typing import Final

import sqlalchemy as sql
import zstandard

from experiments.records.control import at_work
from experiments.records.store import Records
from experiments.records.tables import artifacts, metadata, plans, steps, trials
from interventions.errors import UserError

_AT_ONCE: Final = 500
"""The number of artifacts in one statement; databases limit the number of values."""


def delete_run(records: Records, run: str) -> int:
    """Delete a run, all or nothing; return the number of artifacts that were deleted with it.

    Artifacts are pages and screenshots. A registered plan stays, with the number of trials that were deleted.

    Raises:
        UserError: a process is at work on the run.
    """
    with records.writing() as connection:
        if processes := at_work(records, run):
            raise UserError(f"{run}: {processes} is at work on it; stop it first, with Ctrl-C or kill")
        held = _held(connection, run)
        number = connection.scalar(sql.select(sql.func.count()).where(trials.c.run == run)) or 0
        discarded = plans.update().where(plans.c.run == run)
        connection.execute(discarded.values(discarded=plans.c.discarded + number))
        for table in metadata.sorted_tables:
            if "run" in table.c and table is not plans:
                connection.execute(table.delete().where(table.c.run == run))
        for start in range(0, len(held), _AT_ONCE):
            names = held[start : start + _AT_ONCE]
            connection.execute(artifacts.delete().where(artifacts.c.hash.in_(names)))
    return len(held)


def _held(connection: sql.Connection, run: str) -> list[str]:
    """The artifacts that only this run holds: its pages, and the screenshots that they name."""
    elsewhere = steps.alias()
    pages = (
        sql.select(artifacts.c.hash, artifacts.c.data)
        .where(artifacts.c.hash.in_(sql.select(steps.c.observation).where(steps.c.run == run)))
        .where(~sql.exists().where(elsewhere.c.observation == artifacts.c.hash, elsewhere.c.run != run))
    )
    unpack = zstandard.ZstdDecompressor()
    found = []
    for name, data in connection.execute(pages):
        found.append(name)
        found += re.findall(r"\n<!-- screenshot ([0-9a-f]+) -->\Z", unpack.decompress(data).decode())
    return found
