"""What a run is told from another terminal, and what the process that runs it says of itself.

Both go through the database, so that it does not matter where the process is.
"""

import os
import socket
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import sqlalchemy as sql

from experiments.records import Records, Row, now
from experiments.tables import control, runners

Wanted = Literal["running", "paused"]

BEAT: Final = 5
"""Seconds between two signs of life."""
LOST: Final = timedelta(seconds=30)
"""A process without a sign of life for so long counts as gone."""


def tell(records: Records, run: str, wanted: Wanted) -> None:
    """Say what a run shall do; it obeys within a second or two."""
    with records.writing() as connection:
        _control(connection, run, wanted=wanted, updated_at=now())


def _control(connection: sql.Connection, run: str, **changes: Any) -> None:
    changed = sql.update(control).where(control.c.run == run)
    if not connection.execute(changed.values(changes)).rowcount:
        connection.execute(control.insert().values(run=run, wanted="running", wasted=0.0, updated_at=now()))
        connection.execute(changed.values(changes))


def told(records: Records, run: str) -> Wanted:
    """What a run shall do."""
    with records.engine.connect() as connection:
        wanted = connection.scalar(sql.select(control.c.wanted).where(control.c.run == run))
    return "paused" if wanted == "paused" else "running"


@dataclass(slots=True)
class Runner:
    """A process that runs a run: this one, as it says."""

    run: str
    trials: int = 0
    """Wanted in all."""
    settled: int = 0
    """Ended and stored by this process."""
    running: int = 0
    budget: float | None = None
    reason: str = ""
    """Why it lets no further trial start."""
    started_at: str = field(default_factory=now)

    def beat(self, records: Records, *, ended: bool = False) -> None:
        """Give a sign of life, the first or the last one included."""
        said = {
            "seen_at": now(),
            "ended_at": now() if ended else None,
            "started_at": self.started_at,
            "trials": self.trials,
            "settled": self.settled,
            "running": self.running,
            "budget": self.budget,
            "reason": self.reason,
        }
        own = {"run": self.run, "host": socket.gethostname(), "pid": os.getpid()}
        mine = sql.and_(*(runners.c[name] == value for name, value in own.items()))
        with records.writing() as connection:
            if not connection.execute(runners.update().where(mine).values(said)).rowcount:
                for row in _rows(connection, self.run):
                    if not is_alive(row):
                        gone = (runners.c.host == row["host"]) & (runners.c.pid == row["pid"])
                        connection.execute(runners.delete().where(runners.c.run == self.run, gone))
                connection.execute(runners.insert().values({**own, **said}))


def runners_of(records: Records, run: str) -> list[Row]:
    """The processes that run a run, or those that ran it last; with `alive`."""
    with records.engine.connect() as connection:
        return [{**row, "alive": is_alive(row)} for row in _rows(connection, run)]


def is_alive(row: Row) -> bool:
    """Whether a process has neither ended nor, as far as can be known, been killed."""
    if row["ended_at"] or datetime.now(UTC) - datetime.fromisoformat(row["seen_at"]) > LOST:
        return False
    if row["host"] == socket.gethostname():
        try:
            os.kill(row["pid"], 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
    return True


def _rows(connection: sql.Connection, run: str) -> list[Row]:
    query = sql.select(runners).where(runners.c.run == run).order_by(runners.c.started_at, runners.c.pid)
    return [dict(row) for row in connection.execute(query).mappings()]
