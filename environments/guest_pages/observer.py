"""Let a guest's pages report what stands on them: the script in the page, and how a report is read.

A report begins with the key of the session, which the page's own scripts do not know.
"""

import json
import re
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Final, Literal

from environments.action.pointer import DESCRIBED, roles_of
from environments.observation.observe import (
    FARTHEST,
    LEGIBLE,
    ObservationQuery,
    PageDisturbed,
    parsed,
    standing_of,
)
from interventions.data_file import read_source
from interventions.edits.in_browser import PageElements
from interventions.html.inline_script import UNDISTURBED, called, short, with_functions
from interventions.yaml.sitemap import SiteMap
from proxy import keys

Sees = Literal["page", "viewport"]
"""What counts as shown to a guest: the page as it is drawn, wherever it is scrolled to, or what was in the
viewport at some time."""

_FUNCTION: Final = short(
    with_functions(
        read_source(__file__, "observer.js"), placesOf=LEGIBLE, undisturbed=UNDISTURBED, described=DESCRIBED
    )
)
_ACTED: Final = re.compile(rb'\{"acted":([0-9.e-]{1,40})\}')
"""What the script sends, after the key, where something on its page was pressed: the number of the visit."""
_LEADS: Final = b'{"leads":'
_OBSERVED: Final = read_source(__file__, "observed.js")


@dataclass(frozen=True, slots=True)
class _PageReport:
    """A report of a page: its address without the host, and what stands on it.

    `came`: its address when it came, before its scripts could give it another one. `visit`: a number that
    names the page. `drawn`: whether all is there that scripts have to draw. `scroll`: how far the page was
    scrolled to the right and down, in pixels.
    """

    at: str
    came: str
    visit: float
    drawn: bool
    standing: PageElements
    scroll: tuple[int, int]


@lru_cache(maxsize=16)
def observer_code(site: SiteMap) -> str:
    """Return the script that every page of a guest loads before its own, the same for all pages of a shop.

    It does nothing until the page calls it.
    """
    # Of several roles at one place the first counts; nobody clicks in a head.
    shown: dict[str, str] = {}
    for role, css in roles_of(site):
        if not css.startswith("head "):
            shown.setdefault(css, role)
    roles = json.dumps([[role, css] for css, role in shown.items()], separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    return (
        "document.currentScript?.remove();"
        'Object.defineProperty(self, "soukObserver", '
        f"{{ configurable: true, value: (told) => ({_FUNCTION})(told, {roles}) }})"
    )


@lru_cache(maxsize=256)
def observer(wanted: ObservationQuery, path: str, sees: Sees, *, framed: bool = False) -> str:
    """Return the script in every page of a guest, which calls that of `observer_code`.

    Reports are sent to `path`. `framed`: pages in a frame of the outermost page report too.
    """
    told = {
        "key": keys.PLACE,
        "path": path,
        "wholePage": sees == "page",
        "places": [asdict(spot) for spot in wanted.spots],
        "ownTexts": wanted.own,
        "ownPictures": wanted.pictures,
        "cards": [asdict(kind) for kind in wanted.cards],
        "drawn": wanted.drawn,
        **({"framed": True} if framed else {}),
    }
    return called(_OBSERVED, told)


def read_report(body: bytes, wanted: ObservationQuery) -> _PageReport:
    """Read what the script has sent.

    Raises:
        PageDisturbed: it is not what the script sends, or the page has replaced functions that read it.
    """
    sent = parsed(body)
    match sent:
        case {"replaced": str(replaced)} if replaced:
            raise PageDisturbed(f"the page's scripts have replaced {replaced}")
        case {"absent": True}:
            raise PageDisturbed("the script that observes the page was not loaded")
        case {
            "at": str(at),
            "came": str(came),
            "visit": int() | float() as visit,
            "drawn": bool(drawn),
            "scroll": [int(x), int(y)],
        } if max(abs(x), abs(y)) < FARTHEST and 0 <= visit <= 1:
            return _PageReport(at, came, float(visit), drawn, standing_of(sent, wanted), (x, y))
    raise PageDisturbed("the page's scripts disturb the observation")


def read_press(body: bytes) -> float | None:
    """Return the visit of the page on which something was pressed; None: the report is of something else."""
    found = _ACTED.fullmatch(body)
    try:
        return float(found[1]) if found else None
    except ValueError:
        return None


def read_lead(body: bytes) -> tuple[str, str] | None:
    """Return where a page came, and where it leads by itself; None: the report is of something else."""
    match parsed(body) if body.startswith(_LEADS) else None:
        case {"leads": str(leads), "came": str(came)} if leads[:1] == came[:1] == "/":
            return came, leads
    return None
