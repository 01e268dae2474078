"""`python -m tests.lab.bench.scale [--trials 80000] [--trace none]`: many text trials with `souk run`.

The runner's memory is read from outside while it runs; then `souk status`, `souk export` and
`souk analyze` are timed on what it has stored. Fails when the memory grows or the database is large.
"""

import argparse
import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tests.experiments.command_line import environment
from tests.lab.bench.result import Result

TRIALS = 80_000
MARKS = (1_000, 20_000)
BEFORE_THE_END = 500
"""Trials that are left at the last reading: then the command still does nothing but run them."""
LARGEST_GROWTH = 1.25
LARGEST_DATABASE = 200e6
COMMANDS = (
    ("status", ("status", "many-hotels", "--json")),
    ("export", ("export", "--out", "t.parquet")),
    ("analyze", ("analyze", "--json")),
)

EXPERIMENT = """\
name: many-hotels
task: card
mode: text
cards: hotels
design:
  conjoint:
    pool: hotels
    blocks: [{{set_size: 2, sets: 4000, repeats: {repeats}}}]
agents: ["simulated:balanced"]
seed: 3
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Bytes of memory by trials stored, seconds of the run, bytes of its database, seconds by command."""

    memory: dict[int, int]
    seconds: float
    database: int
    commands: dict[str, float]

    @property
    def growth(self) -> float:
        """The last figure over the first one."""
        first, *_, last = self.memory.values()
        return last / first


async def run() -> Result:
    """The table's row."""
    found = await asyncio.to_thread(measure, TRIALS, "none")
    memory = [
        (f"memory at {stored:,} trials", f"{size / 1e6:.0f} MB") for stored, size in found.memory.items()
    ]
    commands = [(f"souk {name}", f"{seconds:.1f} s") for name, seconds in found.commands.items()]
    return Result(
        what=f"memory of the runner at {TRIALS:,} trials as text",
        against="itself at 1,000",
        figure=f"{found.growth:.2f} times; the database has {found.database / 1e6:.0f} MB",
        goal=f"flat (at most {LARGEST_GROWTH} times), at most {LARGEST_DATABASE / 1e6:.0f} MB",
        reached=found.growth <= LARGEST_GROWTH and found.database <= LARGEST_DATABASE,
        times=(*memory, (f"{TRIALS:,} trials", f"{found.seconds:.0f} s"), *commands),
        how=(
            "`souk run --trace none` in a process of its own, with the agent `simulated:balanced` and pairs "
            "of hotels; its resident memory is read while it runs. Then the commands read what it has stored."
        ),
        notes=("The agent answers at once: the runner works as hard as it can all the time.",),
    )


def measure(trials: int, trace: str) -> Measured:
    """Run it in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "x.yaml").write_text(EXPERIMENT.format(repeats=max(1, trials // 8_000)))
        command = [sys.executable, "-m", "experiments.cli"]
        options = {"cwd": folder, "env": environment({}), "stdout": subprocess.DEVNULL}
        began = time.perf_counter()
        memory = {}
        with subprocess.Popen(
            [*command, "run", "x.yaml", "--trace", trace, "--limit", str(trials)], **options
        ) as process:
            last = max(1, trials - BEFORE_THE_END)
            for mark in (*(mark for mark in MARKS if mark < last), last):
                while (stored := count(folder / "runs" / "souk.db")) < mark and process.poll() is None:
                    time.sleep(0.2)
                memory[stored] = resident(process.pid)
            seconds = time.perf_counter() - began
        if process.returncode:
            raise SystemExit(f"souk run ended with status {process.returncode}")
        took = {}
        for command_name, arguments in COMMANDS:
            began = time.perf_counter()
            subprocess.run([*command, *arguments], check=True, **options)
            took[command_name] = time.perf_counter() - began
        return Measured(memory, seconds, (folder / "runs" / "souk.db").stat().st_size, took)


def count(db: Path) -> int:
    """Trials stored so far."""
    try:
        with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM trials").fetchone()[0])
    except sqlite3.OperationalError:  # there is no database yet, or no table
        return 0


def resident(process: int) -> int:
    """Resident memory in bytes."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return 1024 * int(fields["VmRSS"].split()[0])


def main() -> int:
    """Run it, and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.bench.scale", description=__doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--trace", choices=("full", "light", "none"), default="none")
    options = parser.parse_args()
    found = measure(options.trials, options.trace)
    for stored, size in found.memory.items():
        sys.stdout.write(f"{stored:>7,} trials: {size / 1e6:6.1f} MB\n")
    sys.stdout.write(f"{found.seconds:.1f} s; database {found.database / 1e6:.1f} MB\n")
    for name, seconds in found.commands.items():
        sys.stdout.write(f"souk {name}: {seconds:.1f} s\n")
    return int(found.growth > LARGEST_GROWTH or found.database > LARGEST_DATABASE)


if __name__ == "__main__":
    sys.exit(main())
