"""One run in a laboratory: a folder, a database, the command that runs it, and its processes."""

import os
import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sql

from experiments.records import tables
from experiments.records.packing import Unpacker
from tests.experiments.command_line import (
    descendants,
    not_ended,
    processes_with,
    start,
)
from tests.experiments.postgres_server import PostgresServer
from tests.lab.faults import clock
from tests.lab.faults.model_server import ModelServer

STARTING_SECONDS: Final = 30.0
ACTOR: Final = "ray::Actor"
TRACEBACK: Final = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*(.*)")
ADDRESS: Final = re.compile(r"http://127\.0\.0\.1:\d+")
PROGRAMS: Final = {
    "worker": lambda command: "executors.worker" in command or command.startswith(ACTOR),
    "browser": lambda command: "--remote-debugging-pipe" in command and "--type=" not in command,
    "renderer": lambda command: "--type=renderer" in command,
    "GPU process": lambda command: "--type=gpu-process" in command,
    "network service": lambda command: "--type=utility" in command and "network" in command,
    "Playwright": lambda command: "run-driver" in command,
    "shop": lambda command: "environments.shop" in command,
}
"""How a process is known by its command line."""

Row = tuple[Any, ...]
Contents = dict[str, list[Row]]


@dataclass
class World:
    """A run that is disturbed. `arguments` are those of `souk run`."""

    folder: Path
    temporary: Path
    db: str
    arguments: tuple[str, ...]
    server: PostgresServer | None = None
    model: ModelServer | None = None
    cluster: bool = False
    """Whether the run's workers are actors of a Ray cluster."""
    process: BaseProcess | None = None
    others: list[BaseProcess] = field(default_factory=list)
    """Commands that run beside it."""
    calm: "Contents" = field(default_factory=dict)
    """What is in the database of an undisturbed run."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further variables of the run's processes."""
    complaints: list[str] = field(default_factory=list)
    """What went wrong with what was done beside the run, in words."""

    @property
    def clock(self) -> Path:
        """The file that says how wrong the date is."""
        return self.folder / "clock"

    @property
    def file(self) -> Path:
        """The database in SQLite."""
        return Path(self.db.removeprefix("sqlite:///"))

    def new_folder(self, name: str) -> Path:
        """Make a folder for a command."""
        folder = self.folder / f"{name}-{len(list(self.folder.glob(f'{name}-*')))}"
        folder.mkdir()
        return folder

    def variables(self) -> dict[str, str]:
        """The environment of the run's processes."""
        own = {"TMPDIR": str(self.temporary), clock.VARIABLE: str(self.clock), **self.settings}
        return own | self.model.environment if self.model else own

    def begin(self, name: str = "first") -> BaseProcess:
        """Start `souk run` in a folder of its own."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        command = ("run", *self.arguments, "--db", self.db)
        return start(*command, cwd=folder, env=self.variables())

    def said(self) -> str:
        """All that commands have written to the terminal."""
        return "\n".join(file.read_text() for file in sorted(self.folder.glob("*/err.txt")))

    def find(self, part: str) -> list[int]:
        """The processes of a part of the run."""
        if self.process is None or self.process.pid is None:
            return []
        if part == "command":
            return [self.process.pid] if self.process.is_alive() else []
        found = {}
        if self.cluster:
            marked = processes_with("TMPDIR", str(self.temporary)).items()
            found = {pid: command for pid, command in marked if command.startswith(ACTOR)}
        for root in (self.process.pid, *found):
            found |= descendants(root)
        return [pid for pid, command in found.items() if PROGRAMS[part](command)]

    def wait_for(self, part: str) -> list[int]:
        """The processes of a part of the run, once there are some; empty where there are none for long."""
        deadline = time.monotonic() + STARTING_SECONDS
        while not (found := self.find(part)) and time.monotonic() < deadline:
            if self.process is None or not self.process.is_alive():
                return []
            self.process.join(0.2)
        return found

    def send(self, process: int, number: signal.Signals) -> None:
        """Send a signal to a process that may have ended."""
        with suppress(ProcessLookupError):
            os.kill(process, number)

    def left_behind(self) -> dict[int, str]:
        """The processes of the run that do not end within ten seconds. A cluster is none of them."""
        marked = processes_with("TMPDIR", str(self.temporary)).items()
        return not_ended({pid: each for pid, each in marked if not is_of_cluster(each)}, seconds=10)

    def left(self) -> dict[int, str]:
        """The processes of the run that are there."""
        found = dict(processes_with("TMPDIR", str(self.temporary)))
        for folder in Path("/proc").iterdir():
            with suppress(OSError):
                if folder.name.isdigit() and str(self.temporary) in (folder / "cmdline").read_text():
                    found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        return found

    @contextmanager
    def reading(self) -> Iterator[sql.Connection]:
        """A connection to the run's database."""
        engine = sql.create_engine(self.db, poolclass=sql.NullPool)
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            engine.dispose()

    def ended(self) -> dict[str, Row]:
        """The stored trials that never run again; empty where there is no database yet."""
        own = tables.trials.c
        try:
            with self.reading() as connection:
                query = sql.select(own.trial, own.started_at, own.outcome, own.choice)
                rows = connection.execute(query.where(own.outcome != "infra_error")).all()
        except sql.exc.DBAPIError:
            return {}
        return {row.trial: tuple(row) for row in rows}

    def longest(self) -> float:
        """The seconds of the trial that took the longest, or the least where that is below zero."""
        with self.reading() as connection:
            seconds = connection.execute(sql.select(tables.trials.c.seconds)).scalars().all()
        return min(seconds, default=0.0) if min(seconds, default=0.0) < 0 else max(seconds, default=0.0)

    def contents(self) -> Contents:
        """What a disturbed run has in common with an undisturbed one."""
        kept = {
            "trials": [tables.trials.c[name] for name in ("trial", "outcome", "choice", "steps")],
            "options": [
                tables.options.c[name] for name in ("trial", "position", "option", "price", "nudged")
            ],
            "receipts": [
                tables.receipts.c[name] for name in ("trial", "number", "edit", "product", "before", "after")
            ],
            "steps": [tables.steps.c[name] for name in ("trial", "step", "action", "thought")],
            "on_screen": [
                tables.on_screen.c[name] for name in ("trial", "number", "x", "y", "width", "height", "why")
            ],
            "answers": [tables.answers.c[name] for name in ("trial", "number", "card", "text", "value")],
        }
        with self.reading() as connection:
            contents: Contents = {
                name: sorted(map(tuple, connection.execute(sql.select(*columns)).all()))
                for name, columns in kept.items()
            }
        return contents | {"looks": self.looks()}

    def looks(self) -> list[Row]:
        """The lines of what the agents were shown, step by step; each start of a shop has another port."""
        steps = tables.steps.c
        with self.reading() as connection:
            shown = connection.execute(sql.select(steps.trial, steps.step, steps.observation)).all()
            pages = connection.execute(sql.select(tables.artifacts.c.hash, tables.artifacts.c.data)).all()
        data_of = {name: data for name, data in pages}
        text = Unpacker(data_of.get).text
        return sorted(
            (trial, step, number, ADDRESS.sub("", line))
            for trial, step, name in shown
            if name in data_of
            for number, line in enumerate((text(name, data_of[name]) or "").splitlines())
        )

    def damaged_pages(self) -> list[str]:
        """The pages, as seen or as sent, that are not there, or are not what their names say."""
        sent = tables.sent_pages.c
        columns = (tables.steps.c.observation, sent.body, sent.given, sent.site)
        with self.reading() as connection:
            named = {name for each in columns for name in connection.scalars(sql.select(each).distinct())}
            pages = connection.execute(sql.select(tables.artifacts.c.hash, tables.artifacts.c.data)).all()
        data_of = {name: data for name, data in pages}
        unpacker = Unpacker(data_of.get)
        stored = {name: unpacker.text(name, data) for name, data in data_of.items()}
        wrong = [name for name, text in stored.items() if text is None]
        return sorted({*wrong, *(name for name in named if name and name not in stored)})


def tracebacks(said: str) -> list[str]:
    """Return the last line of each traceback, which names what was raised; each once."""
    return list(dict.fromkeys(TRACEBACK.findall(said)))


def is_of_cluster(command: str) -> bool:
    """Whether Ray has started it for itself."""
    own = command.startswith("ray::") and not command.startswith(ACTOR)
    return own or "site-packages/ray/" in command


@contextmanager
def ray_cluster(folder: Path, variables: Mapping[str, str]) -> Iterator[str]:
    """Start a cluster of one node with two places for workers; yield its address."""
    from ray.cluster_utils import Cluster

    before = dict(os.environ)
    own = {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_TMPDIR": str(folder / "r"),
        "RAY_worker_niceness": "0",  # else 15: beside other work they would seem to stand still
        **variables,
    }
    os.environ |= own
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    for name in own:
        os.environ.pop(name)
        os.environ |= {name: before[name]} if name in before else {}
    try:
        yield cluster.address
    finally:
        cluster.shutdown()
