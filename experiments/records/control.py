"""Control a run from another terminal, and let the processes that run it report.

Both go through the database, so that it does not matter where a process is. A process that runs trials of a
run gives signs of life, and claims each trial before it starts it: no other process starts that trial unless
the first one has ended or is gone.
"""

import os
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

import sqlalchemy as sql

from experiments.records.database import time_in
from experiments.records.errors import CHECK_IT, Unreadable
from experiments.records.record import Row
from experiments.records.seals import seal_run
from experiments.records.store import Records, now
from experiments.records.tables import claims, control, runners, strange_cell, trials
from interventions.errors import UserError

Wanted = Literal["running", "paused"]

BEAT: Final = 5
"""The seconds between two signs of life."""
LOST: Final = timedelta(seconds=30)
"""How long a process may give no sign of life before it counts as gone."""

Process = tuple[str, int]
"""A process by its host and number."""


def request_state(records: Records, run: str, wanted: Wanted) -> None:
    """Request that a run be running or paused; it obeys within a second or two."""
    with records.writing() as connection:
        _control(connection, run, wanted=wanted, updated_at=now())


def _control(connection: sql.Connection, run: str, **changes: Any) -> None:
    changed = sql.update(control).where(control.c.run == run)
    if not connection.execute(changed.values(changes)).rowcount:
        connection.execute(control.insert().values(run=run, wanted="running", wasted=0.0, updated_at=now()))
        connection.execute(changed.values(changes))
    seal_run(connection, run)


def requested_state(records: Records, run: str) -> Wanted:
    """Return the state that was requested of a run."""
    wanted = records.value(sql.select(control.c.wanted).where(control.c.run == run))
    return "paused" if wanted == "paused" else "running"


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The result of claiming trials; trials that are in neither set have ended."""

    own: frozenset[str]
    """The trials claimed for this process, which may start them."""
    others: Mapping[str, Process]
    """The trials claimed by another process that is not known to be gone."""


def _unset_clock() -> float:
    """A clock that nobody sets, in seconds; where the system has one, it counts while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


@dataclass(slots=True)
class Runner:
    """A process that runs a run, by its own account: this one by default."""

    run: str
    trials: int = 0
    """The number of trials that are wanted in all."""
    settled: int = 0
    """The number of trials that this process has ended and stored."""
    running: int = 0
    budget: float | None = None
    reason: str = ""
    """The reason why the process lets no further trial start."""
    started_at: str = field(default_factory=now)
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    _began: datetime = field(default_factory=lambda: datetime.now(UTC), init=False, repr=False)
    _clock: float = field(default_factory=_unset_clock, init=False, repr=False)
    """When this process began, by the database's clock and by one that nobody sets."""
    _signs: dict[Process, tuple[str, float]] = field(default_factory=dict, init=False, repr=False)
    """The last sign of life of other processes, and when this one first read it (its own clock, seconds)."""

    def begin(self, records: Records) -> list[Row]:
        """Give the first sign of life; return the other living processes of the run.

        Of two processes that begin at the same time, one is told of the other.
        """
        with records.writing() as connection:
            self._began, self._clock = time_in(connection), _unset_clock()
            self.started_at = self._began.isoformat(timespec="seconds")
            # What an earlier process of this number had claimed is nobody's: it ran on this machine.
            connection.execute(claims.delete().where(*self._is_mine(claims)))
            self._say(connection)
            others = [row for row in _rows(connection, self.run) if (row["host"], row["pid"]) != self._name]
            return [row for row in others if row["alive"]]

    def beat(self, records: Records) -> None:
        """Give a sign of life."""
        with records.writing() as connection:
            self._say(connection)

    def end(self, records: Records) -> None:
        """Give the last sign of life.

        Trials that were claimed and have not ended are free for other processes.
        """
        with records.writing() as connection:
            connection.execute(claims.delete().where(*self._is_mine(claims)))
            self._say(connection, ended=True)

    def claim(self, records: Records, wanted: Sequence[str]) -> ClaimResult:
        """Claim trials for this process, except those that have ended or that another process has claimed."""
        stored = sql.select(trials.c.trial).where(
            trials.c.run == self.run, trials.c.trial.in_(wanted), trials.c.outcome != "infra_error"
        )
        taken = sql.select(claims).where(claims.c.run == self.run, claims.c.trial.in_(wanted))
        with records.writing() as connection:
            ended = set(connection.scalars(stored))
            found = {row.trial: (row.host, row.pid) for row in connection.execute(taken)}
            processes = set(found.values()) - {self._name}
            living = {process for process in processes if not self._gone(connection, process)}
            others = {trial: name for trial, name in found.items() if name in living and trial not in ended}
            own = [trial for trial in wanted if trial not in ended and trial not in others]
            if found.keys() & set(own):
                connection.execute(claims.delete().where(claims.c.run == self.run, claims.c.trial.in_(own)))
            if own:
                key = {"run": self.run, "host": self.host, "pid": self.pid}
                connection.execute(claims.insert(), [{**key, "trial": trial} for trial in own])
        return ClaimResult(frozenset(own), others)

    def release(self, records: Records, trial: str) -> None:
        """Give up a claimed trial, so that another process can claim it."""
        with records.writing() as connection:
            connection.execute(claims.delete().where(claims.c.trial == trial, *self._is_mine(claims)))

    @property
    def _name(self) -> Process:
        return self.host, self.pid

    def _is_mine(self, table: sql.Table) -> tuple[sql.ColumnElement[bool], ...]:
        return table.c.run == self.run, table.c.host == self.host, table.c.pid == self.pid

    def _say(self, connection: sql.Connection, *, ended: bool = False) -> None:
        passed = timedelta(seconds=_unset_clock() - self._clock)
        time_now = (self._began + passed).isoformat(timespec="seconds")
        said = {
            "seen_at": time_now,
            "ended_at": time_now if ended else None,
            "started_at": self.started_at,
            "trials": self.trials,
            "settled": self.settled,
            "running": self.running,
            "budget": self.budget,
            "reason": self.reason,
        }
        if not connection.execute(runners.update().where(*self._is_mine(runners)).values(said)).rowcount:
            for row in _rows(connection, self.run):
                if not row["alive"]:
                    gone = (runners.c.host == row["host"]) & (runners.c.pid == row["pid"])
                    connection.execute(runners.delete().where(runners.c.run == self.run, gone))
            own = {"run": self.run, "host": self.host, "pid": self.pid}
            connection.execute(runners.insert().values({**own, **said}))

    def _gone(self, connection: sql.Connection, process: Process) -> bool:
        """Whether another process will not store what it has claimed.

        One that cannot be looked up here is gone when its sign of life has not changed for `LOST` by the
        clock of this process. The clocks of two machines are not compared: where they differ, or where a
        machine has slept, a trial would be run twice.
        """
        host, pid = process
        row = sql.select(runners.c.seen_at, runners.c.ended_at).where(
            runners.c.run == self.run, runners.c.host == host, runners.c.pid == pid
        )
        said = connection.execute(row).one_or_none()
        if (said and said.ended_at) or not _may_exist(host, pid):
            return True
        sign, clock = said.seen_at if said else "", time.monotonic()
        last_sign, since = self._signs.setdefault(process, (sign, clock))
        if sign != last_sign:
            self._signs[process] = sign, clock
            return False
        return clock - since > LOST.total_seconds()


