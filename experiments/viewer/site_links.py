"""Give the pages of a static site their addresses: relative ones, and none to what is not taken along."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from experiments.records.reading.trial_search import Selection
from experiments.records.record import TrialRow
from experiments.viewer.links import Links

_NAME: Final = re.compile(r"[a-z0-9]{1,64}")
_CELL: Final = ("agent", "condition", "ordering")
"""The facets that make, with a choice set, a cell of the grid."""


@dataclass
class SiteSelection:
    """The trials that a site has: those of a selection, in its order.

    counts: how many of them have each value of a facet. lists: the selections that the site's pages show as
    lists, by the names of their files.
    """

    selection: Selection
    rows: Sequence[TrialRow]
    counts: dict[str, dict[str, int]]
    lists: dict[str, Selection] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the trials of each choice set, and of each cell of the grid."""
        self.ids = {row.trial for row in self.rows}
        self.cells: dict[tuple[str, ...], list[str]] = {}
        for row in self.rows:
            for cell in ((row.set,), (row.set, *(getattr(row, name) for name in _CELL))):
                self.cells.setdefault(cell, []).append(row.trial)

    def merged(self, selection: Selection) -> Selection | None:
        """Return those of a selection that are taken along; None where its filters leave none."""
        base = self.selection
        facets = {**selection.facets, **base.facets}
        if {**base.facets, **selection.facets} != facets or (
            selection.set and base.set not in ("", selection.set)
        ):
            return None
        return replace(base, facets=facets, set=selection.set or base.set)

    def more(self, selection: Selection) -> dict[str, str]:
        """Return the facets by which a selection is filtered further than the site."""
        return {name: value for name, value in selection.facets.items() if name not in self.selection.facets}


class FileLinks(Links):
    """The addresses within a file that holds one trial."""

    served = False

    def nowhere(self, *_: Any, **__: Any) -> str | None:
        """Return None: the file has nothing else."""
        return None

    runs = run = answer = trials = csv = twin = nowhere

    def trial(self, selection: Selection, trial: str, step: int | None = None, **more: Any) -> str | None:
        """Return the place of a step in the file."""
        return None if step is None else f"#step-{step}"


class SiteLinks(FileLinks):
    """The addresses on a page of a site that is in a folder of it (`up`: `../`), or in none."""

    def __init__(self, taken: SiteSelection, up: str = "", *, twin: bool = True) -> None:
        """Take the trials of the site. twin: whether the trial of this page has a page beside its twin."""
        self._taken, self._up, self._twin = taken, up, twin

    def runs(self) -> str | None:
        """Return the address of the first page."""
        return f"{self._up}index.html"

    def run(self, run: str, **query: Any) -> str | None:
        """Return the address of a page of the grid."""
        return self._up + run_page(query.get("sort", ""), query.get("page", 1))

    def trials(self, selection: Selection, **more: Any) -> str | None:
        """Return the address of a list: of all trials, of one more filter, or of a choice set or cell.

        A cell with one trial leads to the trial itself.
        """
        wanted = self._taken.merged(selection)
        if wanted is None or more or selection.descending or selection.sort != "started_at":
            return None
        filtered = self._taken.more(wanted)
        if wanted.set and (wanted.set != self._taken.selection.set or len(filtered) > 1):
            cell = (wanted.set, *(wanted.facets[name] for name in _CELL if name in wanted.facets))
            found = self._taken.cells.get(cell if filtered else cell[:1], [])
            if not found or not filtered.keys() <= {*_CELL}:
                return None
            return self.trial(selection, found[0]) if filtered and len(found) == 1 else self._list(wanted)
        if not filtered:
            return f"{self._up}trials.html"
        ((facet, value), *rest) = filtered.items()
        return self._list(wanted) if not rest and self._taken.counts[facet].get(value) else None

    def csv(self, selection: Selection | None = None) -> str | None:
        """Return the address of the table of all trials of the site."""
        return f"{self._up}trials.csv"

    def trial(self, selection: Selection, trial: str, step: int | None = None, **more: Any) -> str | None:
        """Return the address of a trial, or of one of its steps, if it is taken along."""
        if trial not in self._taken.ids:
            return None
        return f"{self._up}{trial_page(trial)}" + ("" if step is None else f"#step-{step}")

    def twin(self, selection: Selection, trial: str, other: str | None = None) -> str | None:
        """Return the address of a trial beside its twin."""
        return f"{self._up}{trial_page(trial, '-twin')}" if self._twin else None

    def _list(self, selection: Selection) -> str:
        name = _list_name({"set": selection.set, **self._taken.more(selection)})
        self._taken.lists.setdefault(name, selection)
        return f"{self._up}{numbered(name, 1)}"


def run_page(sort: str, page: int) -> str:
    """Return the file of a page of the grid."""
    return numbered("flips" if sort == "flips" else "index", page)


def trial_page(trial: str, more: str = "") -> str:
    """Return the file of a trial, beside that of the first page."""
    safe = trial if _NAME.fullmatch(trial) else hashlib.sha256(trial.encode()).hexdigest()
    return f"trials/{safe}{more}.html"


def numbered(name: str, page: int) -> str:
    """Return the file of a page of a list, from 1."""
    return f"{name}.html" if page == 1 else f"{name}-{page}.html"


def list_page(selection: Selection) -> str:
    """Return the file of the first page of the list of a selection, on a site of all trials."""
    return numbered(_list_name({"set": selection.set, **selection.facets}), 1)


def _list_name(filtered: dict[str, str]) -> str:
    """The file of a list, without its suffix: words of its filters, and a digest of them."""
    said = "-".join(f"{name}-{value}" for name, value in filtered.items() if value or name != "set")
    words = re.sub(r"[^a-z0-9]+", "-", said.lower())[:48].strip("-")
    return f"lists/{words}-{hashlib.sha256(repr(filtered).encode()).hexdigest()[:8]}"
