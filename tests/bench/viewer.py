"""The seconds and the memory that `souk view` takes over a run of 80,000 trials."""

import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from experiments.records.notes import write_note
from tests.bench.result import Result
from tests.experiments.command_line import ROOT, environment
from tests.experiments.viewer.made_run import RUN, record, sqlite, stored, trial

TRIALS = 80_000
TOGETHER = 2_000
REQUESTS = 1_000
FIRST_S, FACET_S, TRIAL_S, TRIAL_P95_S, MOST_MB = 1.0, 0.2, 0.15, 0.5, 300
FACETS = ("condition=nudged", "condition=control", "ordering=forward", "ordering=reversed", "tag=odd")


async def run() -> Result:
    """Ask `souk view` for the first rows, for facets, and for many trials."""
    with tempfile.TemporaryDirectory(prefix="souk-bench-") as folder:
        fill(Path(folder))
        return ask(Path(folder))


def fill(folder: Path) -> None:
    """Store the trials, each with a step and its page."""
    records = stored(sqlite(folder), [])
    for first in range(0, TRIALS, TOGETHER):
        numbers = range(first, first + TOGETHER)
        records.save(*(record(trial(number, started_at=begun(number))) for number in numbers))
    for number in range(0, TRIALS, 400):
        write_note(records, RUN, trial(number).trial, "odd", "")
    records.close()


def begun(number: int) -> str:
    """Return when a trial began: one each second."""
    day, second = divmod(number, 86_400)
    return f"2026-01-{1 + day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000+00:00"


def ask(folder: Path) -> Result:
    """Start the viewer over the trials of a folder and time its answers."""
    command = (sys.executable, "-m", "experiments.cli", "view", "--no-open", "--port", "0")
    with subprocess.Popen(
        (*command, "--db", sqlite(folder)),
        cwd=folder,
        env=environment({"PYTHONPATH": str(ROOT)}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            lines = iter(process.stdout or ())
            address = next(found[0] for line in lines if (found := re.search(r"http://\S+:\d+/", line)))
            with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
                here = f"/runs/{RUN}/trials"
                first = timed(client, here)
                facets = [timed(client, f"{here}?{facet}") for facet in FACETS * 10]
                numbers = [number * 7_919 % TRIALS for number in range(REQUESTS)]
                memory = [resident(process.pid)]
                opened = [timed(client, f"{here}/{number:032x}") for number in numbers]
                memory.append(resident(process.pid))
        finally:
            process.terminate()
    facet, median = statistics.median(facets), statistics.median(opened)
    p95 = statistics.quantiles(opened, n=20)[-1]
    return Result(
        what=f"the viewer over {TRIALS:,} trials",
        against="no peer: the goals alone",
        figure=f"first rows {first:.2f} s, a facet {facet:.3f} s, a trial {median:.3f} s",
        goal=f"{FIRST_S:g} s, {FACET_S:g} s, {TRIAL_S:g} s (95 of 100: {TRIAL_P95_S:g} s), {MOST_MB} MB",
        reached=first <= FIRST_S
        and facet <= FACET_S
        and median <= TRIAL_S
        and p95 <= TRIAL_P95_S
        and max(memory) <= MOST_MB,
        times=(
            ("the first rows, the first request of all", f"{first:.3f} s"),
            ("the rows of a facet, median", f"{facet:.3f} s ({len(facets)} requests)"),
            ("a trial, median", f"{median:.3f} s ({len(opened):,} requests)"),
            ("a trial, 95 of 100 within", f"{p95:.3f} s"),
            ("memory before and after these", " and ".join(f"{each:.0f} MB" for each in memory)),
        ),
        how=(
            f"A SQLite database with a run of {TRIALS:,} made trials, each with two options, a step, its "
            "page and a receipt; one in 400 has a tag. `souk view` in a process of its own is asked over "
            "HTTP by one client."
        ),
        notes=("Each trial is another one, so that no answer is known before.",),
    )


def timed(client: httpx.Client, path: str) -> float:
    """Return the seconds until the whole answer is there."""
    began = time.perf_counter()
    client.get(path).raise_for_status()
    return time.perf_counter() - began


def resident(process: int) -> float:
    """Return the megabytes of memory that a process holds."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found
    return int(found[1]) / 1024
