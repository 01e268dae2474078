"""`python -m tests.lab.bench [NAME ...]`: speed, as ratios measured in one run.

Writes `docs/benchmarks.md` when all benchmarks have run.
"""

import argparse
import asyncio
import logging
import sys
from importlib import import_module

from playwright.sync_api import sync_playwright

from environments.browser.pool import find_browser
from tests.lab.bench.result import DOCUMENT, document

NAMES = (
    *(
        "rewriting",
        "to_the_order",
        "answers",
        "proxied",
        "steps",
        "episodes",
        "checks",
        "looks",
        "pace",
        "storage",
    ),
    *("choice", "clogit", "conjoint", "text_mode", "text_waiting", "scoring", "viewer", "people"),
)
"""Modules beside this one; the function `run` of each returns what it has found."""


def main() -> None:
    """Run the chosen benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.bench", description="Measure Souk's speed.")
    parser.add_argument("names", nargs="*", metavar="|".join(NAMES), help="which (default: all)")
    names = parser.parse_args().names or NAMES
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    results = []
    for name in names:
        sys.stderr.write(f"measuring {name} ...\n")
        results.append(asyncio.run(import_module(f"tests.lab.bench.{name}").run()))
    page = document(results, browser_version())
    sys.stdout.write(page)
    if set(names) == set(NAMES):
        DOCUMENT.write_text(page, encoding="utf-8")
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