def runners_of(records: Records, run: str) -> list[Row]:
    """Return the processes that run a run, or those that ran it last; with `alive`.

    Raises:
        Unreadable: the database is away, or what it says of a process makes no sense.
    """
    with records.reading() as connection:
        found = _rows(connection, run)
    for row in found:
        if strange := _strange(row):
            raise Unreadable(f"--db {records.url}: {strange}; {CHECK_IT}, and the next souk run removes it")
    return found


def is_reported(records: Records, run: str) -> bool:
    """Return whether a process has reported the run, and its report makes sense."""
    with records.reading() as connection:
        return any(not _strange(row) for row in _rows(connection, run))


def _at_work(records: Records, run: str | None = None) -> str:
    """Name the processes at work on a run, or on any; empty: there are none."""
    with records.reading() as connection:
        of_runs = [run] if run else list(connection.scalars(sql.select(runners.c.run).distinct()))
        rows = [row for each in of_runs for row in _rows(connection, each) if row["alive"]]
    return ", ".join(named((row["host"], row["pid"])) for row in rows)


def refuse_at_work(records: Records, run: str | None = None) -> None:
    """Raise UserError where a process is at work on a run, or on any."""
    if busy := _at_work(records, run):
        where, on = (run, " on it") if run else (f"--db {records.url}", "")
        raise UserError(f"{where}: {busy} is at work{on}; stop it first, with Ctrl-C or kill")


def named(process: Process) -> str:
    """Describe a process for people, by host and number."""
    host, pid = process
    return f"process {pid} on {host}"


def _rows(connection: sql.Connection, run: str) -> list[Row]:
    query = sql.select(runners).where(runners.c.run == run).order_by(runners.c.started_at, runners.c.pid)
    found, time_now = [dict(row) for row in connection.execute(query).mappings()], time_in(connection)
    return [{**row, "alive": _is_alive(row, time_now)} for row in found]


def _is_alive(row: Row, time_now: datetime) -> bool:
    """Whether a process has neither ended nor, as far as can be known, been killed."""
    if row["ended_at"] or _strange(row) or not _may_exist(row["host"], row["pid"]):
        return False
    silent = time_now - datetime.fromisoformat(row["seen_at"])
    # The date may have been set anew meanwhile; that the process runs on this machine outweighs it.
    return silent <= LOST or _runs_here(row["host"], row["pid"])


def _runs_here(host: str, pid: int) -> bool:
    """Whether this process is surely one of Souk's on this machine, and has not been stopped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    souk = b"souk" in command or b"experiments." in command
    return host == socket.gethostname() and souk and state.split()[0] in ("R", "S", "D")


def _strange(row: Row) -> str:
    """What is wrong with a row of `runners`; empty: nothing."""
    row = {name: value for name, value in row.items() if name != "alive"}
    if strange := strange_cell(runners, row):
        return strange
    for name in ("started_at", "seen_at", "ended_at"):
        try:
            if row[name] and datetime.fromisoformat(row[name]).tzinfo is None:
                raise ValueError
        except ValueError:
            return f"runners.{name} is {row[name][:40]!r}, which is no time"
    return ""


def _may_exist(host: str, pid: int) -> bool:
    """Whether there is such a process, as far as this machine can tell."""
    if host == socket.gethostname():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
    return True
