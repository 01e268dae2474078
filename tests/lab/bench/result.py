"""What a benchmark found, and the page in the documentation that says so."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

DOCUMENT = Path(__file__).parents[3] / "docs" / "benchmarks.md"
PACKAGES = (
    *("mitmproxy", "selectolax", "playwright", "browsergym-core", "beautifulsoup4", "lxml", "statsmodels"),
    *("pyfixest", "torch", "transformers"),
)


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark: what was compared, the figure, and every time behind it."""

    what: str
    against: str
    figure: str
    goal: str
    reached: bool
    times: tuple[tuple[str, str], ...]
    """What was timed, and its value with unit and number of repetitions."""
    how: str
    notes: tuple[str, ...]
    """What speaks for either side in the comparison."""


def document(results: Sequence[Result], browser: str) -> str:
    """The page of the results."""
    now = datetime.now(UTC)
    packages = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`; do not edit. Both sides of each comparison are measured in the same run,",
        "on the same machine and the same pages or data. What counts is the ratio, or the difference.",
        "",
        f"* Measured on {now:%Y-%m-%d}, {os.cpu_count()} cores, {machine()}.",
        f"* {platform.python_implementation()} {platform.python_version()}, {browser}, {packages}.",
        "",
        "| what | against | figure | goal | reached |",
        "| --- | --- | --- | --- | --- |",
    ]
    for result in results:
        reached = "yes" if result.reached else "**no**"
        lines.append(f"| {result.what} | {result.against} | {result.figure} | {result.goal} | {reached} |")
    for result in results:
        lines += ["", f"## {result.what[0].upper()}{result.what[1:]}", "", result.how, ""]
        lines += ["| | |", "| --- | --- |"]
        lines += [f"| {name} | {value} |" for name, value in result.times]
        lines += ["", "For a fair reading:", ""]
        lines += [f"* {note}" for note in result.notes]
    return "\n".join(lines) + "\n"


def machine() -> str:
    """Operating system and architecture."""
    return f"{platform.system()} {platform.machine()}"
