"""The answer of a run, as `souk report` gives it, with links from what its table names to the trials."""

from collections.abc import Iterable
from typing import Any, Final

from experiments.records.reading.queries import runs_of_kind
from experiments.records.reading.trial_search import FacetCell, Selection, facet_cells, facet_counts
from experiments.records.store import Records
from experiments.viewer.links import Links
from experiments.viewer.state_cache import StateCache

MOST_OTHERS: Final = 12
"""The most runs that a run can be compared with by a link."""


def answer_screen(
    records: Records, cache: StateCache, to: Links, run: str, found: dict[str, Any], other: str = ""
) -> dict[str, Any]:
    """Return the values of the screen.

    found: what the analysis gave; its key `error` says why it gave nothing. What a cell of the table names
    leads to the trials of that name. other: the run that it is compared with.
    """
    cells = cache.get(run, ("facets", "", "", None), lambda: facet_cells(records, Selection(run)))
    known = named_trials(run, cells)
    main = [value for value, its in known.items() if {*its.facets} <= {"agent", "condition"}]
    others = [name for name in runs_of_kind(records, run) if name != other] if to.served else []
    values = {"to": to, "run": run, "other": other, "others": others[:MOST_OTHERS], "found": found}
    return {**values, "known": known, "main": [] if other else main}


def named_trials(run: str, cells: Iterable[FacetCell]) -> dict[str, Selection]:
    """Return the trials of a run that a cell of a table may name, by the name."""
    known: dict[str, Selection] = {}
    counts = facet_counts(cells, Selection(run))
    for name in ("agent", "nudge", "family", "category", "profile", "condition"):
        for value in counts[name]:
            if value and value != "none":
                known.setdefault(value, Selection(run, {name: value}))
    return known
