"""The answer of a run, as `souk report` gives it, with links from what its table names to the trials."""

from typing import Any

from experiments.records.store import Records
from experiments.records.trial_search import Selection, facet_cells, facet_counts
from experiments.viewer.links import Links
from experiments.viewer.state_cache import StateCache


def answer_screen(
    records: Records, cache: StateCache, to: Links, run: str, found: dict[str, Any]
) -> dict[str, Any]:
    """Return the values of the screen.

    found: what the analysis gave; its key `error` says why it gave nothing. What a cell of the table names
    leads to the trials of that name.
    """
    selection = Selection(run)
    cells = cache.get(run, ("facets", "", "", None), lambda: facet_cells(records, selection))
    known: dict[str, Selection] = {}
    main: list[str] = []
    for name in ("agent", "nudge", "family", "category", "profile", "condition"):
        for value in facet_counts(cells, selection)[name]:
            if value and value != "none":
                known.setdefault(value, Selection(run, {name: value}))
                main += [value] if name in ("agent", "condition") else []
    return {"to": to, "run": run, "found": found, "known": known, "main": main, "live": False}
