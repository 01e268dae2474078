"""Tell what of a page can be read in its picture: without the ink of a text the picture differs there.

The pixels decide, whatever hides a text: its colour, what lies over it, a filter, a mask, a blend.
"""

import base64
import io
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from environments.closed_trees import Talk

INK: Final = (Path(__file__).parent / "ink.js").read_text(encoding="utf-8")
WORLD: Final = "souk"
"""The name of the world in which a page is read: it shares the page's elements, but no script."""
MOST_GROUPS: Final = 4
"""The most pictures without ink: texts that overlap yet more are taken for illegible."""

_CAPTURE: Final[Any] = {"format": "png", "optimizeForSpeed": True}
_STEP: Final = math.log(1.1)
"""How much the contrast (WCAG 2) changes at the edge of a stroke, at least."""
_SHARE: Final = 0.04
"""The share of pixels at edges in a piece of a line, at least."""
_LEGIBLE: Final = 0.5
"""The share of the pieces of a text with such edges, at least."""
_MOVED: Final = 0.6
"""Where more of a text's box has changed, this was not its ink alone."""
_SMALLEST: Final = 3
_LINEAR: Final = np.array(
    [(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4) for c in np.arange(256) / 255],
    dtype=np.float32,
)
_WEIGHTS: Final = np.array([0.2126, 0.7152, 0.0722], dtype=np.float32)

Pixels = NDArray[np.uint8]
Lines = Sequence[Sequence[float]]
"""The boxes of a text's lines: left, top, right, bottom."""


class InkMoved(Exception):
    """Something else stands where the texts were read."""


def read_ink(wanted: Sequence[Mapping[str, Any]], picture: bytes, inks: list[float | None]) -> Talk:
    """Put into `inks` the contrast with its ground of each text or picture that is `wanted`; None: illegible.

    wanted: as `observe.js` gives them. picture: a PNG of the viewport; empty: one is taken.

    Raises:
        InkMoved: the page has changed meanwhile.
    """
    frame = (yield "Page.getFrameTree", {})["frameTree"]["frame"]["id"]
    world = (yield "Page.createIsolatedWorld", {"frameId": frame, "worldName": WORLD})["executionContextId"]
    shown = picture or base64.b64decode((yield "Page.captureScreenshot", _CAPTURE)["data"])
    call = {"executionContextId": world, "functionDeclaration": INK, "returnByValue": True}
    told = (yield "Runtime.callFunctionOn", {**call, "arguments": [{"value": [*wanted]}]})["result"]["value"]
    bare = []
    for _ in range(min(max(told["groups"]) + 1, MOST_GROUPS)):
        bare.append(_pixels(base64.b64decode((yield "Page.captureScreenshot", _CAPTURE)["data"])))
        yield "Runtime.callFunctionOn", {**call, "arguments": []}
    if any(boxes is None for boxes in told["boxes"]):
        raise InkMoved
    there = _pixels(shown)
    still = None
    if any(_has_moved(there, each, told, group) for group, each in enumerate(bare)):
        again = _pixels(base64.b64decode((yield "Page.captureScreenshot", _CAPTURE)["data"]))
        still = (there == again).all(axis=2)
    for boxes, group in zip(told["boxes"], told["groups"], strict=True):
        known = group < len(bare)
        inks.append(contrast(there, bare[group], boxes, still) if known else None)
    return []


def contrast(
    there: Pixels, bare: Pixels, lines: Lines, still: NDArray[np.bool_] | None = None
) -> float | None:
    """Return the contrast (WCAG 2, 1 to 21) of a text's ink with its ground; None: it is illegible.

    there, bare: a picture with its ink and one without (height x width x 3). still: the pixels that move by
    nothing but ink; None: all of them.
    """
    pieces = [piece for line in lines for piece in _pieces(line, there.shape)]
    found = [_edges(there[at], bare[at], None if still is None else still[at]) for at in pieces]
    legible = [highest for share, highest in found if share >= _SHARE]
    if not found or len(legible) < _LEGIBLE * len(found):
        return None
    return math.exp(max(legible))


def _pieces(line: Sequence[float], shape: tuple[int, ...]) -> list[tuple[slice, slice]]:
    """The parts of a picture in which a line stands, each about as long as the line is high."""
    left, top, right, bottom = line
    inset = 0.12 * min(right - left, bottom - top)
    x0, x1 = max(round(left), 0), min(round(right), shape[1])
    y0, y1 = max(round(top), 0), min(round(bottom), shape[0])
    if bottom - top <= right - left:
        y0, y1 = max(round(top + inset), 0), min(round(bottom - inset), shape[0])
    else:
        x0, x1 = max(round(left + inset), 0), min(round(right - inset), shape[1])
    if x1 - x0 < _SMALLEST or y1 - y0 < _SMALLEST:
        return []
    long, short = max(right - left, bottom - top), max(min(right - left, bottom - top), 1.0)
    count = max(1, min(round(long / short), 200))
    across = right - left >= bottom - top
    ends = np.linspace(x0 if across else y0, x1 if across else y1, count + 1).round().astype(int)
    parts = [slice(a, b) for a, b in pairwise(ends) if b - a >= _SMALLEST]
    return [(slice(y0, y1), part) if across else (part, slice(x0, x1)) for part in parts]


def _edges(there: Pixels, bare: Pixels, still: NDArray[np.bool_] | None) -> tuple[float, float]:
    """The share of pixels at the edges of strokes of ink, and the logarithm of the ink's highest contrast."""
    if (there == bare).all():
        return 0.0, 0.0
    light = np.log(_LINEAR[there] @ _WEIGHTS + 0.05)
    ink = np.abs(light - np.log(_LINEAR[bare] @ _WEIGHTS + 0.05))
    if still is not None:
        ink = np.where(still, ink, 0)
    step = max(1, min(there.shape[:2]) // 12)
    at_edge = np.zeros(ink.shape, dtype=bool)
    for axis in (0, 1):
        ahead = tuple(slice(step, None) if each == axis else slice(None) for each in (0, 1))
        behind = tuple(slice(None, -step) if each == axis else slice(None) for each in (0, 1))
        # Strokes are drawn in the picture itself; where they are not, what changed lies under it.
        at_edge[behind] |= (np.abs(ink[ahead] - ink[behind]) >= _STEP) & (
            np.abs(light[ahead] - light[behind]) >= _STEP / 2
        )
    return float(at_edge.mean()), float(ink.max())


def _has_moved(there: Pixels, bare: Pixels, told: Mapping[str, Any], group: int) -> bool:
    """Whether more than the ink of a group has changed from one picture to the other."""
    if there.shape != bare.shape:
        raise InkMoved
    changed = (there != bare).any(axis=2)
    for lines, its in zip(told["boxes"], told["groups"], strict=True):
        for left, top, right, bottom in lines if its == group else ():
            reach = bottom - top
            rows = slice(max(round(top - reach / 2), 0), round(bottom + reach / 2))
            box = changed[rows, max(round(left - reach / 2), 0) : round(right + reach / 2)]
            if box.size and box.mean() > _MOVED:
                return True
            box[:] = False
    return bool(changed.any())


def _pixels(png: bytes) -> Pixels:
    from PIL import Image  # noqa: PLC0415 (only where pictures are sent)

    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))
