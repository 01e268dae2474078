"""One look at a page: its pruned HTML by one call inside the page; a tree and a picture where wanted."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from playwright.async_api import Page

from environments.accessibility import read_tree
from environments.stops import Stop

OBSERVE: Final = (Path(__file__).parent / "observe.js").read_text(encoding="utf-8")

SCREENSHOT_TIMEOUT_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class View:
    """What an observation holds beside the tabs and the last error."""

    page: Literal["viewport", "whole"] = "viewport"
    """How much of the page, as HTML and as tree."""
    tree: bool = False
    """The accessibility tree too."""
    screenshot: bool = False
    """A PNG of the viewport too."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a page shows; `stop` is the index of the stop condition that holds, or -1."""

    html: str
    title: str
    url: str
    stop: int
    tree: str
    screenshot: bytes


class Disturbed(Exception):
    """The page has replaced functions that the call inside it uses."""


async def observe(page: Page, view: View, stops: Sequence[Stop]) -> Seen:
    """Look at a page.

    Raises:
        Disturbed: the page's scripts make it impossible.
        playwright.async_api.Error: the page is gone, or has just navigated.
    """
    arguments = {
        "wholePage": view.page == "whole",
        "tree": view.tree,
        "stops": [asdict(stop) for stop in stops],
    }
    seen = await page.evaluate(OBSERVE, arguments)
    if not _is_sound(seen, len(stops)):
        raise Disturbed("the page's scripts disturb the observation")
    tree, screenshot = "", b""
    if view.tree:
        session = await page.context.new_cdp_session(page)
        tree = await read_tree(session, seen["shown"])
        await session.detach()
    if view.screenshot:
        screenshot = await page.screenshot(timeout=SCREENSHOT_TIMEOUT_MS)
    html, title = storable(seen["html"]), storable(seen["title"])
    return Seen(html, title, seen["url"], seen["stop"], storable(tree), screenshot)


def storable(text: str) -> str:
    """The text with a question mark for each half of a character: those cannot be sent or stored."""
    return text.encode(errors="replace").decode()


def _is_sound(seen: Any, stops: int) -> bool:
    match seen:
        case {"html": str(), "title": str(), "url": str(), "stop": int(stop), "shown": [*shown]}:
            return -1 <= stop < stops and all(isinstance(index, int) for index in shown)
    return False
