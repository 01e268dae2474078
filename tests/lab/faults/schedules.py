"""Random schedules of faults over runs, and what must hold after each of them."""

import json
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from experiments.designs.inputs.experiment_file import LIBRARY
from experiments.records.integrity.check import check_database
from tests.experiments.command_line import forked_souk
from tests.experiments.postgres_server import postgres_server
from tests.lab.faults.clock import make_clock
from tests.lab.faults.kinds import KINDS
from tests.lab.faults.model_server import model_server
from tests.lab.faults.world import Contents, World, ray_cluster, tracebacks

STUDIES: Final = {"pages": 6, "text": 24}
"""Trials of the shipped `nudges` in the browser, and of `hotels` as prompts to a model's server."""
SECONDS: Final = 15
"""The time limit of a trial; an undisturbed one takes about one second."""
PATIENCE_SECONDS: Final = 240.0
"""How long a command may take, whatever happens to it."""
ON_RAY: Final = 0.02
"""The share of the schedules whose workers are actors of a Ray cluster."""
MOST_COMMANDS: Final = 3
"""How often the same command may have to be given, undisturbed."""


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
    study: str
    database: str
    workers: int
    backend: str
    moments: tuple[Moment, ...]

    @classmethod
    def of(cls, seed: int, kinds: Iterable[str] = tuple(KINDS)) -> "Schedule":
        """Make the schedule of a seed."""
        rng = Random(seed)
        study = rng.choices(tuple(STUDIES), (1, 3))[0]
        database = rng.choices(("sqlite", "postgresql"), (3, 1))[0]
        workers = rng.choice((1, 1, 2))
        backend = "ray" if rng.random() < ON_RAY else "local"
        if backend == "ray":
            workers = 2
        present = (study, database, *(["workers"] if workers > 1 else []))
        possible = [name for name in kinds if KINDS[name].may_come(present)]
        moments = [
            Moment(rng.choice(possible), rng.randrange(STUDIES[study] - 1), rng.uniform(0, 1))
            for _ in range(rng.choice((1, 1, 2, 3)))
        ]
        moments.sort(key=lambda each: each.stored)
        return cls(seed, study, database, workers, backend, tuple(moments))

    @property
    def trials(self) -> int:
        """The number of trials of the run."""
        return STUDIES[self.study]

    def __str__(self) -> str:
        told = ", ".join(f"{each.kind} after {each.stored} trials" for each in self.moments)
        run = f"{self.study}, {self.database}, {self.workers} workers ({self.backend})"
        return f"seed {self.seed}: {run}, {told}"


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


def undisturbed(study: str, seconds: int = SECONDS) -> Contents:
    """What is in the database where nothing goes wrong; seconds: the time limit of a trial."""
    with tempfile.TemporaryDirectory(prefix="calm-") as name, model_server() as model:
        world = _world(Path(name), study, f"sqlite:///{name}/t.db", workers=1, seconds=seconds)
        world.model = model
        world.process = world.begin()
        world.process.join()
        if world.process.exitcode != 0:
            raise RuntimeError(world.said())
        return world.contents()


def carry_out(schedule: Schedule, calm: Contents, seconds: int = SECONDS) -> Report:
    """Carry out a schedule, and check what must hold.

    calm: what an undisturbed run of its study stores. seconds: the time limit of a trial.
    """
    report, began = Report(schedule), time.monotonic()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True))
        )
        world = stack.enter_context(_disturbed_world(folder, schedule, seconds))
        world.calm = calm
        before = _disturb(world, schedule, report)
        before = _finish(world, report, before)
        _check(world, report, time.monotonic() - began)
        for process in world.left():
            world.send(process, signal.SIGKILL)
        report.said = world.said()
    report.seconds = time.monotonic() - began
    return report


