"""Take the picture of a part of the viewport, enlarged: drawn larger, and the page is not told."""

import asyncio
import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from playwright.async_api import CDPSession, Page

from environments.observation.picture import TIMEOUT_MS, ElementMark
from environments.protocol.actions import Action, ActionError

NO_CARET: Final = "* { caret-color: transparent !important }"
_SESSIONS: Final = WeakKeyDictionary[Page, CDPSession]()


@dataclass(frozen=True, slots=True)
class ViewportPart:
    """A part of a viewport, in CSS pixels, and by how much it is enlarged."""

    left: float
    top: float
    width: float
    height: float
    scale: float


def part_of(action: Action, width: int, height: int) -> ViewportPart:
    """Return the part of a viewport of this size that a `zoom` asks for, as large as fits the viewport.

    Raises:
        ActionError: it lies outside of the viewport, or the corners are not its upper left and lower right.
    """
    left, top, right, bottom = map(float, action.args)
    if min(left, top) < 0 or right > width or bottom > height:
        raise ActionError(
            f"zoom: ({left:g}, {top:g}) to ({right:g}, {bottom:g}) lies outside of the picture, which is "
            f"{width} x {height} pixels"
        )
    if right - left < 1 or bottom - top < 1:
        raise ActionError("zoom: x0, y0 must be the upper left corner and x1, y1 the lower right one")
    scale = min(width / (right - left), height / (bottom - top))
    return ViewportPart(left, top, right - left, bottom - top, scale)


async def take_part(page: Page, part: ViewportPart) -> bytes:
    """Return a PNG of a part of the viewport, without a caret.

    The sizes of the page's window and screen, where it is scrolled to and the density of its pixels stay.

    Raises:
        TimeoutError, playwright.async_api.Error: the page is not drawn, or gone.
    """
    session = await _session(page)
    for domain in ("DOM", "CSS"):
        await session.send(f"{domain}.enable")
    frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
    sheet = await session.send("CSS.createStyleSheet", {"frameId": frame})  # which is in no document
    await session.send("CSS.setStyleSheetText", {**sheet, "text": NO_CARET})
    try:
        viewport = (await session.send("Page.getLayoutMetrics"))["cssVisualViewport"]
        clip = {
            "x": viewport["pageX"] + part.left,
            "y": viewport["pageY"] + part.top,
            "width": part.width,
            "height": part.height,
            "scale": part.scale,
        }
        async with asyncio.timeout(TIMEOUT_MS / 1000):
            taken = await session.send("Page.captureScreenshot", {"format": "png", "clip": clip})
        return base64.b64decode(taken["data"])
    finally:
        await session.send("CSS.setStyleSheetText", {**sheet, "text": ""})
        for domain in ("CSS", "DOM"):
            await session.send(f"{domain}.disable")


async def _session(page: Page) -> CDPSession:
    """The session by which parts of a page are taken, as long as it is open.

    After a picture of a part Chromium sets the sizes of window and screen anew, to those that its session has
    asked for. Where this one had asked for none, or was gone, the page would see those of a bare browser.
    """
    if page not in _SESSIONS:
        size = page.viewport_size or {"width": 0, "height": 0}
        screen = {f"screen{name.capitalize()}": length for name, length in size.items()}
        session = await page.context.new_cdp_session(page)
        asked = {**size, **screen, "deviceScaleFactor": 1, "mobile": False}
        await session.send("Emulation.setDeviceMetricsOverride", asked)
        _SESSIONS[page] = session
    return _SESSIONS[page]


def in_part(marked: Sequence[ElementMark], part: ViewportPart) -> list[ElementMark]:
    """Return the elements that are in a part, with their boxes in pixels of its picture."""
    moved = []
    for each in marked:
        left, top, width, height = each.box
        x, y = left - part.left, top - part.top
        if x < part.width and y < part.height and x + width > 0 and y + height > 0:
            box = (
                round(x * part.scale),
                round(y * part.scale),
                round(width * part.scale),
                round(height * part.scale),
            )
            moved.append(ElementMark(each.bid, box))
    return moved
