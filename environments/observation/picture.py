"""Take the picture of a viewport: the same bytes for the same page, with the marks drawn in where wanted."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from playwright.async_api import Page

from environments.protocol.observation import Box, VisibleElement
from interventions.data_file import read_source

TIMEOUT_MS: Final = 10_000
LOADING_MS: Final = 5_000
"""The longest wait for the fonts and pictures of a page."""

# Animations are brought to their end, those without an end to their beginning; a page draws what is loaded.
READY: Final = read_source(__file__, "ready.js")

_LABEL: Final = (255, 235, 59)
_EDGE: Final = (198, 40, 40)
_PAD: Final = 2
_BLACK: Final = 21.0
"""The contrast of black with white: what stands in fields is taken for black."""
_COVERED: Final = 0.2
"""A text of which labels cover a larger share is not taken for readable."""


@dataclass(frozen=True, slots=True)
class ElementMark:
    """An element with a mark: its `bid`, and its box in pixels of the picture (left, top, width, height)."""

    bid: str
    box: Box


async def make_ready(page: Page) -> None:
    """Wait until fonts and the pictures in view are loaded, and end all animations."""
    await page.evaluate(READY, LOADING_MS)


async def take_picture(page: Page) -> bytes:
    """Return a PNG of the viewport: a pixel for each CSS pixel, no caret, no animation."""
    return await page.screenshot(
        type="png", scale="css", animations="disabled", caret="hide", timeout=TIMEOUT_MS
    )


def with_marks(picture: bytes, marked: Sequence[ElementMark]) -> tuple[bytes, list[Box]]:
    """Draw the marks of elements into a picture; return it, and the boxes of the labels."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 (few experiments draw marks)

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(11)
    labels: list[Box] = []
    for each in marked:
        left, top, width, height = each.box
        if width < 1 or height < 1:
            continue
        draw.rectangle((left, top, left + width - 1, top + height - 1), outline=_EDGE)
        *_, right, bottom = draw.textbbox((0, 0), each.bid, font=font)
        label_width, label_height = int(right) + 2 * _PAD, int(bottom) + 2 * _PAD
        # Beside the element where there is room: what it says stays readable.
        x = left - label_width if left >= label_width else left
        y = max(0, min(top, image.height - label_height))
        draw.rectangle((x, y, x + label_width - 1, y + label_height - 1), fill=_LABEL, outline=_EDGE)
        draw.text((x + _PAD, y + _PAD), each.bid, font=font, fill=(0, 0, 0))
        labels.append((x, y, label_width, label_height))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue(), labels


def is_covered(box: Box, labels: Sequence[Box]) -> bool:
    """Return whether labels cover so much of a box that its text cannot be taken for readable."""
    _, _, width, height = box
    shared = sum(_shared(box, label) for label in labels)
    return shared > _COVERED * width * height


def _shared(one: Box, other: Box) -> int:
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return max(width, 0) * max(height, 0)


def marked_in(read: Any) -> tuple[ElementMark, ...] | None:
    """Return the marked elements that the script has read; None: it is not what our script makes."""
    try:
        return tuple(ElementMark(_text(each["bid"]), _box(each["box"])) for each in read)
    except (KeyError, TypeError, ValueError):
        return None


def drawn_in_picture(
    read: Any, inks: Sequence[tuple[float | None, str]]
) -> tuple[VisibleElement, ...] | None:
    """Return the texts and controls that the script has read, and that can be read in the picture.

    inks: the contrast of each text there; None: it is illegible. The result is None where the script has
    read what our script does not make.
    """
    try:
        return tuple(
            VisibleElement(
                _text(each["kind"]),
                _text(each["text"]),
                _box(each["box"]),
                float(each["size"]),
                contrast,
                int(each["card"]),
            )
            for each in read
            if (contrast := inks[each["ink"]][0] if 0 <= each["ink"] < len(inks) else _BLACK) is not None
        )
    except (KeyError, TypeError, ValueError):
        return None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value.encode(errors="replace").decode()


def _box(value: Any) -> Box:
    left, top, width, height = (int(each) for each in value)
    return left, top, width, height
