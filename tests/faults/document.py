"""The page in the documentation that says what the laboratory of faults found."""

import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.result import machine
from tests.faults.kinds import KINDS
from tests.faults.schedules import PATIENCE_SECONDS, SECONDS, STUDIES, Report

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"


def write_document(reports: Sequence[Report], *, seed: int) -> None:
    """Write `docs/faults.md` anew."""
    broken = [report for report in reports if report.broken]
    came = Counter(kind for report in reports for kind in report.done)
    failed = Counter(kind for report in broken for kind in set(report.done))
    commands = Counter(report.commands for report in reports)
    lines = [
        "# Faults",
        "",
        "Written by `make faults`; do not edit. Each schedule is a run of the shipped experiment `nudges`",
        f"with {STUDIES} trials of at most {SECONDS} seconds, on SQLite or PostgreSQL, with one or two",
        "workers (one of twenty with actors of a Ray cluster), and one to three faults at random moments.",
        "All of it follows from the schedule's seed. A command that did not end with status 0 is given",
        "again, undisturbed. Then these must hold:",
        "",
        "* Trials, options, receipts and steps are those of an undisturbed run, each trial once.",
        "* A trial that had ended is never lost, changed or run again.",
        "* Each page that a step names is there, and is what its name says.",
        f"* A command ends within {PATIENCE_SECONDS:.0f} seconds, whatever happens, and leaves neither a",
        "  process nor a temporary file.",
        "* `souk status` says of a killed run neither that it runs nor that it has finished.",
        "",
        f"* Carried out on {datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores, {machine()}:",
        f"  {len(reports)} schedules from seed {seed}; {len(broken)} of them failed.",
        f"* {sum(came.values())} faults came before the run had ended;",
        f"  {', '.join(f'{runs} runs took {count} commands' for count, runs in sorted(commands.items()))}.",
        "",
        "| fault | came | in schedules that failed |",
        "| --- | --- | --- |",
        *(f"| {kind} | {came[kind]} | {failed[kind]} |" for kind in KINDS),
    ]
    if broken:
        lines += ["", "## What failed", ""]
        lines += [f"* {report.schedule}: {'; '.join(report.broken)}" for report in broken]
    DOCUMENT.write_text("\n".join([*lines, ""]), encoding="utf-8")
