"""`python -m tests.lab.faults.programs [--trials N] [--seed S] [--kept]`: programs that go wrong, very many.

Each trial's agent is a program that chooses, crashes, hangs, forks, floods or does worse, as is drawn from
the trial's id and the seed (`wild_program.py`). What is stored has to be what was drawn, and nothing may be
left.
"""

import argparse
import os
import re
import signal
import stat
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean
from string import Template
from typing import Any, Final

import psutil
import sqlalchemy as sql
from rich.console import Console

from agents.programs.bubblewrap import left_open
from experiments.records import tables
from experiments.records.integrity.check import check_database
from tests.experiments.postgres_server import postgres_server
from tests.lab.bench.result import machine as machine_name
from tests.lab.faults.document import DOCUMENT, write_section
from tests.lab.faults.wild_program import SIGNALS, USAGE, drawn
from tests.lab.faults.world import World, tracebacks

PROGRAM: Final = Path(__file__).with_name("wild_program.py")
PAGE: Final = Path(__file__).with_name("programs.md")
HEADING: Final = "## Programs"
EXPERIMENT: Final = """\
name: wild
goal: Add the best product to the cart.
options: {{sets: 50}}
factors:
  nudge: {{interventions: nudges, only: [best-seller]}}
repeats: {repeats}
limits: {{seconds: {seconds}}}
"""
TRIALS_A_REPEAT: Final = 200
GB: Final = "0.3"
SECRETS: Final = {"OPENAI_API_KEY": "sk-do-not-tell-anybody-1", "MY_TOKEN": "another-secret-of-mine"}
SETTINGS: Final = {
    **SECRETS,
    "SOUK_PROGRAM_GB": GB,
    "SOUK_PROGRAM_ENV": "MY_TOKEN",
    "SOUK_PROGRAM_FILES": ".",  # programs note there that they were started
}
MOST_TEXT: Final = 2**16 + 100
"""The most characters that are kept of a program's output."""
PARTS: Final = ("command", "worker", "shop")
WHAT: Final = {
    "choose": "opens a product's page and puts the product into the cart",
    "compare": "opens the pages of all products first",
    "give up": "gives up by `POST`",
    "leave": "ends at once, and reads nothing",
    "exit": "ends with a status from 1 to 120",
    "crash": "raises an exception",
    "signal": "ends by one of six signals",
    "hang": "does nothing until its time is over",
    "deaf": "the same, and takes no notice of signals",
    "stop": "stops itself by SIGSTOP",
    "linger": "chooses, and does not end",
    "children": "leaves one to five processes behind, some in sessions of their own, and chooses",
    "orphans": "leaves such processes behind, and fails",
    "crash late": "chooses, and crashes",
    "bomb": "starts 600 processes",
    "flood": "writes up to 6 MB, and chooses",
    "flood without end": "writes without end",
    "garbage": "writes bytes that are no text, and bad JSON, and chooses",
    "usage": "tells of requests to a model, in parts of lines, and chooses",
    "environment": "writes its environment, and chooses",
    "memory": "takes more memory than it may",
    "shared memory": "takes it in three processes, or in files and memory that belong to none",
    "kill the keeper": "kills the process that watches it",
    "closed": "closes its input and outputs, and chooses",
    "bad requests": "sends the proxy what is no request, and chooses",
    "files": "leaves a file in `TMPDIR`, and chooses",
    "connections": "holds up to 69 connections to the proxy, and chooses",
}
LOOK_SECONDS: Final = 1.0
FLAT_FROM: Final = 1_000
"""The fewest trials of which can be said whether memory and descriptors grow."""
MORE_MEMORY: Final = 1.15
MORE_DESCRIPTORS: Final = 10
"""How much more the last quarter of the trials may have than the second: memory a share, descriptors some."""


@dataclass(frozen=True)
class Use:
    """What a part's processes have together in two quarters of the trials.

    memory: its mean, in MB. descriptors: the fewest; some programs hold many connections for a moment.
    """

    memory: tuple[float, float]
    descriptors: tuple[int, int]


