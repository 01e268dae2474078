"""The kinds of faults, each done to a run at a moment that the laboratory chooses."""

import resource
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import pandas as pd
import sqlalchemy as sql

from tests.experiments.command_line import forked_souk
from tests.lab.faults import clock
from tests.lab.faults.model_server import Way
from tests.lab.faults.world import World, tracebacks

LONG_SECONDS: Final = 17.0
"""Longer than a trial may take."""
SHORT_SECONDS: Final = 2.0
DAY_SECONDS: Final = 86_400

PARTS: Final = ("command", "worker", "browser", "renderer", "Playwright", "shop")
OF_PAGES: Final = frozenset({"browser", "renderer", "GPU process", "network service", "Playwright", "shop"})

Fault = Callable[[World, Random], bool]
"""A function that does the fault, and returns whether there was anything to do it to."""


@dataclass(frozen=True)
class Kind:
    """A kind of fault. `only`: the names of what has to be in a schedule for it to come."""

    do: Fault
    only: tuple[str, ...] = ()

    def may_come(self, present: Iterable[str]) -> bool:
        """Return whether it can come in a run with all that is `present`."""
        return set(self.only) <= set(present)


def kill(part: str, world: World, rng: Random) -> bool:
    """End a process as the kernel does when memory runs out."""
    if found := world.wait_for(part):
        world.send(rng.choice(found), signal.SIGKILL)
    return bool(found)


def stop(part: str, seconds: float | None, world: World, rng: Random) -> bool:
    """Let a process stand still, for so long or for ever."""
    if found := world.wait_for(part):
        process = rng.choice(found)
        world.send(process, signal.SIGSTOP)
        if seconds is not None:
            _wait(world, seconds)
            world.send(process, signal.SIGCONT)
    return bool(found)


def stop_everything(world: World, rng: Random) -> bool:
    """As Ctrl-Z and `fg`, or a machine that sleeps."""
    processes = [process for part in PARTS for process in world.find(part)]
    for process in processes:
        world.send(process, signal.SIGSTOP)
    time.sleep(rng.uniform(1, LONG_SECONDS))
    for process in reversed(processes):
        world.send(process, signal.SIGCONT)
    return bool(processes)


def without_descriptors(part: str, world: World, rng: Random) -> bool:
    """A process can open no file and no connection for a while."""
    found = world.wait_for(part)
    if found:
        process = rng.choice(found)
        with suppress(ProcessLookupError, FileNotFoundError):
            most = max(int(each.name) for each in Path(f"/proc/{process}/fd").iterdir()) + 1
            _limited(world, process, resource.RLIMIT_NOFILE, most)
    return bool(found)


def full_disk(world: World, _: Random) -> bool:
    """The command's files cannot grow for a while, as on a full disk or beyond a quota."""
    found = world.find("command")
    for process in found:
        with suppress(ProcessLookupError):
            _limited(world, process, resource.RLIMIT_FSIZE, 4096)
    return bool(found)


def _limited(world: World, process: int, what: int, most: int) -> None:
    before = resource.prlimit(process, what)
    resource.prlimit(process, what, (most, before[1]))
    _wait(world, SHORT_SECONDS)
    resource.prlimit(process, what, before)


def interrupt(number: signal.Signals, times: int, world: World, rng: Random) -> bool:
    """Ask the command to end."""
    found = world.find("command")
    for _ in range(times):
        for process in found:
            world.send(process, number)
        time.sleep(rng.uniform(0, 0.2))
    return bool(found)


def second_command(world: World, _: Random) -> bool:
    """Give the same command in another terminal."""
    world.others.append(world.begin(f"beside-{len(world.others)}"))
    return True


def pause(world: World, rng: Random) -> bool:
    """Pause the run, and let it go on."""
    folder = world.new_folder("pause")
    forked_souk("pause", "--db", world.db, cwd=folder)
    time.sleep(rng.uniform(0, 2))
    forked_souk("resume", "--db", world.db, cwd=folder)
    return True


def look(world: World, _: Random) -> bool:
    """Export, check and watch the run while it goes on: what is exported has to be whole trials."""
    folder = world.new_folder("look")
    for arguments in (("status",), ("export", "--out", "t.csv"), ("db", "check")):
        ended = forked_souk(*arguments, "--db", world.db, cwd=folder)
        if ended.status not in (0, 2) or tracebacks(ended.err):
            world.complaints.append(
                f"souk {arguments[0]} meanwhile: {ended.status}: {ended.err.strip()[-300:]}"
            )
    if (folder / "t.csv").exists():
        rows = pd.read_csv(folder / "t.csv").groupby("trial").size()
        sets = pd.Series([row[0] for row in world.calm["options"]]).value_counts()
        if not rows.eq(sets.reindex(rows.index)).all():
            world.complaints.append("a table that was exported meanwhile has parts of trials")
    return True


