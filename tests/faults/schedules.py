"""Random schedules of faults over runs, and what must hold after each of them."""

import json
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

from experiments.designs.inputs.experiment_file import LIBRARY
from tests.experiments.command_line import forked_souk
from tests.experiments.postgres_server import postgres_server
from tests.faults.kinds import KINDS
from tests.faults.world import World, ray_cluster

TRIALS: Final = 8
SECONDS: Final = 15
"""The time limit of a trial; an undisturbed one takes about one second."""
PATIENCE_SECONDS: Final = 240.0
"""How long a command may take, whatever happens to it."""
ON_RAY: Final = 0.05
"""The share of the schedules whose workers are actors of a Ray cluster."""
MOST_COMMANDS: Final = 4
"""How often the same command may have to be given."""


@dataclass(frozen=True)
class Moment:
    """A fault, and when it comes: so long after so many trials have been stored."""

    kind: str
    stored: int
    after: float


@dataclass(frozen=True)
class Schedule:
    """A run, and its faults in order. All of it follows from the seed."""

    seed: int
    database: str
    workers: int
    backend: str
    moments: tuple[Moment, ...]

    @classmethod
    def of(cls, seed: int, kinds: tuple[str, ...] = tuple(KINDS)) -> "Schedule":
        """Make the schedule of a seed."""
        rng = Random(seed)
        database = rng.choices(("sqlite", "postgresql"), (3, 1))[0]
        workers = rng.choice((1, 1, 2))
        moments = tuple(
            Moment(rng.choice(kinds), rng.randrange(TRIALS - 1), rng.uniform(0, 1))
            for _ in range(rng.choice((1, 1, 2, 3)))
        )
        in_order = tuple(sorted(moments, key=lambda each: each.stored))
        if rng.random() < ON_RAY:
            return cls(seed, database, 2, "ray", in_order)
        return cls(seed, database, workers, "local", in_order)

    def __str__(self) -> str:
        told = ", ".join(f"{each.kind} after {each.stored} trials" for each in self.moments)
        return f"seed {self.seed}: {self.database}, {self.workers} workers ({self.backend}), {told}"


@dataclass
class Report:
    """What became of a schedule. `broken`: the invariants that did not hold, in words."""

    schedule: Schedule
    commands: int = 0
    seconds: float = 0.0
    done: tuple[str, ...] = ()
    """The kinds of faults that came before the run had ended."""
    broken: list[str] = field(default_factory=list)
    said: str = ""


@cache
def experiment() -> str:
    """The shipped experiment with nudges, with a short time limit."""
    source = (LIBRARY / "nudges.yaml").read_text()
    return source.replace("seconds: 300", f"seconds: {SECONDS}").replace("name: nudges", "name: faulty")


@cache
def undisturbed() -> dict[str, list[Any]]:
    """What is in the database where nothing goes wrong."""
    with tempfile.TemporaryDirectory(prefix="calm-") as name:
        world = _world(Path(name), f"sqlite:///{name}/t.db", workers=1)
        world.process = world.begin()
        world.process.join()
        if world.process.exitcode != 0:
            raise RuntimeError(world.said())
        return world.contents()


def carry_out(schedule: Schedule) -> Report:
    """Carry out a schedule, and check what must hold."""
    report, began = Report(schedule), time.monotonic()
    calm = undisturbed()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True))
        )
        world = stack.enter_context(_disturbed_world(folder, schedule))
        before = _disturb(world, schedule, report)
        before = _finish(world, report, before)
        _check(world, report, calm, before)
        for process in world.left():
            world.send(process, signal.SIGKILL)
        report.said = world.said()
    report.seconds = time.monotonic() - began
    return report


def _world(folder: Path, db: str, workers: int) -> World:
    (folder / "faulty.yaml").write_text(experiment())
    temporary = folder / "t"
    temporary.mkdir()
    arguments = (str(folder / "faulty.yaml"), "--limit", str(TRIALS), "--workers", str(workers))
    return World(folder, temporary, db, arguments)


