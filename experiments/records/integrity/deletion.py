"""Delete a stored run: all its rows, and the pages that no other run holds."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import sqlalchemy as sql

from experiments.records.chain import link_again
from experiments.records.control import refuse_at_work
from experiments.records.integrity.salvage import SENT
from experiments.records.packing import DEEPEST, HEAD, Unpacker, base_of
from experiments.records.record import screenshot_of
from experiments.records.seals import seal_trial
from experiments.records.store import Records
from experiments.records.tables import OF_TRIAL, artifacts, metadata, plans, sent_pages, steps, trials

_AT_ONCE: Final = 500
"""The number of artifacts in one statement; databases limit the number of values."""


def delete_run(records: Records, run: str) -> int:
    """Delete a run, all or nothing; return the number of artifacts that were deleted with it.

    Artifacts are pages and screenshots. A registered plan stays, with the number of trials that were deleted.

    Raises:
        UserError: a process is at work on the run.
    """
    with records.writing() as connection:
        refuse_at_work(records, run)
        held = sorted(_held(connection, lambda table: table.c.run == run))
        number = connection.scalar(sql.select(sql.func.count()).where(trials.c.run == run)) or 0
        discarded = plans.update().where(plans.c.run == run)
        connection.execute(discarded.values(discarded=plans.c.discarded + number))
        for table in metadata.sorted_tables:
            if "run" in table.c and table is not plans:
                connection.execute(table.delete().where(table.c.run == run))
        _delete_artifacts(connection, held)
    return len(held)


def withdraw(records: Records, run: str, names: Sequence[str]) -> None:
    """Leave of trials nothing but their places in the design, with the outcome `withdrawn`; all or none.

    What the chain of the run says of them stays, and a link says that they were withdrawn.
    """
    with records.writing() as connection:
        held = _held(connection, lambda table: (table.c.run == run) & table.c.trial.in_(names))
        for table in OF_TRIAL:
            if table is not trials:
                connection.execute(table.delete().where(table.c.run == run, table.c.trial.in_(names)))
        blank = {"outcome": "withdrawn", "choice": None, "reason": "", "started_at": "", "seconds": 0.0}
        blank |= {"steps": 0, "tokens_in": 0, "tokens_out": 0, "cost": None}
        connection.execute(
            trials.update().where(trials.c.run == run, trials.c.trial.in_(names)).values(blank)
        )
        _delete_artifacts(connection, sorted(held))
        for name in names:
            seal_trial(connection, run, name)
            link_again(connection, run, name, "withdrawn")


def _delete_artifacts(connection: sql.Connection, held: Sequence[str]) -> None:
    for start in range(0, len(held), _AT_ONCE):
        names = held[start : start + _AT_ONCE]
        connection.execute(artifacts.delete().where(artifacts.c.hash.in_(names)))


def _held(
    connection: sql.Connection, is_own: Callable[[sql.FromClause], sql.ColumnElement[bool]]
) -> set[str]:
    """The artifacts that only these trials hold: pages, the screenshots that they name, and their bases."""
    columns = (steps.c.observation, *(sent_pages.c[name] for name in SENT))
    own = sql.union(*(sql.select(each).where(is_own(each.table)) for each in columns))
    others = sql.union(*(sql.select(each).where(~is_own(each.table)) for each in columns))
    alone = sql.select(own.subquery()).except_(sql.select(others.subquery()))
    query = sql.select(artifacts.c.hash, artifacts.c.data).where(artifacts.c.hash.in_(alone))
    held = set[str]()
    unpacker = Unpacker(lambda name: _data(connection, name))
    for name, data in connection.execute(query).all():
        held |= {name, screenshot_of(unpacker.text(name, data) or "")} - {""}
    base = _bases(connection)
    if more := {each for name in held for each in _chain(name, base)} - held:
        held |= more - set(connection.scalars(sql.select(others.subquery())))
    for name in base.keys() - held:
        held.difference_update(_chain(name, base))
    return held


def _bases(connection: sql.Connection) -> dict[str, str]:
    """By name, the bases of the artifacts that have one."""
    head = sql.func.substr(artifacts.c.data, 1, HEAD, type_=sql.LargeBinary)
    depth = sql.func.substr(artifacts.c.data, 1, 1, type_=sql.LargeBinary)
    packed = sql.select(artifacts.c.hash, head).where(depth.in_([bytes([n + 1]) for n in range(DEEPEST)]))
    return {name: base_of(data) for name, data in connection.execute(packed)}


def _chain(name: str, base: Mapping[str, str]) -> Iterator[str]:
    """The bases of an artifact, the nearest first."""
    for _ in range(DEEPEST):
        if not (name := base.get(name, "")):
            return
        yield name


def _data(connection: sql.Connection, name: str) -> bytes | None:
    return connection.scalar(sql.select(artifacts.c.data).where(artifacts.c.hash == name))
