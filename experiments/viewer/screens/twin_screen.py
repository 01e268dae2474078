"""Two trials of the same set, order and repeat beside each other, with the first difference marked."""

from itertools import zip_longest
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from experiments.pages.html_diff import html_diff
from experiments.records.reading.trial_search import Selection
from experiments.records.reading.whole_trials import counterparts, whole_trial
from experiments.records.record import CONTROL, Row, TrialRecord
from experiments.records.store import Records
from experiments.replay.difference import elsewhere
from experiments.viewer.links import Links
from experiments.viewer.words import ending

COMPARED: Final = 200_000
"""The longest pages that are compared, in characters: more takes too long."""
MOST_OTHERS: Final = 40
_SAID: Final = ("page", "thought", "action", "error")


class _TwinStep(NamedTuple):
    """The steps of both trials at one place; None: this one had ended. `differing`: in what they differ."""

    left: Row | None
    right: Row | None
    differing: tuple[str, ...]


def twin_screen(
    records: Records, to: Links, selection: Selection, record: TrialRecord, other: str = ""
) -> dict[str, Any]:
    """Return the values of the screen. other: the id of the other trial; empty: the most similar one."""
    others = counterparts(records, record.trial)
    if other and other not in [each.trial for each in others]:
        others = []
    name = other or (others[0].trial if others else "")
    twin = whole_trial(records, record.trial.run, name) if others else None
    left, right = (twin, record) if twin and twin.trial.condition == CONTROL else (record, twin)
    pairs = _pairs(records, left, right) if left and right else []
    first = next((place for place, pair in enumerate(pairs) if pair.differing), None)
    return {
        "to": to,
        "run": record.trial.run,
        "selection": selection,
        "record": record,
        "twin": twin,
        "others": others[:MOST_OTHERS],
        "sides": [(each, ending(each.trial, each.options)) for each in (left, right) if each],
        "pairs": pairs,
        "first": first,
        "changes": _changes(records, pairs[first]) if first is not None else None,
    }


def _pairs(records: Records, record: TrialRecord, twin: TrialRecord) -> list[_TwinStep]:
    return [
        _TwinStep(left, right, _differing(records, left, right))
        for left, right in zip_longest(record.steps, twin.steps)
    ]


def _differing(records: Records, left: Row | None, right: Row | None) -> tuple[str, ...]:
    if left is None or right is None:
        return ("an end",)
    found = [name for name in _SAID[1:] if left[name] != right[name]]
    if not _same_page(records, left, right):
        found.insert(0, "page")
    elif urlsplit(left["url"]).path != urlsplit(right["url"]).path:
        found.insert(0, "address")
    return tuple(found)


def _same_page(records: Records, left: Row, right: Row) -> bool:
    """Whether both saw the same, but for the port of the shop in its links."""
    if left["observation"] == right["observation"]:
        return True
    pages = _pages(records, left, right)
    return pages is not None and pages[0] == pages[1]


def _pages(records: Records, left: Row, right: Row) -> tuple[str, str] | None:
    if left["observation"] is None or right["observation"] is None:
        return None
    before, after = (records.kept(each["observation"]) for each in (left, right))
    if before is None or after is None:
        return None
    return before, elsewhere(after, right["url"], left["url"])


def _changes(records: Records, pair: _TwinStep) -> list[Any] | str:
    """How the pages of a pair differ, in hunks; a text where this cannot be shown."""
    if pair.left is None or pair.right is None or "page" not in pair.differing:
        return ""
    pages = _pages(records, pair.left, pair.right)
    if pages is None:
        return "Pages were not kept, so that their difference cannot be shown."
    if max(map(len, pages)) > COMPARED:
        return "The pages are too long to be compared here."
    return html_diff(*pages)
