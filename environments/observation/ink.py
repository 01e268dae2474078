"""Tell what of a page can be read in its picture: without the ink of a text the picture differs there.

The pixels decide, whatever hides a text: its colour, what lies over it, a filter, a mask, a blend.
"""

import base64
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from environments.observation.closed_trees import Talk
from interventions.data_file import read_source

if TYPE_CHECKING:
    from PIL.Image import Image

INK: Final = read_source(__file__, "ink.js")
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
Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels of a picture."""
Lines = Sequence[Sequence[float]]
"""The boxes of a text's lines: left, top, right, bottom."""


class InkMoved(Exception):
    """Something else stands where the texts were read."""


@dataclass(frozen=True, slots=True)
class Bare:
    """Pictures of a page without the ink of its texts, a group of them in each.

    `boxes`: of each text, its lines in the viewport. `groups`: the number of the picture that lacks it.
    `texts`: whether it is a text; else it is a picture.
    """

    boxes: Sequence[Lines]
    texts: Sequence[bool]
    groups: Sequence[int]
    pictures: Sequence[bytes]


def open_world() -> Talk:
    """Return the world in which the ink of the page is taken away, and given back."""
    frame = (yield "Page.getFrameTree", {})["frameTree"]["frame"]["id"]
    made = yield "Page.createIsolatedWorld", {"frameId": frame, "worldName": WORLD}
    return [made["executionContextId"]]


def take_bare(world: int, wanted: Sequence[Mapping[str, Any]]) -> Talk:
    """Return one `Bare` of the texts and pictures that are `wanted`, as `observe.js` gives them.

    Raises:
        InkMoved: the page has changed since they were read.
    """
    call = {"executionContextId": world, "functionDeclaration": INK, "returnByValue": True}
    told = (yield "Runtime.callFunctionOn", {**call, "arguments": [{"value": [*wanted]}]})["result"]["value"]
    pictures = []
    for _ in range(min(max(told["groups"]) + 1, MOST_GROUPS)):
        pictures.append(base64.b64decode((yield "Page.captureScreenshot", _CAPTURE)["data"]))
        yield "Runtime.callFunctionOn", {**call, "arguments": []}
    if None in told["boxes"]:
        raise InkMoved
    return [Bare(told["boxes"], [each["says"] != "" for each in wanted], told["groups"], pictures)]


def read_ink(bare: Bare, picture: bytes) -> Talk:
    """Return the contrast of each text, or picture, with its ground in a PNG; None: it is illegible there.

    Where more than ink has changed, a further picture tells what moves.

    Raises:
        InkMoved: the page has another size than before.
    """
    from PIL import ImageChops  # noqa: PLC0415 (only where pictures are sent)

    there, without = _image(picture), [_image(each) for each in bare.pictures]
    if any(each.size != there.size for each in without):
        raise InkMoved
    moving = None
    if any(_has_moved(ImageChops.difference(there, each), bare, at) for at, each in enumerate(without)):
        again = _image(base64.b64decode((yield "Page.captureScreenshot", _CAPTURE)["data"]))
        if again.size != there.size:
            raise InkMoved
        moving = ImageChops.difference(there, again)
    return [
        contrast(there, without[group], lines, moving, text=text) if group < len(without) else None
        for lines, text, group in zip(bare.boxes, bare.texts, bare.groups, strict=True)
    ]


def contrast(
    there: "Image", bare: "Image", lines: Lines, moving: "Image | None", *, text: bool
) -> float | None:
    """Return the contrast (WCAG 2, 1 to 21) of a text's ink with its ground; None: it is illegible.

    there, bare: a picture with its ink and one without. moving: a picture that is not black where more than
    ink changes; None: only ink does.
    """
    found = []
    for line in lines:
        along = int(line[3] - line[1] <= line[2] - line[0])
        # What is drawn under or through a text is no letter: only steps along the line count.
        axes = (along,) if text else (0, 1)
        for box in _pieces(line, *there.size):
            still = None if moving is None else np.asarray(~_part(moving, box).any(axis=2))
            found.append(_edges(_part(there, box), _part(bare, box), still, axes))
    legible = [highest for share, highest in found if share >= _SHARE]
    if not found or len(legible) < _LEGIBLE * len(found):
        return None
    return round(math.exp(max(legible)), 2)


