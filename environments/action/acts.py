"""Read what the observer in a guest's page tells of what is done: clicks, scrolling, coming and going."""

from dataclasses import dataclass
from typing import Any, Final, Literal

from environments.action.pointer import Hit
from environments.observation.observe import parsed
from environments.protocol.observation import storable

BEGIN: Final = b'{"acts":'
"""How such a report begins, after the key."""
MAX_BYTES: Final = 64 * 2**10
"""The most bytes of a report that is read."""
MOST: Final = 1_000
"""The most acts of a page that its script tells."""
_LATEST: Final = 1e13
"""No clock is so late, in milliseconds of Unix time."""
_FARTHEST: Final = 1e6
"""No page is so wide or high, in pixels; no action names a larger number."""
_LONGEST: Final = 2_000
"""The most characters of an address that are kept."""
BUTTONS: Final = ("left", "middle", "right")
_MODIFIERS: Final = frozenset({"Shift", "Control", "Alt", "Meta"})
_KINDS: Final = ("moved", "visible", "hidden", "leave")

Kind = Literal["page", "moved", "visible", "hidden", "leave", "click", "scroll"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something that was done on a page, or happened to it; times are in milliseconds of the guest's clock.

    `path`: the page's address without the host. Of a `page`, which has come: `start`, when it was asked for;
    `how` (as `PerformanceNavigationTiming.type`); whether a page has led to it (`linked`), and whether its
    tab is looked at (`shown`). Of a `click`: `hit`, in pixels of the page, in which a link on the same host
    leads to a path; `button`, and the keys that were held (`modifiers`, as Shift+Control). Of a `scroll`:
    `left` and `top`, where the page stands since.
    """

    kind: Kind
    when: float
    path: str
    start: float = 0.0
    how: str = ""
    linked: bool = False
    shown: bool = False
    hit: Hit | None = None
    button: str = ""
    modifiers: str = ""
    left: float = 0.0
    top: float = 0.0


@dataclass(frozen=True, slots=True)
class Acts:
    """What a page has told at a time, `now`, of the guest's clock. `visit`: a number that names the page."""

    visit: float
    now: float
    acts: tuple[Act, ...]


def read_acts(body: bytes) -> Acts | None:
    """Read a report of acts; None: it is none that the observer sends."""
    if len(body) > MAX_BYTES:
        return None
    match parsed(body):
        case {"acts": [*told], "visit": visit, "now": now} if len(told) <= MOST:
            if _is_number(visit, 1) and _is_number(now, _LATEST):
                acts = [_act(each) for each in told]
                read = tuple(each for each in acts if each)
                return Acts(float(visit), float(now), read) if len(read) == len(acts) else None
    return None


def _act(told: Any) -> Act | None:
    match told:
        case {"kind": str(kind), "when": when, "at": str(path)} if (
            _is_number(when, _LATEST) and path[:1] == "/"
        ):
            return _of_kind(kind, float(when), storable(path[:_LONGEST]), told)
    return None


def _of_kind(kind: str, when: float, path: str, told: dict[str, Any]) -> Act | None:
    if kind in _KINDS:
        return Act(kind=_KINDS[_KINDS.index(kind)], when=when, path=path)
    match kind, told:
        case "page", {"start": start, "how": str(how), "linked": bool(linked), "shown": bool(shown)}:
            if _is_number(start, _LATEST):
                return Act(
                    kind="page",
                    when=when,
                    path=path,
                    start=float(start),
                    how=storable(how[:100]),
                    linked=linked,
                    shown=shown,
                )
        case "click", {"x": x, "y": y, "button": int(button), "keys": [*keys], **more}:
            hit = _hit(x, y, more)
            if hit and 0 <= button < len(BUTTONS) and _MODIFIERS.issuperset(map(str, keys)):
                return Act(
                    kind="click",
                    when=when,
                    path=path,
                    hit=hit,
                    button=BUTTONS[button],
                    modifiers="+".join(map(str, dict.fromkeys(keys))),
                )
        case "scroll", {"x": x, "y": y} if _is_number(x, _FARTHEST) and _is_number(y, _FARTHEST):
            return Act(kind="scroll", when=when, path=path, left=float(x), top=float(y))
    return None


def _hit(x: Any, y: Any, told: dict[str, Any]) -> Hit | None:
    match told:
        case {"tag": str(tag), "text": str(text), "href": str(href), "role": str(role)}:
            if _is_number(x, _FARTHEST) and _is_number(y, _FARTHEST):
                words = (storable(tag[:100]), storable(text[:100]))
                return Hit(
                    float(x), float(y), *words, role=storable(role[:100]), href=storable(href[:_LONGEST])
                )
    return None


def _is_number(value: Any, most: float) -> bool:
    return isinstance(value, int | float) and abs(value) <= most  # NaN is not