@dataclass
class Report:
    """What became of the trials. `broken`: what did not hold, in words."""

    trials: int
    seed: int
    workers: int
    slots: int
    limit: int
    seconds: float = 0.0
    done: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often a program did what, and how its trial ended."""
    wrong: Counter[str] = field(default_factory=Counter)
    """Of how many trials what is stored is not what the program did."""
    use: dict[str, Use] = field(default_factory=dict)
    longest: int = 0
    """The characters of the longest output that is kept."""
    broken: list[str] = field(default_factory=list)
    kept: bool = False
    """Whether programs are kept for many trials."""


def expected(way: str, number: int, *, kept: bool = False) -> tuple[str, str]:
    """Return the outcome of a trial whose program does this, and its reason, as a pattern."""
    ended = "the program ended"
    killed = "the program was ended: more than"
    memory, processes = f"{GB} GB of memory", "512 processes"
    return {
        "give up": ("no_choice", "the guest ended the trial"),
        "leave": ("agent_error", f"{ended} with status 0.*")
        if kept
        else ("no_choice", f"{ended} without a choice"),
        "exit": ("agent_error", f"{ended} with status {1 + number % 120}"),
        "crash": (
            "agent_error",
            rf"{ended} with status 1: ValueError: the model said something odd \({number}\)",
        ),
        "signal": ("agent_error", f"{ended} by signal {SIGNALS[number % len(SIGNALS)].name}"),
        "hang": ("agent_limit", ".+"),
        "deaf": ("agent_limit", ".+"),
        "stop": ("agent_limit", ".+"),
        "orphans": ("agent_error", f"{ended} with status 3"),
        "bomb": ("agent_error", f"{killed} ({processes}|{memory})"),
        "flood without end": ("agent_error", f"{killed} 64 MB of output"),
        "memory": ("agent_error", f"{killed} {memory}"),
        "shared memory": ("agent_error", f"{killed} {memory}"),
        "kill the keeper": ("agent_error", "the program was ended: its keeper was killed")
        if left_open()
        else ("agent_limit", ".+"),
    }.get(way, ("choice", ""))


def carry_out(
    trials: int,
    seed: int,
    *,
    workers: int = 2,
    slots: int = 8,
    limit: int = 20,
    ways: Sequence[str] = ("",),
    postgresql: bool = False,
    kept: bool = False,
) -> Report:
    """Run so many trials of each way, and compare what is stored with what was drawn.

    slots: of each worker. limit: the seconds of a trial. ways: what programs do; empty: what is drawn.
    postgresql: whether the records are in a PostgreSQL of its own instead of SQLite. kept: whether programs
    are kept for many trials.
    """
    report, began = Report(trials * len(ways), seed, workers, slots, limit, kept=kept), time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="wild-", ignore_cleanup_errors=True) as name,
        postgres_server() if postgresql else nullcontext() as server,
    ):
        world = _world(Path(name), report, trials, ways)
        if server:
            world.server, world.db = server, server.new_database()
        world.process = world.begin()
        samples = list(_samples(world, report))
        world.process.join()
        report.seconds = time.monotonic() - began
        _check_use(report, samples)
        _check_trials(world, report)
        _check_rest(world, report)
        for process in world.left():
            world.send(process, signal.SIGKILL)
    return report


def place(folder: Path, family: str = "command") -> str:
    """Put the program into the working directory of a command; return how it is called there.

    So its trials, which are known by its name among others, are the same everywhere.
    """
    program = folder / "program"
    program.write_text(f"#!{sys.executable} -IS\n{PROGRAM.read_text()}")
    program.chmod(stat.S_IRWXU)
    return f"{family}:./program"


def _world(folder: Path, report: Report, trials: int, ways: Sequence[str]) -> World:
    for name in ("first", "t"):
        (folder / name).mkdir()
    program = place(folder / "first", "kept" if report.kept else "command")
    text = EXPERIMENT.format(repeats=-(-trials // TRIALS_A_REPEAT), seconds=report.limit)
    (folder / "e.yaml").write_text(text)
    agents = [part for way in ways for part in ("--agent", f"{program} {report.seed} {way}".strip())]
    size = ("--limit", str(trials), "--workers", str(report.workers), "--slots", str(report.slots))
    arguments = (str(folder / "e.yaml"), *agents, *size)
    return World(folder, folder / "t", f"sqlite:///{folder}/t.db", arguments, settings=SETTINGS)


@dataclass(frozen=True)
class Sample:
    """What a part of the run has when so many trials are stored: memory in bytes, and descriptors."""

    stored: int
    part: str
    memory: int
    descriptors: int


def _samples(world: World, report: Report) -> Iterator[Sample]:
    """Look at the run until it has ended: at what it uses, and for programs whose trial has ended."""
    assert world.process is not None
    outliving: set[str] = set()
    while world.process.is_alive():
        stored = world.ended()  # before the processes: what is stored then has nothing left
        outliving |= stored.keys() & set(trials_of_programs(world.temporary))
        for part in PARTS:
            used = [each for process in world.find(part) if (each := _use_of(process))]
            if used:
                memory, descriptors = (sum(each[index] for each in used) for index in (0, 1))
                yield Sample(len(stored), part, memory, descriptors)
        world.process.join(LOOK_SECONDS)
    report.broken += [f"trial {trial} had ended, and its program had not" for trial in sorted(outliving)]


def trials_of_programs(temporary: Path) -> Iterator[str]:
    """Yield the trials of which processes are there."""
    ours = f"TMPDIR={temporary}/".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            given = (folder / "environ").read_bytes().split(b"\0")
            trials = [each for each in given if each.startswith(b"SOUK_TRIAL=")]
            if trials and any(each.startswith(ours) for each in given):
                yield trials[0].partition(b"=")[2].decode()


def _use_of(process: int) -> tuple[int, int] | None:
    """The memory of a process that it shares with none, in bytes, and its descriptors; None: it is gone."""
    with suppress(psutil.Error):
        memory = (own := psutil.Process(process)).memory_info()
        return memory.rss - memory.shared, own.num_fds()
    return None


def _check_use(report: Report, samples: list[Sample]) -> None:
    """Compare what the parts have in the second quarter of the trials and in the last."""
    for part in PARTS:
        quarters = [
            [each for each in samples if each.part == part and low <= 4 * each.stored / report.trials < high]
            for low, high in ((1, 2), (3, 4))
        ]
        if not all(quarters):
            continue
        early, late = (mean(each.memory for each in quarter) / 2**20 for quarter in quarters)
        before, after = (min(each.descriptors for each in quarter) for quarter in quarters)
        report.use[part] = Use((early, late), (before, after))
        if report.trials >= FLAT_FROM and late > MORE_MEMORY * early:
            report.broken.append(f"the memory of {part} grows: {early:.0f} MB, then {late:.0f} MB")
        if report.trials >= FLAT_FROM and after > before + MORE_DESCRIPTORS:
            report.broken.append(f"the descriptors of {part} grow: {before}, then {after}")


Rows = dict[str, list[Any]]


def _rows_by_trial(world: World, table: sql.Table) -> Rows:
    found: Rows = {}
    with world.reading() as connection:
        for row in connection.execute(sql.select(table)):
            found.setdefault(row.trial, []).append(row)
    return found


def _check_trials(world: World, report: Report) -> None:
    """Compare each stored trial with what its program did."""
    names = ("options", "receipts", "calls", "output")
    stored, options, receipts, calls, output = (
        _rows_by_trial(world, tables.metadata.tables[name]) for name in ("trials", *names)
    )
    notes = world.folder / "first" / "started"
    started = Counter(notes.read_text().split()) if notes.exists() else Counter[str]()
    if len(stored) != report.trials or started.keys() != stored.keys():
        report.broken.append(f"{len(stored)} trials are stored, {len(started)} were started")
    for trial, (row,) in stored.items():
        way, number = drawn(str(report.seed), trial)
        way = " ".join(row.agent.split()[2:]) or way
        report.done[way, row.outcome] += 1
        own = sorted(options[trial], key=lambda option: int(option.position))
        text = "".join(each.text for each in output.get(trial, ()))
        report.longest = max(report.longest, len(text))
        wrong = [
            *_wrong_end(row, expected(way, number, kept=report.kept), way, report.limit),
            *_wrong_choice(row, way, own[number % len(own)], own, receipts.get(trial, [])),
            *_wrong_calls(row, way, number, calls.get(trial, [])),
            *_wrong_output(way, text, world.temporary),
            *([] if started[trial] == 1 else [f"its program was started {started[trial]} times"]),
            *([] if row.attempts == 1 else [f"it took {row.attempts} attempts"]),
        ]
        report.wrong[way] += bool(wrong)
        report.broken += [f"trial {trial} ({way}, {number}): {each}" for each in wrong]


def _wrong_end(row: Any, end: tuple[str, str], way: str, limit: int) -> Iterator[str]:
    outcome, reason = end
    if row.outcome != outcome or not re.fullmatch(reason, row.reason):
        yield f"{row.outcome}, not {outcome}: {row.reason!r}"
    if (row.outcome == "agent_limit") != (row.seconds >= limit) and way != "linger":
        yield f"{row.outcome} after {row.seconds:.1f} s"


def _wrong_choice(row: Any, way: str, bought: Any, options: list[Any], receipts: list[Any]) -> Iterator[str]:
    buys = expected(way, 0)[0] == "choice"
    if row.choice != (bought.option if buys else None):
        yield f"the choice is {row.choice}, not {bought.option if buys else None}"
    opened = options if way == "compare" else [bought] if buys else []
    edited = {option.option for option in opened if option.nudged}
    nudges = {receipt.product for receipt in receipts if receipt.intervention == row.nudge}  # others: match
    if nudges != edited:
        yield f"there are receipts of {sorted(map(str, nudges))}, not {sorted(edited)}"


def _wrong_calls(row: Any, way: str, number: int, calls: list[Any]) -> Iterator[str]:
    count = 1 + number % 5 if way == "usage" else 0
    tokens = count * int(USAGE["tokens_in"]), count * int(USAGE["tokens_out"])
    if (len(calls), row.tokens_in, row.tokens_out) != (count, *tokens):
        yield f"{len(calls)} calls with {row.tokens_in} and {row.tokens_out} tokens, not {count}"
    if row.cost != (count * float(USAGE["cost"]) if count else None):
        yield f"the cost is {row.cost}"


def _wrong_output(way: str, text: str, temporary: Path) -> Iterator[str]:
    if len(text) > MOST_TEXT:
        yield f"{len(text):,} characters of output are kept"
    if any(secret in text for secret in SECRETS.values()) or "OPENAI_API_KEY" in text:
        yield "its output has a secret"
    if way == "environment" and '"MY_TOKEN": "[key]"' not in text:
        yield "its output lacks what it has written"
    if way == "environment" and f'"TMPDIR": "{temporary}/' not in text:
        yield "its folder is elsewhere, where nobody looks for what is left"


def _check_rest(world: World, report: Report) -> None:
    """Check what the command has left, and said."""
    report.broken += [f"a process was left: {command[:80]}" for command in world.left_behind().values()]
    if files := sorted(each.name for each in world.temporary.iterdir()):
        report.broken.append(f"files were left: {files[:3]}")
    report.broken += [f"a traceback: {raised}" for raised in tracebacks(world.said())]
    found = check_database(world.db, lambda *_: None)
    report.broken += [f"souk db check: {each}" for each in found if not each.ok]


def _section(report: Report) -> str:
    """What the documentation says of the trials."""
    machine = f"{datetime.now(UTC):%Y-%m-%d}, on {os.cpu_count()} cores ({machine_name()})"
    rate = 60 * report.trials / report.seconds
    wrong, broken = sum(report.wrong.values()), len(report.broken)
    lines = [
        Template(PAGE.read_text(encoding="utf-8"))
        .substitute(seed=report.seed, trials=report.trials, limit=report.limit, gb=GB)
        .rstrip("\n"),
        "",
        "### What was found",
        "",
        f"{machine}, {report.workers} workers with {report.slots} programs at once:",
        f"{report.trials:,} trials in {report.seconds / 60:.0f} minutes, {rate:.0f} a minute.",
        f"**{wrong or 'None'} of them is stored otherwise than its program did;",
        f"{f'{broken} lines below say what did not hold' if broken else 'all the rest held'}.**",
        f"The longest output that is kept has {report.longest:,} characters.",
        "",
        "| what the program does | trials | outcome | wrong |",
        "| --- | --- | --- | --- |",
    ]
    for way, what in WHAT.items():
        ends = {outcome: count for (own, outcome), count in sorted(report.done.items()) if own == way}
        outcomes = ", ".join(f"`{each}`" for each in ends)
        lines.append(f"| {what} | {sum(ends.values()):,} | {outcomes} | {report.wrong[way]} |")
    lines += [
        "",
        "| part | memory, second quarter of the trials | last quarter | descriptors, second quarter | last |",
        "| --- | --- | --- | --- | --- |",
    ]
    for part, use in report.use.items():
        memory, descriptors = (f"{each:.0f} MB" for each in use.memory), map(str, use.descriptors)
        lines.append(f"| {part} | {' | '.join([*memory, *descriptors])} |")
    if broken:
        lines += ["", *(f"* {each}" for each in report.broken)]
    return "\n".join([*lines, ""])


def main() -> None:
    """Run the trials, and say what did not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab.faults.programs", description="Let programs fail."
    )
    parser.add_argument("--trials", type=int, default=1_000, help="how many (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="what programs do is drawn with it (default: 0)")
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--slots", type=int, default=8, help="programs at once in each (default: 8)")
    parser.add_argument("--postgresql", action="store_true", help="records in PostgreSQL instead of SQLite")
    parser.add_argument("--kept", action="store_true", help="keep programs for many trials")
    parser.add_argument("--write", action="store_true", help=f"write it into {DOCUMENT.name}")
    options = parser.parse_args()
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    report = carry_out(
        options.trials,
        options.seed,
        workers=options.workers,
        slots=options.slots,
        postgresql=options.postgresql,
        kept=options.kept,
    )
    for line in report.broken:
        console.print(f"FAILED {line}", markup=False)
    rate = 60 * report.trials / report.seconds
    wrong = sum(report.wrong.values())
    console.print(f"{report.trials} trials in {report.seconds:.0f} s, {rate:.0f} a minute, {wrong} wrong")
    for part, use in report.use.items():
        console.print(f"{part}: {use.memory[0]:.0f} to {use.memory[1]:.0f} MB, {use.descriptors} descriptors")
    if options.write:
        write_section(HEADING, _section(report))
        console.print(f"written to {DOCUMENT}")
    sys.exit(bool(report.broken))


if __name__ == "__main__":
    main()
