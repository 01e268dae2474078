"""`python -m tests.lab.faults [--schedules N] [--seed S]`: a laboratory of faults.

Carries out random schedules of faults over runs. A schedule that fails is printed with its seed, and
`--schedules 1 --seed SEED` carries it out again. With `--keep FILE` a laboratory that was stopped goes on.
"""

import argparse
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from rich.console import Console

from tests.lab.faults.clock import preload
from tests.lab.faults.document import DOCUMENT, write_document
from tests.lab.faults.kept import keep, kept
from tests.lab.faults.schedules import STUDIES, Report, Schedule, carry_out, undisturbed


def main() -> None:
    """Carry out the schedules."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.lab.faults", description="Do what must not matter."
    )
    parser.add_argument("--schedules", type=int, default=500, help="how many (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first (default: 0)")
    parser.add_argument("--at-once", type=int, default=3, help="how many at the same time (default: 3)")
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="note what is done, and do it only once")
    options = parser.parse_args()
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with tempfile.TemporaryDirectory(prefix="clock-") as folder:
        if not preload(Path(folder)):
            console.print("there is no C compiler (cc): the date will not jump")
        reports = carry_out_all(
            range(options.seed, options.seed + options.schedules), options.keep, options.at_once, console
        )
    broken = sum(bool(report.broken) for report in reports)
    left_out = options.schedules - len(reports)
    if options.write:
        write_document(reports)
        console.print(f"written to {DOCUMENT}")
    sys.exit(1 if broken or left_out else 0)


def carry_out_all(seeds: range, file: Path | None, at_once: int, console: Console) -> list[Report]:
    """Carry out the schedules of these seeds, several at once; what is in the file is not done again."""
    reports = list(kept(file, seeds)) if file else []
    done = {report.schedule.seed for report in reports}
    calm = {study: undisturbed(study) for study in STUDIES}
    began, before = time.monotonic(), len(reports)
    with ProcessPoolExecutor(at_once, get_context("spawn")) as pool:
        schedules = [Schedule.of(seed) for seed in seeds if seed not in done]
        waiting = {pool.submit(carry_out, each, calm[each.study]): each for each in schedules}
        for ended in as_completed(waiting):
            try:
                reports.append(report := ended.result())
            except Exception:
                console.print(f"NOT CARRIED OUT {waiting[ended]}", traceback.format_exc(), markup=False)
                continue
            if file:
                keep(report, file)
            if report.broken:
                console.print(f"FAILED {report.schedule}", *report.broken, sep="\n  ", markup=False)
            failed = sum(bool(each.broken) for each in reports)
            rate = (len(reports) - before) / (time.monotonic() - began)
            left = (len(seeds) - len(reports)) / rate / 60
            console.print(f"{len(reports)} of {len(seeds)}, {failed} failed, {left:.0f} min left")
    return reports


if __name__ == "__main__":
    main()
