"""`python -m tests.lab.bench [NAME ...]`: speed, as ratios measured in one run.

Writes `docs/benchmarks.md` when all benchmarks have run.
"""

import argparse
import asyncio
import logging
import sys

from playwright.sync_api import sync_playwright

from environments.browser.pool import find_browser
from tests.lab.bench import (
    checks,
    choice,
    clogit,
    conjoint,
    episodes,
    looks,
    pace,
    proxied,
    rewriting,
    scoring,
    steps,
    storage,
    text_mode,
    viewer,
)
from tests.lab.bench.result import DOCUMENT, show, write_document

BENCHMARKS = {
    "rewriting": rewriting.run,
    "proxied": proxied.run,
    "steps": steps.run,
    "episodes": episodes.run,
    "checks": checks.run,
    "looks": looks.run,
    "pace": pace.run,
    "storage": storage.run,
    "choice": choice.run,
    "clogit": clogit.run,
    "conjoint": conjoint.run,
    "text_mode": text_mode.run,
    "text_waiting": text_mode.run_waiting,
    "scoring": scoring.run,
    "viewer": viewer.run,
}


def main() -> None:
    """Run the chosen benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.bench", description="Measure Souk's speed.")
    parser.add_argument("names", nargs="*", metavar="|".join(BENCHMARKS), help="which (default: all)")
    names = parser.parse_args().names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    results = []
    for name in names:
        sys.stderr.write(f"measuring {name} ...\n")
        results.append(asyncio.run(BENCHMARKS[name]()))
    show(results)
    if set(names) == set(BENCHMARKS):
        write_document(results, browser_version())
        sys.stdout.write(f"written to {DOCUMENT.relative_to(DOCUMENT.parents[1])}\n")


def browser_version() -> str:
    """Name and version of the browser that both sides use."""
    with sync_playwright() as playwright:
        program = find_browser(playwright)
        browser = playwright.chromium.launch(executable_path=program)
        name = program.name if program else "Playwright's Chromium"
        return f"{name} {browser.version}"


if __name__ == "__main__":
    main()