def _pieces(line: Sequence[float], width: int, height: int) -> list[Box]:
    """The parts of a picture in which a line stands, each about as long as the line is high."""
    left, top, right, bottom = line
    inset = 0.12 * min(right - left, bottom - top)
    x0, x1 = max(round(left), 0), min(round(right), width)
    y0, y1 = max(round(top), 0), min(round(bottom), height)
    if bottom - top <= right - left:
        y0, y1 = max(round(top + inset), 0), min(round(bottom - 1.8 * inset), height)
    else:
        x0, x1 = max(round(left + inset), 0), min(round(right - inset), width)
    if x1 - x0 < _SMALLEST or y1 - y0 < _SMALLEST:
        return []
    long, short = max(right - left, bottom - top), max(min(right - left, bottom - top), 1.0)
    count = max(1, min(round(long / short), 200))
    across = right - left >= bottom - top
    ends = np.linspace(x0 if across else y0, x1 if across else y1, count + 1).round().astype(int).tolist()
    parts = [(a, b) for a, b in pairwise(ends) if b - a >= _SMALLEST]
    return [(a, y0, b, y1) if across else (x0, a, x1, b) for a, b in parts]


def _edges(
    there: Pixels, bare: Pixels, still: NDArray[np.bool_] | None, axes: tuple[int, ...]
) -> tuple[float, float]:
    """The share of pixels at the edges of strokes of ink, and the logarithm of the ink's highest contrast."""
    if (there == bare).all():
        return 0.0, 0.0
    light = np.log(_LINEAR[there] @ _WEIGHTS + 0.05)
    ink = np.abs(light - np.log(_LINEAR[bare] @ _WEIGHTS + 0.05))
    if still is not None:
        ink = np.where(still, ink, 0)
    step = max(1, min(there.shape[:2]) // 12)
    at_edge = np.zeros(ink.shape, dtype=bool)
    for axis in axes:
        ahead = tuple(slice(step, None) if each == axis else slice(None) for each in (0, 1))
        behind = tuple(slice(None, -step) if each == axis else slice(None) for each in (0, 1))
        # Strokes are drawn in the picture itself; where they are not, what changed lies under it.
        at_edge[behind] |= (np.abs(ink[ahead] - ink[behind]) >= _STEP) & (
            np.abs(light[ahead] - light[behind]) >= _STEP / 2
        )
    return float(at_edge.mean()), float(ink.max())


def _has_moved(changed: "Image", bare: Bare, group: int) -> bool:
    """Whether more than the ink of a group has changed; `changed` is black where nothing has."""
    for lines, its in zip(bare.boxes, bare.groups, strict=True):
        for left, top, right, bottom in lines if its == group else ():
            reach = (bottom - top) / 2
            outer = (left - reach, top - reach, right + reach, bottom + reach)
            box = tuple(max(round(side), 0) for side in outer)
            box = (box[0], box[1], min(box[2], changed.width), min(box[3], changed.height))
            if box[0] >= box[2] or box[1] >= box[3]:
                continue
            if _part(changed, box).any(axis=2).mean() > _MOVED:
                return True
            changed.paste((0, 0, 0), box)
    return changed.getbbox() is not None


def _part(image: "Image", box: Box) -> Pixels:
    return np.asarray(image.crop(box))


def _image(png: bytes) -> "Image":
    from PIL import Image as images  # noqa: PLC0415 (only where pictures are sent)

    image: Image = images.open(io.BytesIO(png))
    return image if image.mode == "RGB" else image.convert("RGB")
