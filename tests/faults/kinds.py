"""The kinds of faults, each done to a run at a moment that the laboratory chooses."""

import signal
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random
from typing import Final

import sqlalchemy as sql

from tests.experiments.command_line import forked_souk
from tests.faults.world import World

LONG_SECONDS: Final = 17.0
"""Longer than a trial may take."""
SHORT_SECONDS: Final = 2.0

PARTS: Final = ("command", "worker", "browser", "renderer", "Playwright", "shop")

Fault = Callable[[World, Random], None]


def kill(part: str, world: World, rng: Random) -> None:
    """End a process as the kernel does when memory runs out."""
    if found := world.find(part):
        world.send(rng.choice(found), signal.SIGKILL)


def stop(part: str, seconds: float | None, world: World, rng: Random) -> None:
    """Let a process stand still, for so long or for ever."""
    if not (found := world.find(part)):
        return
    process = rng.choice(found)
    world.send(process, signal.SIGSTOP)
    if seconds is not None:
        _wait(world, seconds)
        world.send(process, signal.SIGCONT)


def stop_everything(world: World, rng: Random) -> None:
    """As Ctrl-Z and `fg`, or a machine that sleeps."""
    processes = [process for part in PARTS for process in world.find(part)]
    for process in processes:
        world.send(process, signal.SIGSTOP)
    time.sleep(rng.uniform(1, LONG_SECONDS))
    for process in reversed(processes):
        world.send(process, signal.SIGCONT)


def interrupt(number: signal.Signals, times: int, world: World, rng: Random) -> None:
    """Ask the command to end."""
    for _ in range(times):
        for process in world.find("command"):
            world.send(process, number)
        time.sleep(rng.uniform(0, 0.2))


def second_command(world: World, _: Random) -> None:
    """Give the same command in another terminal."""
    world.others.append(world.begin(f"beside-{len(world.others)}"))


def pause(world: World, rng: Random) -> None:
    """Pause the run, and let it go on."""
    folder = world.folder / f"pause-{time.monotonic_ns()}"
    folder.mkdir()
    forked_souk("pause", "--db", world.db, cwd=folder)
    time.sleep(rng.uniform(0, 2))
    forked_souk("resume", "--db", world.db, cwd=folder)


def lock(world: World, rng: Random) -> None:
    """Another program holds the file (SQLite), or all connections are cut (PostgreSQL)."""
    if world.server is None:
        with suppress(sqlite3.OperationalError), sqlite3.connect(world.db.removeprefix("sqlite:///")) as held:
            held.execute("BEGIN IMMEDIATE")
            time.sleep(rng.uniform(0.5, 5))
            held.rollback()
        return
    engine = sql.create_engine(world.db, isolation_level="AUTOCOMMIT", poolclass=sql.NullPool)
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
    with suppress(sql.exc.DBAPIError), engine.connect() as connection:
        connection.execute(sql.text(others + "AND pid != pg_backend_pid()"))
    engine.dispose()


def server_away(world: World, rng: Random) -> None:
    """PostgreSQL loses its power and is started again; of SQLite a reader stays amid a transaction."""
    if world.server is not None:
        world.server.stop()
        time.sleep(rng.uniform(0, 5))
        world.server.start()
        return

    def read() -> None:
        with (
            suppress(sqlite3.OperationalError),
            sqlite3.connect(world.db.removeprefix("sqlite:///")) as reader,
        ):
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sqlite_master").fetchall()
            time.sleep(5)

    threading.Thread(target=read).start()


def server_stands_still(world: World, rng: Random) -> None:
    """All processes of PostgreSQL are stopped for a while."""
    if world.server is not None:
        with world.server.standing_still():
            _wait(world, rng.choice((SHORT_SECONDS, 2 * LONG_SECONDS)))


def _wait(world: World, seconds: float) -> None:
    """Until the time has passed, or the command has ended."""
    if world.process is not None:
        world.process.join(seconds)


KINDS: Final[dict[str, Fault]] = {
    **{f"kill: {part}": partial(kill, part) for part in (*PARTS, "network service")},
    **{f"stop for 2 s: {part}": partial(stop, part, SHORT_SECONDS) for part in PARTS},
    **{f"stop for 17 s: {part}": partial(stop, part, LONG_SECONDS) for part in PARTS},
    **{f"stop for ever: {part}": partial(stop, part, None) for part in PARTS[1:]},
    "stop everything for a while": stop_everything,
    "Ctrl-C": partial(interrupt, signal.SIGINT, 1),
    "Ctrl-C twice": partial(interrupt, signal.SIGINT, 2),
    "SIGTERM": partial(interrupt, signal.SIGTERM, 1),
    "a second command": second_command,
    "pause and resume": pause,
    "database locked, or connections cut": lock,
    "database server restarted, or a reader stays": server_away,
    "database server stands still": server_stands_still,
}
