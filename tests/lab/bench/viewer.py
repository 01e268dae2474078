"""The seconds and the memory that `souk view` takes over 80,000 trials, beside inspect_ai's viewer."""

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from experiments.records.reading.notes import write_note
from tests.experiments.command_line import ROOT, environment
from tests.experiments.viewer.made_run import RUN, record, sqlite, stored, trial
from tests.lab.bench.result import Result
from tests.lab.bench.viewer_pages import OPENED, PAGES, PEER_VARIABLE, SOUK, Looked, look, peer, resident

TRIALS = 80_000
COMPARED = 1_000
"""How many are looked at in the browser: writing a log of inspect_ai with 80,000 takes very long."""
TOGETHER = 2_000
REQUESTS = 1_000
FIRST_S, FACET_S, TRIAL_S, TRIAL_P95_S, MOST_MB = 1.0, 0.2, 0.15, 0.5, 300
NOTES = (
    "Each trial that is asked for over HTTP is another one, so that no answer is known before.",
    "inspect_ai's page loads a summary of all samples when it is opened, and filters and sorts it itself; "
    "Souk's is a page of HTML with some of the rows, and each filter and each order is another one.",
    "A facet of Souk's is a link; inspect_ai's filter is an expression that is typed. Here it is entered at "
    "once, into an editor that has the focus, and what the editor waits before it filters counts. Both are "
    "used when a page has asked for nothing for half a second.",
    "Memory of a page is what its scripts hold; inspect_ai's workers are not in it.",
)
FACETS = ("condition=nudged", "condition=control", "ordering=forward", "ordering=reversed", "tag=odd")


async def run() -> Result:
    """Ask `souk view` for first rows, facets and many trials; then look at both in the browser."""
    with tempfile.TemporaryDirectory(prefix="souk-bench-") as name:
        many, few = (Path(name) / each for each in ("many", "few"))
        with souk_view(filled(many, TRIALS)) as (address, process):
            asked = ask(address, process)
        with souk_view(filled(few, COMPARED)) as (address, process):
            ours = await look(SOUK, address, process)
        return judge(asked, ours, await peer(COMPARED, few))


def filled(folder: Path, count: int) -> Path:
    """Store so many trials in a new folder, each with a step and its page; return the folder."""
    folder.mkdir()
    records = stored(sqlite(folder), [])
    for first in range(0, count, TOGETHER):
        numbers = range(first, min(first + TOGETHER, count))
        records.save(*(record(trial(number, started_at=begun(number))) for number in numbers))
    for number in range(0, count, 400):
        write_note(records, RUN, trial(number).trial, "odd", "")
    records.close()
    return folder


def begun(number: int) -> str:
    """Return when a trial began: one each second."""
    day, second = divmod(number, 86_400)
    return f"2026-01-{1 + day:02}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000+00:00"


@dataclass(frozen=True)
class Asked:
    """Seconds of answers, and megabytes."""

    first: float
    facets: list[float]
    opened: list[float]
    memory: list[float]


@contextmanager
def souk_view(folder: Path) -> Iterator[tuple[str, int]]:
    """Start the viewer over the trials of a folder; its address and its process."""
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
            yield (
                next(found[0] for line in lines if (found := re.search(r"http://\S+:\d+/", line))),
                process.pid,
            )
        finally:
            process.terminate()


def ask(address: str, process: int) -> Asked:
    """Time the viewer's answers over HTTP."""
    with httpx.Client(base_url=address, timeout=60, trust_env=False) as client:
        here = f"/runs/{RUN}/trials"
        first = timed(client, here)
        facets = [timed(client, f"{here}?{facet}") for facet in FACETS * 10]
        numbers = [number * 7_919 % TRIALS for number in range(REQUESTS)]
        memory = [resident(process)]
        opened = [timed(client, f"{here}/{number:032x}") for number in numbers]
        memory.append(resident(process))
    return Asked(first, facets, opened, memory)


def judge(asked: Asked, ours: Looked, theirs: Looked | None) -> Result:
    """Say what was found; the goals are for the answers over HTTP."""
    first, facet, median = asked.first, statistics.median(asked.facets), statistics.median(asked.opened)
    p95 = statistics.quantiles(asked.opened, n=20)[-1]
    against = f"inspect_ai's viewer over {COMPARED:,} samples, in the browser"
    compared = ""
    if theirs:
        compared = (
            f"; over {COMPARED:,} in the browser {ours.first:.2f} s, {ours.filtered:.2f} s, "
            f"{ours.opened:.2f} s "
            f"(inspect_ai: {theirs.first:.2f} s, {theirs.filtered:.2f} s, {theirs.opened:.2f} s)"
        )
    return Result(
        what=f"the viewer over {TRIALS:,} trials",
        against=against if theirs else f"the goals alone: `{PEER_VARIABLE}` named no Python with inspect_ai",
        figure=f"first rows {first:.2f} s, a facet {facet:.3f} s, a trial {median:.3f} s{compared}",
        goal=f"{FIRST_S:g} s, {FACET_S:g} s, {TRIAL_S:g} s (95 of 100: {TRIAL_P95_S:g} s), {MOST_MB} MB",
        reached=first <= FIRST_S
        and facet <= FACET_S
        and median <= TRIAL_S
        and p95 <= TRIAL_P95_S
        and max(asked.memory) <= MOST_MB,
        times=(
            ("the first rows, the first request of all", f"{first:.3f} s"),
            ("the rows of a facet, median", f"{facet:.3f} s ({len(asked.facets)} requests)"),
            ("a trial, median", f"{median:.3f} s ({len(asked.opened):,} requests)"),
            ("a trial, 95 of 100 within", f"{p95:.3f} s"),
            ("memory before and after these", " and ".join(f"{each:.0f} MB" for each in asked.memory)),
            (f"`souk view` in the browser, over {COMPARED:,}", str(ours)),
            (f"`inspect view` in the browser, over {COMPARED:,}", str(theirs or "not there")),
        ),
        how=(
            f"A SQLite database with a run of {TRIALS:,} made trials, each with two options, a step, its "
            "page and a receipt; one in 400 has a tag. `souk view` in a process of its own is asked over "
            f"HTTP by one client. Then it is opened in the browser over {COMPARED:,} of them, and so is "
            "`inspect view start` of inspect_ai over a log (`.eval`, written by inspect_ai) of as many "
            "samples that say the same: a question, three messages, two scores, metadata. The table is "
            f"opened in {2 * PAGES} new contexts, each then filtered or sorted once; {OPENED} rows are "
            "pressed. Times end when five rows, other rows, or the agent's words are visible; medians. "
            f"inspect_ai is in an environment of its own, whose Python `{PEER_VARIABLE}` names: "
            "`SOUK_INSPECT=/path/to/venv/bin/python make bench`."
        ),
        notes=NOTES,
    )


def timed(client: httpx.Client, path: str) -> float:
    """Return the seconds until the whole answer is there."""
    began = time.perf_counter()
    client.get(path).raise_for_status()
    return time.perf_counter() - began