def _world(folder: Path, study: str, db: str, workers: int, seconds: int) -> World:
    source = (LIBRARY / ("nudges.yaml" if study == "pages" else "hotels.yaml")).read_text()
    (folder / "faulty.yaml").write_text(
        source.replace("seconds: 300", f"seconds: {seconds}").replace("name: ", "name: faulty-", 1)
    )
    temporary = folder / "t"
    temporary.mkdir()
    make_clock(folder / "clock")
    arguments = [str(folder / "faulty.yaml"), "--limit", str(STUDIES[study]), "--workers", str(workers)]
    if study == "text":
        arguments += ["--mode", "text", "--agent", "compatible:lab", "--slots", "2"]
    return World(folder, temporary, db, tuple(arguments))


@contextmanager
def _disturbed_world(folder: Path, schedule: Schedule, seconds: int) -> Iterator[World]:
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server()) if schedule.database == "postgresql" else None
        db = server.new_database() if server else f"sqlite:///{folder}/t.db"
        world = _world(folder, schedule.study, db, schedule.workers, seconds)
        world.server = server
        if schedule.study == "text":
            world.model = stack.enter_context(model_server())
        if schedule.backend == "ray":
            address = stack.enter_context(ray_cluster(folder, world.variables()))
            world.arguments += ("--ray", address)
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
            seen |= _kept(world, seen, report)
            if world.process.exitcode == 0:
                break
            _again(world, report)
        if KINDS[moment.kind].do(world, rng):
            report.done += (moment.kind,)
        seen |= _kept(world, seen, report)
    _end(world, report)
    seen |= _kept(world, seen, report)
    return seen


def _again(world: World, report: Report) -> None:
    """Give a command that was ended again, after a look at what it has left behind."""
    _end(world, report)
    left = world.left_behind().values()
    report.broken += [f"after the command a process was left: {command[:80]}" for command in left]
    _check_status(world, report)
    world.process = world.begin(f"again-{report.commands}")
    report.commands += 1


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
    disturbed = report.commands
    while world.process is not None and world.process.exitcode != 0:
        if report.commands - disturbed == MOST_COMMANDS:
            report.broken.append(f"the command ended with status {world.process.exitcode} again and again")
            break
        _again(world, report)
        _end(world, report)
        seen |= _kept(world, seen, report)
    return seen


def _check_status(world: World, report: Report) -> None:
    told = forked_souk("status", "--json", "--db", world.db, cwd=world.new_folder("status"))
    if told.status != 0:
        if world.ended():
            report.broken.append(f"souk status ended with {told.status}: {told.err.strip()}")
        return
    for run in json.loads(told.out):
        ended, trials = len(world.ended()), report.schedule.trials
        if run["state"] in ("running", "paused") or (run["state"] == "finished") != (ended == trials):
            report.broken.append(f"status says {run['state']} with {ended} of {trials} trials")


def _check(world: World, report: Report, seconds: float) -> None:
    """Compare the end with an undisturbed run; `seconds`: how long the schedule took."""
    contents = world.contents()
    for name, rows in world.calm.items():
        if contents[name] != rows:
            different = [row for row in contents[name] if row not in rows] or [
                row for row in rows if row not in contents[name]
            ]
            report.broken.append(
                f"table {name}: {len(contents[name])} rows, not {len(rows)}; e.g. {different[:1]}"
            )
    if wrong := world.damaged_pages():
        report.broken.append(f"{len(wrong)} pages are lost or damaged")
    if not 0 <= (longest := world.longest()) <= seconds:
        report.broken.append(f"a trial is said to have taken {longest} seconds")
    found = check_database(world.db, lambda *_: None)
    report.broken += [f"souk db check: {each}" for each in found if not each.ok]
    report.broken += world.complaints
    report.broken += [f"a traceback: {raised}" for raised in tracebacks(world.said())]
    left = world.left_behind().values()
    report.broken += [f"at the end a process was left: {command[:80]}" for command in left]
    if files := sorted(each.name for each in world.temporary.iterdir()):
        report.broken.append(f"files were left: {files[:3]}")
