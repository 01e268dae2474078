"""One run: its answer, and its design as a grid in which each cell leads to its trials."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from experiments.records.reading.grids import Flips, GridCell, flips, grid, option_names
from experiments.records.reading.notes import put_away
from experiments.records.reading.queries import run_names
from experiments.records.reading.trial_search import Selection
from experiments.records.record import CONTROL
from experiments.records.store import Records
from experiments.runs.status import STATES, RunStatus, run_status
from experiments.runs.stopping import sequence_line
from experiments.viewer.links import Links
from experiments.viewer.state_cache import StateCache

ROWS: Final = 50
"""Choice sets on a page."""
MOST_COLUMNS: Final = 24
"""The most columns of the grid; more are named in a line."""

Column = tuple[str, str, str]
"""Agent, condition and order."""


class Bar(NamedTuple):
    """How much of `most` there is, and how much is expected in the end."""

    now: float
    most: float
    expected: float | None = None

    @property
    def parts(self) -> tuple[float, float]:
        """The width of what there is, and of what is expected beyond it, in percent."""
        now, most = (100 * min(1.0, value / self.most) for value in (self.now, self.expected or 0.0))
        return now, max(0.0, most - now)


@dataclass(slots=True)
class _SetCell:
    """The trials of one set in one column: the shares of its options, and how many chose the treated one."""

    choices: Counter[str] = field(default_factory=Counter)
    carriers: int = 0
    chosen: int = 0
    others: Counter[str] = field(default_factory=Counter)

    @property
    def trials(self) -> int:
        """The number of trials."""
        return self.chosen + self.others.total()

    def add(self, found: GridCell) -> None:
        """Count trials that ended alike."""
        if found.outcome != "choice":
            self.others[found.outcome] += found.trials
            return
        self.chosen += found.trials
        self.carriers += found.trials if found.carrier else 0
        if found.choice is not None:
            self.choices[found.choice] += found.trials

    def bar(self, options: list[str]) -> list[tuple[str, float, float]]:
        """Return the parts of the cell's bar: a class, where it begins, and its width, both in percent."""
        parts, begin = [], 0.0
        for place, option in enumerate(options):
            if self.choices[option]:
                width = 100 * self.choices[option] / self.trials
                parts.append((f"option-{min(place, 3)}", begin, width))
                begin += width
        if others := self.others.total():
            parts.append(("failed", begin, 100 * others / self.trials))
        return parts


def run_screen(
    records: Records, cache: StateCache, to: Links, run: str, *, sort: str = "", page: int = 1
) -> dict[str, Any]:
    """Return the values of the screen. sort: `flips` brings the sets first whose choices the nudge moved."""
    status = run_status(records, *run_names(records, run)[0])
    cells = cache.get(run, "grid", lambda: grid(records, run))
    moved: dict[str, Flips] = cache.get(run, "flips", lambda: flips(records, run))
    columns, rows = _arranged(cells)
    names = sorted(rows)
    if sort == "flips":
        names.sort(key=lambda name: (-_net(moved.get(name)), name))
    page = max(1, min(page, -(-len(names) // ROWS) or 1))
    shown = names[(page - 1) * ROWS : page * ROWS]
    return {
        "to": to,
        "run": run,
        "status": status,
        "away": run in put_away(records),
        "states": STATES,
        "sequences": [sequence_line(each) for each in status.sequences],
        "bars": _bars(status),
        "live": status.state in ("running", "paused"),
        "selection": Selection(run),
        "columns": columns[:MOST_COLUMNS],
        "more_columns": max(0, len(columns) - MOST_COLUMNS),
        "heads": _heads(columns[:MOST_COLUMNS]),
        "rows": [(name, rows[name], moved.get(name)) for name in shown],
        "options": option_names(records, run, shown),
        "flipped": _total(moved),
        "control": CONTROL,
        "sort": sort,
        "page": page,
        "pages": -(-len(names) // ROWS),
        "sets": len(names),
    }


def _bars(status: RunStatus) -> dict[str, Bar | None]:
    """How far the run is on its way, in trials until all have ended, and in dollars where it has a budget."""
    return {
        "trials": Bar(status.done, status.wanted) if status.wanted and status.done < status.wanted else None,
        "budget": Bar(status.cost, status.budget, status.cost_at_end) if status.budget else None,
    }


def _arranged(cells: list[GridCell]) -> tuple[list[Column], dict[str, dict[Column, _SetCell]]]:
    """The columns of the grid, a control before its treatments, and the cells of each set."""
    rows: dict[str, dict[Column, _SetCell]] = {}
    for found in cells:
        column = (found.agent, found.condition, found.ordering)
        rows.setdefault(found.set, {}).setdefault(column, _SetCell()).add(found)
    columns = {column for row in rows.values() for column in row}
    return sorted(columns, key=lambda each: (each[0], each[1] != CONTROL, each[1], each[2])), rows


def _heads(columns: list[Column]) -> list[tuple[str, int]]:
    """The agents over the columns, each with the number of its columns."""
    counted = Counter(agent for agent, _, _ in columns)
    return list(counted.items())


def _net(found: Flips | None) -> int:
    return found.toward - found.away if found else -1_000_000


def _total(moved: dict[str, Flips]) -> Flips | None:
    if not moved:
        return None
    return Flips(
        *(sum(getattr(each, name) for each in moved.values()) for name in ("pairs", "toward", "away"))
    )
