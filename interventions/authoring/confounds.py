"""Warn of designs whose effects could not be told apart.

These are warnings, not errors: only the author knows what is meant.
"""

from collections.abc import Iterator
from itertools import combinations
from statistics import median
from typing import Final

from interventions.edits.base import Edit
from interventions.errors import CannotEdit
from interventions.files.schema import Intervention, InterventionFile
from interventions.yaml.sitemap import SiteMap
from interventions.yaml.yaml_source import Problem, Source

GROUPS: Final = {"product": "product", "listing": "item", "home": "item", "cart": "row", "checkout": "row"}
"""Page type -> the group of roles in which products show on it."""

_LONG: Final = 2.0


def confounds(file: InterventionFile, source: Source, site: SiteMap) -> Iterator[Problem]:
    """Yield a warning for each design that confounds two effects.

    Cards are never confounded: nothing else is shown.
    """
    for index, intervention in enumerate(file.interventions):
        if intervention.card:
            continue
        path = ("interventions", index)
        for message in _bundled(intervention, file):
            yield source.problem((*path, "edits"), message)
        for message in _inconsistent(intervention, site):
            yield source.problem((*path, "pages"), message)
        for message in (*_same_text(intervention, file), *_long_text(intervention, file)):
            yield source.problem((*path, "edits"), message)


def _edits(intervention: Intervention) -> set[str]:
    return {edit.kind() for edit in intervention.edits}


def _bundled(intervention: Intervention, file: InterventionFile) -> Iterator[str]:
    """Edits of two kinds that no intervention of the file has apart."""
    for one, other in combinations(sorted(_edits(intervention)), 2):
        together = [item for item in file.interventions if {one, other} <= _edits(item)]
        apart = [item for item in file.interventions if len({one, other} & _edits(item)) == 1]
        if not apart and together[0] is intervention:
            yield (
                f"{one} and {other} always go together, so their effects cannot be told apart; "
                "add an intervention that has one of them alone"
            )


def _inconsistent(intervention: Intervention, site: SiteMap) -> Iterator[str]:
    """Values that the pages left out would contradict."""
    if not intervention.pages:
        return
    for part in sorted({part for edit in intervention.edits for part in _values(edit)}):
        left_out = [
            page
            for page, group in GROUPS.items()
            if page not in intervention.pages and page in site.pages and f"{group}.{part}" in site.roles
        ]
        if left_out:
            pages = ", ".join(left_out)
            yield f"these pages still show the old {part}: {pages}; name them too, or leave `pages` out"


def _values(edit: Edit) -> set[str]:
    """The parts of a product that an edit gives another value."""
    if not edit.changes_values:
        return set()
    try:
        return set(edit.values())
    except CannotEdit:  # its variables are not filled in yet
        return {edit.roles()[0].partition(".")[2]}


def _same_text(intervention: Intervention, file: InterventionFile) -> Iterator[str]:
    for other in file.interventions:
        if other is intervention:
            return
        if intervention.text and other.text == intervention.text and not other.card:
            yield f'the same text as "{other.id}", so that a reader of texts takes them for one; change one'
            return


def _long_text(intervention: Intervention, file: InterventionFile) -> Iterator[str]:
    lengths = [len(item.text) for item in file.interventions if item.text and not item.card]
    if len(lengths) > 2 and len(intervention.text) > _LONG * median(lengths):
        yield (
            f"the text has {len(intervention.text)} characters, the median of the file is "
            f"{median(lengths):.0f}: length could explain its effect; shorten it, or lengthen the others"
        )
