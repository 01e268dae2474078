"""An experiment for programs, and what is stored of a run of it."""

import sqlite3
from pathlib import Path
from typing import Any

EXPERIMENT = """\
name: wild
goal: Add the best product to the cart.
options: {sets: 8}
factors:
  nudge: {interventions: nudges, only: [best-seller]}
limits: {seconds: 120}
"""
DB = ("--db", "sqlite:///t.db")


def rows(folder: Path, query: str) -> list[dict[str, Any]]:
    with sqlite3.connect(folder / "t.db") as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]
