"""Read what the screen shows, without the engine: the oracle of the generated attacks.

It asks the browser over CDP, so that closed shadow trees, frames and what style sheets write are in it.
A text is shown where blanking it changes pixels.
"""

import io
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from PIL import Image, ImageChops
from playwright.async_api import CDPSession, Page
from playwright.async_api import Error as PlaywrightError

NO_TEXT = {"SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "TITLE"}
TEXT, DOCUMENT = 3, 9
NO_INK = (
    "*::before, *::after, *::marker "
    "{ color: transparent !important; -webkit-text-fill-color: transparent !important }"
)


def bare(text: str) -> str:
    """A text without white space, in small letters: what an eye reads, however it is put together."""
    return re.sub(r"[\s\u00a0]+", "", text).casefold()


async def is_on_screen(page: Page, text: str) -> bool:
    """Whether a text can be seen on the screen, in one piece or in several, whatever writes it there."""
    if not text:
        return False
    session = await page.context.new_cdp_session(page)
    try:
        return await _is_drawn(page, session, text) or await _is_written_by_style(page, session, text)
    finally:
        await session.detach()


def is_read(html: str, text: str) -> bool:
    """Whether a reader of an observation finds a text in it, or in an attribute that it holds."""
    forms = (html, re.sub(r"<[^>]*>", "", html), re.sub(r"<[^>]*>", "|", html))
    return bool(text) and any(holds(bare(unescape(each)), text) for each in forms)


def holds(plain: str, text: str) -> bool:
    """Whether bare texts hold a text that is no part of a longer figure."""
    wanted = bare(text)
    before = r"(?<!\d)(?<!\d[.,])" if wanted[0].isdigit() else ""
    return (
        re.search(before + re.escape(wanted) + (r"(?!\d)" if wanted[-1].isdigit() else ""), plain) is not None
    )


async def _is_drawn(page: Page, session: CDPSession, text: str) -> bool:
    root = (await session.send("DOM.getDocument", {"depth": -1, "pierce": True}))["root"]
    nodes = {id(node): node for found in _holding(root, text) for node in found}
    if not nodes:
        return False
    # Only what changes at the text itself: what stands behind it in a line moves.
    boxes = [box for node in nodes.values() for box in await _boxes(session, node)]
    before = await _pixels(page)
    for node in nodes.values():
        await _write(session, node, "\u00a0" * len(node["nodeValue"]))
    after = await _pixels(page)
    for node in nodes.values():
        await _write(session, node, node["nodeValue"])
    return sum(_differ(before.crop(box), after.crop(box)) for box in boxes) >= 3 * len(text)


async def place_of(page: Page, text: str) -> tuple[int, int] | None:
    """Where a text is first drawn on the screen, in pixels from the upper left corner; None: nowhere."""
    session = await page.context.new_cdp_session(page)
    root = (await session.send("DOM.getDocument", {"depth": -1, "pierce": True}))["root"]
    for node in (node for found in _holding(root, text) for node in found):
        boxes = await _boxes(session, node)
        before = await _pixels(page)
        await _write(session, node, "\u00a0" * len(node["nodeValue"]))
        after = await _pixels(page)
        await _write(session, node, node["nodeValue"])
        for box in boxes:
            if _differ(before.crop(box), after.crop(box)) >= 3 * len(text):
                return box[:2]
    return None


async def colours(page: Page) -> dict[tuple[int, int, int], int]:
    """How many pixels the screen has of each colour."""
    taken = Image.open(io.BytesIO(await page.screenshot())).convert("RGB")
    return {colour: count for count, colour in taken.getcolors(taken.width * taken.height) or ()}


async def _boxes(session: CDPSession, node: dict[str, Any]) -> list[tuple[int, int, int, int]]:
    """Where a text node is on the screen; CDP knows no boxes of what is not drawn."""
    try:
        found = await session.send("DOM.getContentQuads", {"backendNodeId": node["backendNodeId"]})
    except PlaywrightError:
        return []
    quads = [(quad[::2], quad[1::2]) for quad in found["quads"]]
    return [(int(min(x)), int(min(y)), int(max(x)) + 1, int(max(y)) + 1) for x, y in quads]


async def _write(session: CDPSession, node: dict[str, Any], text: str) -> None:
    element = await session.send("DOM.resolveNode", {"backendNodeId": node["backendNodeId"]})
    call = {
        "objectId": element["object"]["objectId"],
        "functionDeclaration": "function (text) { this.data = text; }",
        "arguments": [{"value": text}],
    }
    await session.send("Runtime.callFunctionOn", call)


def _holding(node: dict[str, Any], text: str) -> Iterator[list[dict[str, Any]]]:
    """The text nodes of the innermost elements that hold a text."""
    inner = [found for child in _children(node) for found in _holding(child, text)]
    if inner:
        yield from inner
        return
    texts = list(_texts(node))
    if holds(bare("".join(each["nodeValue"] for each in texts)), text):
        # Only those of it: the elements around may hold much besides.
        while len(texts) > 1 and holds(bare("".join(each["nodeValue"] for each in texts[1:])), text):
            texts = texts[1:]
        while len(texts) > 1 and holds(bare("".join(each["nodeValue"] for each in texts[:-1])), text):
            texts = texts[:-1]
        yield texts


def _children(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if node["nodeName"].upper() not in NO_TEXT:
        yield from node.get("shadowRoots", ())
        yield from node.get("children", ())
        if "contentDocument" in node:
            yield node["contentDocument"]


def _texts(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if node["nodeType"] == TEXT:
        yield node
    for child in _children(node):
        yield from _texts(child)


async def _is_written_by_style(page: Page, session: CDPSession, text: str) -> bool:
    taken = await session.send("DOMSnapshot.captureSnapshot", {"computedStyles": []})
    strings = taken["strings"]
    found = False
    for document in taken["documents"]:
        parents, layout = document["nodes"]["parentIndex"], document["layout"]
        pseudo = set(document["nodes"].get("pseudoType", {}).get("index", ()))
        written: dict[int, str] = {}
        for node, at in zip(layout["nodeIndex"], layout["text"], strict=True):
            by = node
            while by >= 0 and by not in pseudo:
                by = parents[by]
            if by >= 0 and at >= 0:
                written[by] = written.get(by, "") + strings[at]
        found |= any(holds(bare(each), text) for each in written.values())
    if not found:
        return False
    before = await _pixels(page)
    blank = await page.add_style_tag(content=NO_INK)
    after = await _pixels(page)
    await blank.evaluate("(element) => element.remove()")
    return _differ(before, after) >= 3 * len(text)


async def _pixels(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(await page.screenshot())).convert("L")


def _differ(before: Image.Image, after: Image.Image) -> int:
    """How many pixels differ so much that an eye can tell."""
    return sum(ImageChops.difference(before, after).histogram()[24:])
