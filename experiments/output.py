"""What people read in the terminal, and where files go."""

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pandas as pd
from rich.console import Console
from rich.table import Table

from analysis.choice import ChoiceAnalysis
from analysis.figures import LABELS
from experiments.doctor import Check

RUNS: Final = Path("runs")


def run_folder(run: str) -> Path:
    """Where a run keeps its certificate authority, figures and report."""
    return RUNS / run


def run_facts(found: dict[str, Any]) -> dict[str, Any]:
    """What the report says about a stored run."""
    facts = found["facts"]
    experiment = facts["experiment"]
    return {
        "run": found["run"],
        "started": found["started_at"],
        "agents": ", ".join(facts["agents"]),
        "choice sets": facts["sets"],
        "site map": facts["site"],
        "seed": experiment["seed"],
        "goal": experiment["goal"],
        "versions": ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
    }


def print_analysis(console: Console, analysis: ChoiceAnalysis) -> None:
    """Effects, attrition and treatment check as tables."""
    console.print(effects_table(analysis.effects))
    console.print(attrition_table(analysis.attrition))
    if analysis.treatment is not None and len(analysis.treatment):
        console.print(treatment_table(analysis.treatment))
    for note in analysis.notes:
        console.print(f"note: {note}", style="dim", highlight=False, markup=False)


def effects_table(effects: pd.DataFrame) -> Table:
    """Effects in percentage points; an undefined one is blank, with its reason."""
    table = Table(
        title="Effects on the probability of being chosen, in percentage points", title_justify="left"
    )
    table.add_column("agent", overflow="fold")
    table.add_column("effect")
    for name in ("estimate", "std. error", "95 % interval", "p", "p adjusted", "trials"):
        table.add_column(name, justify="right")
    table.add_column("note", overflow="fold")
    for row in effects.to_dict("records"):
        interval = ""
        if is_number(row["conf_low"]):
            interval = f"{row['conf_low']:+.1f} to {row['conf_high']:+.1f}"
        table.add_row(
            str(row["group"]),
            LABELS.get(row["term"], str(row["term"])),
            number(row["estimate"], "+.1f"),
            number(row["std_error"], ".1f"),
            interval,
            p_value(row["p_value"]),
            p_value(row["p_adjusted"]),
            number(row["n"], ",.0f"),
            str(row["note"] or ""),
        )
    return table


def attrition_table(attrition: pd.DataFrame) -> Table:
    """Outcomes by agent and condition."""
    return plain_table("Outcomes by condition", attrition)


def treatment_table(treatment: pd.DataFrame) -> Table:
    """Receipts by intervention and edit."""
    return plain_table("Treatment check: receipts by edit", treatment)


def plain_table(title: str, frame: pd.DataFrame) -> Table:
    """A frame as it is, numbers short, undefined cells blank."""
    table = Table(title=title, title_justify="left")
    for name in frame.columns:
        numeric = pd.api.types.is_numeric_dtype(frame[name])
        table.add_column(name.replace("_", " "), justify="right" if numeric else "left", overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*(number(cell, "g") if is_number(cell) else text(cell) for cell in row))
    return table


def checks_table(checks: Sequence[Check]) -> Table:
    """The doctor's findings."""
    table = Table(box=None)
    for name in ("", "check", "found", "fix"):
        table.add_column(name, overflow="fold")
    marks = {True: "[green]ok[/green]", False: "[red]no[/red]", None: "[yellow]--[/yellow]"}
    for check in checks:
        table.add_row(marks[check.ok], check.name, check.found, check.fix)
    return table


def check_dict(check: Check) -> dict[str, Any]:
    """A finding for scripts."""
    return asdict(check)


def run_shop(port: int) -> int:
    """Run the embedded shop as a child until it ends or Ctrl-C; its exit status."""
    child = subprocess.Popen([sys.executable, "-m", "environments.shop", "--port", str(port)])  # noqa: S603
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue  # the child gets the signal too, and ends


def is_number(value: object) -> bool:
    """Whether the value is a defined number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def number(value: object, form: str) -> str:
    """A number in a format, or nothing when it is undefined."""
    return format(value, form) if is_number(value) else ""


def p_value(value: object) -> str:
    """Three decimals, `<.001` below."""
    if not isinstance(value, float) or not math.isfinite(value):
        return ""
    return "<.001" if value < 0.001 else f"{value:.3f}"


def text(value: object) -> str:
    """A cell's text; undefined cells are blank."""
    return (
        ""
        if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
        else str(value)
    )