def jump(seconds: tuple[int, ...], world: World, rng: Random) -> bool:
    """The date jumps, and after a while it is right again."""
    if not clock.can_jump():
        return False
    clock.jump(world.clock, rng.choice(seconds))
    _wait(world, rng.uniform(1, 5))
    clock.jump(world.clock, 0)
    return True


def model_fails(way: Way, world: World, rng: Random) -> bool:
    """The model's server fails in this way, for less time than its callers try again."""
    if world.model is None:
        return False
    with world.model.failing(way):
        _wait(world, rng.uniform(0.5, 3))
    return True


def lock(world: World, rng: Random) -> bool:
    """Another program writes to the file for some seconds."""
    with suppress(sqlite3.OperationalError), sqlite3.connect(world.file) as held:
        held.execute("BEGIN IMMEDIATE")
        time.sleep(rng.uniform(0.5, 5))
        held.rollback()
    return True


def reader_stays(world: World, _: Random) -> bool:
    """Another program reads the file, and does not end its transaction for some seconds."""

    def read() -> None:
        with suppress(sqlite3.OperationalError), sqlite3.connect(world.file) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
            time.sleep(5)

    threading.Thread(target=read).start()
    return True


def cut_connections(world: World, _: Random) -> bool:
    """The server ends all connections to the database."""
    engine = sql.create_engine(world.db, isolation_level="AUTOCOMMIT", poolclass=sql.NullPool)
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
    with suppress(sql.exc.DBAPIError), engine.connect() as connection:
        connection.execute(sql.text(others + "AND pid != pg_backend_pid()"))
    engine.dispose()
    return True


def server_away(world: World, rng: Random) -> bool:
    """PostgreSQL loses its power and is started again."""
    assert world.server is not None
    world.server.stop()
    time.sleep(rng.uniform(0, 5))
    world.server.start()
    return True


def server_stands_still(world: World, rng: Random) -> bool:
    """All processes of PostgreSQL are stopped for a while."""
    assert world.server is not None
    with world.server.standing_still():
        _wait(world, rng.choice((SHORT_SECONDS, 2 * LONG_SECONDS)))
    return True


def _wait(world: World, seconds: float) -> None:
    """Until the time has passed, or the command has ended."""
    if world.process is not None:
        world.process.join(seconds)


def _of(part: str, do: Fault) -> Kind:
    """A fault of a part of the run, which only some runs have."""
    return Kind(do, ("pages",) if part in OF_PAGES else ("workers",) if part == "worker" else ())


def _parts(name: str, do: Callable[..., bool], parts: Iterable[str], *more: object) -> dict[str, Kind]:
    return {f"{name}: {part}": _of(part, partial(do, part, *more)) for part in parts}


KINDS: Final[dict[str, Kind]] = {
    **_parts("kill", kill, (*PARTS, "GPU process", "network service")),
    **_parts("stop for 2 s", stop, PARTS, SHORT_SECONDS),
    **_parts("stop for 17 s", stop, PARTS, LONG_SECONDS),
    **_parts("stop for ever", stop, PARTS[1:], None),
    **_parts("no more descriptors", without_descriptors, ("command", "worker", "browser", "shop")),
    "stop everything for a while": Kind(stop_everything),
    "Ctrl-C": Kind(partial(interrupt, signal.SIGINT, 1)),
    "Ctrl-C twice": Kind(partial(interrupt, signal.SIGINT, 2)),
    "SIGTERM": Kind(partial(interrupt, signal.SIGTERM, 1)),
    "a second command": Kind(second_command),
    "pause and resume": Kind(pause),
    "status, export and check meanwhile": Kind(look),
    "the date jumps by hours": Kind(partial(jump, (-7_200, -3_600, 3_600, 7_200))),
    "the date jumps by years": Kind(
        partial(jump, (-9_000 * DAY_SECONDS, -400 * DAY_SECONDS, 3_650 * DAY_SECONDS))
    ),
    **{
        f"the model's server {way}": Kind(partial(model_fails, way), ("text",))
        for way in ("refuses", "is overloaded", "sends garbage", "cuts its answers", "does not answer")
    },
    "files cannot grow": Kind(full_disk, ("sqlite",)),
    "the database is locked": Kind(lock, ("sqlite",)),
    "a reader stays in the database": Kind(reader_stays, ("sqlite",)),
    "the database's connections are cut": Kind(cut_connections, ("postgresql",)),
    "the database's server is restarted": Kind(server_away, ("postgresql",)),
    "the database's server stands still": Kind(server_stands_still, ("postgresql",)),
}