@contextmanager
def _disturbed_world(folder: Path, schedule: Schedule) -> Iterator[World]:
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server()) if schedule.database == "postgresql" else None
        db = server.new_database() if server else f"sqlite:///{folder}/t.db"
        world = _world(folder, db, schedule.workers)
        world.server = server
        if schedule.backend == "ray":
            address = stack.enter_context(ray_cluster(folder, world.temporary))
            world.arguments += ("--backend", "ray", "--address", address)
            world.cluster = True
        yield world


Stored = dict[str, tuple[Any, ...]]


def _disturb(world: World, schedule: Schedule, report: Report) -> Stored:
    """Run the command with its faults; return what was stored at some moment."""
    rng = Random(schedule.seed)
    world.process = world.begin()
    report.commands = 1
    seen: Stored = {}
    for moment in schedule.moments:
        _until(world, moment.stored, seen)
        world.process.join(moment.after)
        if not world.process.is_alive():
            break
        report.done += (moment.kind,)
        KINDS[moment.kind](world, rng)
        seen |= _kept(world, seen, report)
    _end(world, report)
    seen |= _kept(world, seen, report)
    return seen


def _until(world: World, count: int, seen: Stored) -> None:
    """Wait until so many trials are stored, or the command has ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while world.process is not None and world.process.is_alive() and time.monotonic() < deadline:
        stored = world.ended()
        if len(stored) >= count:
            return
        world.process.join(0.1)


def _kept(world: World, seen: Stored, report: Report) -> Stored:
    """What is stored now; what was stored before has to be there, unchanged."""
    stored = world.ended()
    if stored:
        report.broken += [
            f"trial {trial} was lost or changed" for trial in seen if stored.get(trial) != seen[trial]
        ]
    return stored


def _end(world: World, report: Report) -> None:
    """Wait for the end of all commands."""
    for process in (world.process, *world.others):
        if process is not None:
            process.join(PATIENCE_SECONDS)
            if process.is_alive():
                report.broken.append("a command did not end")
                process.kill()
                process.join()
    world.others.clear()


def _finish(world: World, report: Report, seen: Stored) -> Stored:
    """Give the same command, undisturbed, until it has ended well."""
    while world.process is not None and world.process.exitcode != 0:
        left = world.left_behind().values()
        report.broken += [f"after the command a process was left: {command[:80]}" for command in left]
        _check_status(world, report)
        if report.commands == MOST_COMMANDS:
            report.broken.append(f"the command ended with status {world.process.exitcode} again and again")
            break
        world.process = world.begin(f"again-{report.commands}")
        report.commands += 1
        _end(world, report)
        seen |= _kept(world, seen, report)
    return seen


def _check_status(world: World, report: Report) -> None:
    folder = world.folder / f"status-{report.commands}"
    folder.mkdir()
    told = forked_souk("status", "--json", "--db", world.db, cwd=folder)
    if told.status != 0:
        if world.ended():
            report.broken.append(f"souk status ended with {told.status}: {told.err.strip()}")
        return
    for run in json.loads(told.out):
        whole = len(world.ended()) == TRIALS
        if run["state"] in ("running", "paused") or (run["state"] == "finished") != whole:
            report.broken.append(f"status says {run['state']} with {len(world.ended())} of {TRIALS} trials")


def _check(world: World, report: Report, calm: dict[str, list[Any]], seen: Stored) -> None:
    """Compare the end with an undisturbed run."""
    contents = world.contents()
    for name, rows in calm.items():
        if contents[name] != rows:
            different = [row for row in contents[name] if row not in rows] or [
                row for row in rows if row not in contents[name]
            ]
            report.broken.append(
                f"table {name}: {len(contents[name])} rows, not {len(rows)}; e.g. {different[:1]}"
            )
    if wrong := world.damaged_pages():
        report.broken.append(f"{len(wrong)} pages are lost or damaged")
    left = world.left_behind().values()
    report.broken += [f"at the end a process was left: {command[:80]}" for command in left]
    if files := sorted(each.name for each in world.temporary.iterdir()):
        report.broken.append(f"files were left: {files[:3]}")
