"""The page in the documentation that says what the laboratory of faults found."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from string import Template

from tests.lab.bench.result import machine
from tests.lab.faults.kinds import KINDS
from tests.lab.faults.schedules import PATIENCE_SECONDS, SECONDS, STUDIES, Report

DOCUMENT = Path(__file__).parents[3] / "docs" / "faults.md"
PAGE = Path(__file__).with_name("page.md")
"""What the laboratory does, with names for its numbers."""


def write_document(reports: Sequence[Report]) -> None:
    """Write `docs/faults.md` anew."""
    page = Template(PAGE.read_text(encoding="utf-8")).substitute(
        STUDIES, seconds=SECONDS, patience=f"{PATIENCE_SECONDS:.0f}"
    )
    further = "".join(_sections()[1:])
    DOCUMENT.write_text(page + "\n".join([*_results(reports), ""]) + further, encoding="utf-8")


def write_section(heading: str, text: str) -> None:
    """Write a part of `docs/faults.md` anew that follows what `write_document` writes."""
    first, *further = _sections()
    kept = [each for each in further if not each.startswith(f"\n{heading}\n")]
    DOCUMENT.write_text("".join([first, *kept, f"\n{heading}\n{text}"]), encoding="utf-8")


def _sections() -> list[str]:
    """The page as it is: what `write_document` writes, and the parts that follow."""
    text = DOCUMENT.read_text(encoding="utf-8")
    return re.split(r"(?=\n## (?!What ))", text)


def _results(reports: Sequence[Report]) -> list[str]:
    broken = [report for report in reports if report.broken]
    faults = Counter(len(report.done) for report in reports)
    commands = Counter(report.commands for report in reports)
    seeds = [report.schedule.seed for report in reports]
    kinds = {kind for report in reports for kind in report.done}
    came = sum(count * runs for count, runs in faults.items())
    when = f"{datetime.now(UTC):%Y-%m-%d}, on {os.cpu_count()} cores ({machine()})"
    lines = [
        "",
        "## What was found",
        "",
        f"{when}: {len(reports)} schedules, with seeds from {min(seeds)} to {max(seeds)}.",
        f"**{len(broken) or 'None'} of them failed.**",
        "",
        f"* Faults that came in time: {came}, of {len(kinds)} of the {len(KINDS)} kinds.",
        f"* Faults in a run: {_counted(faults)}.",
        f"* Times that the command was given: {_counted(commands)}.",
        "",
        "| study | database | workers | schedules | faults | failed |",
        "| --- | --- | --- | --- | --- | --- |",
        *_rows((_run_of(report), report) for report in reports),
        "",
        "A fault comes too late where the run has ended before, and then is not counted.",
        "",
        "| fault | schedules that it came to | with a further fault | failed |",
        "| --- | --- | --- | --- |",
    ]
    for kind in KINDS:
        its = [report for report in reports if kind in report.done]
        further = sum(len(report.done) > 1 for report in its)
        lines.append(f"| {kind} | {len(its)} | {further} | {sum(bool(each.broken) for each in its)} |")
    if broken:
        lines += ["", "## What failed", ""]
        lines += [f"* {report.schedule}: {'; '.join(report.broken)}" for report in broken]
    return lines


def _counted(numbers: Counter[int]) -> str:
    return ", ".join(f"{number} ({runs} schedules)" for number, runs in sorted(numbers.items()))


def _run_of(report: Report) -> str:
    schedule = report.schedule
    workers = "2 on Ray" if schedule.backend == "ray" else str(schedule.workers)
    database = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[schedule.database]
    return f"{schedule.study} | {database} | {workers}"


def _rows(reports: Iterable[tuple[str, Report]]) -> list[str]:
    schedules, faults, failed = Counter[str](), Counter[str](), Counter[str]()
    for run, report in reports:
        schedules[run] += 1
        faults[run] += len(report.done)
        failed[run] += bool(report.broken)
    return [f"| {run} | {schedules[run]} | {faults[run]} | {failed[run]} |" for run in sorted(schedules)]
