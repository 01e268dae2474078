"""The trials of a run as a table that is filtered, searched and sorted, a page at a time."""

from typing import Any, Final

from analysis.tables.outcomes import OUTCOMES
from experiments.records.reading.notes import BETWEEN_TAGS, last_noted, noted
from experiments.records.reading.trial_search import (
    Selection,
    facet_cells,
    facet_counts,
    matching,
    trial_count,
    with_tags,
)
from experiments.records.reading.whole_trials import options_of
from experiments.records.store import Records
from experiments.viewer.links import Links
from experiments.viewer.state_cache import StateCache
from interventions.data_file import read_data

ROWS: Final = 50
MOST_VALUES: Final = 12
"""The most values of a facet that are shown at once."""


def trials_screen(
    records: Records,
    cache: StateCache,
    to: Links,
    selection: Selection,
    *,
    after: str = "",
    before: str = "",
    rows: int = ROWS,
) -> dict[str, Any]:
    """Return the values of the screen: the trials after or before the one of this id."""
    titles, columns = read_data(__file__, "trials_screen.yaml").values()
    said = last_noted(records, selection.run)
    key = ("facets", selection.set, selection.words, said if selection.words else None)
    untagged = cache.get(selection.run, key, lambda: facet_cells(records, selection))
    key = ("tags", selection.set, selection.words, said)
    cells = cache.get(selection.run, key, lambda: with_tags(records, selection, untagged))
    found = matching(records, selection, limit=rows + 1, after=after, before=before)
    more = len(found) > rows
    found = (found[1:] if before else found[:rows]) if more else found
    counted = facet_counts(cells, selection)
    return {
        "to": to,
        "run": selection.run,
        "selection": selection,
        "number": trial_count(cells, selection),
        "facets": [
            (
                name,
                titles[name],
                list(values.items())[:MOST_VALUES],
                max(0, len(values) - MOST_VALUES),
            )
            for name, values in counted.items()
            if len(values) > 1 or name in selection.facets
        ],
        "columns": columns,
        "trials": found,
        "chosen": _chosen(records, selection.run, [each.trial for each in found]),
        "said": noted(records, selection.run, [each.trial for each in found]),
        "between": BETWEEN_TAGS,
        "outcomes": {name: facts.said for name, facts in OUTCOMES.items()},
        "more": more,
        "next": to.trials(selection, after=found[-1].trial) if found and (more or before) else None,
        "previous": to.trials(selection, before=found[0].trial)
        if found and (after or (before and more))
        else None,
    }


def _chosen(records: Records, run: str, names: list[str]) -> dict[str, dict[str, Any]]:
    """The names of options by trial: option -> name and whether it was treated."""
    return {
        trial: {row["option"]: (row["name"] or row["option"], row["nudged"] == 1) for row in rows}
        for trial, rows in options_of(records, run, names).items()
    }
