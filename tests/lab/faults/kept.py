"""A file of what became of schedules, a line of JSON for each: what is in it is not done again."""

import json
from collections.abc import Container, Iterator
from pathlib import Path

from tests.lab.faults.schedules import Report, Schedule


def keep(report: Report, file: Path) -> None:
    """Add a report to the file."""
    told = [report.schedule.seed, report.commands, report.seconds, report.done, report.broken]
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(told) + "\n")


def kept(file: Path, seeds: Container[int]) -> Iterator[Report]:
    """Yield the reports in the file of schedules with these seeds; a line that was cut off is none."""
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            seed, commands, seconds, done, broken = json.loads(line)
        except ValueError:
            continue
        if seed in seeds:
            yield Report(Schedule.of(seed), commands, seconds, tuple(done), broken)
