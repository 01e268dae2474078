"""Let a guest's pages report what stands on them: the script in the page, and how a report is read.

A report comes from a page that may lie: it proves nothing by itself.
"""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Final, Literal

from environments.observe import LEGIBLE, Disturbed, Wanted, source_of, standing_of
from interventions.edits.in_browser import Standing
from interventions.html.inline_script import called

Sees = Literal["page", "viewport"]
"""What counts as shown to a guest: the page as it is drawn, wherever it is scrolled to, or what was in the
viewport at some time."""

_OBSERVER: Final = f"((placesOf) => {source_of('observer.js')})({LEGIBLE})"


@dataclass(frozen=True, slots=True)
class Report:
    """A report of a page: its address without the host, its age in seconds, and what stands on it."""

    at: str
    age: float
    standing: Standing


@lru_cache(maxsize=256)
def observer(wanted: Wanted, path: str, sees: Sees) -> str:
    """Return the script for every page of a guest; it sends its reports to `path`."""
    told = {
        "path": path,
        "wholePage": sees == "page",
        "places": [asdict(spot) for spot in wanted.spots],
        "ownTexts": wanted.own,
        "cards": wanted.cards,
        "drawn": wanted.drawn,
    }
    return called(_OBSERVER, told)


def read_report(body: bytes, wanted: Wanted) -> Report:
    """Read what the script has sent.

    Raises:
        Disturbed: it is not what the script sends.
    """
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        sent = None
    match sent:
        case {"at": str(at), "age": int() | float() as age}:
            return Report(at, age / 1000, standing_of(sent, wanted.spots))
    raise Disturbed("the page's scripts disturb the observation")
