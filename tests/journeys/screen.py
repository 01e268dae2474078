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
INK = "color: transparent !important; -webkit-text-fill-color: transparent !important"
NO_INK = f"*::before, *::after, *::marker {{ {INK} }}"
# Not by another text, which what edits pages would take for the page's own; attributes of this name it knows.
# What is inside a field no page is told.
BLANK = f"""function (blank, text) {{
  const field = this.getRootNode().host?.closest("input, textarea");
  const holder = field ?? this.parentElement, root = holder.getRootNode();
  if (field) this.data = blank ? "" : text;
  if (blank) {{
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`[browsergym_blank] {{ {INK}; fill: transparent !important; transition: none !important;
      text-shadow: none !important; text-decoration-color: transparent !important }}`);
    root.adoptedStyleSheets.push(sheet);
    holder.setAttribute("browsergym_blank", "");
  }} else {{
    root.adoptedStyleSheets.pop();
    holder.removeAttribute("browsergym_blank");
  }}
}}"""


def bare(text: str) -> str:
    """A text without white space, in small letters: what an eye reads, however it is put together."""
    return re.sub(r"[\s\u00a0]+", "", text).casefold()


async def is_on_screen(page: Page, text: str, *, whole: bool = False) -> bool:
    """Whether a text can be seen on the screen, in one piece or in several, whatever writes it there.

    whole: on a screen as large as the page, which has not been scrolled.
    """
    if not text:
        return False
    await page.evaluate("document.documentElement.offsetHeight")  # what was never laid out has no boxes
    session = await page.context.new_cdp_session(page)
    try:
        return await _is_drawn(page, session, text, whole) or await _is_written_by_style(
            page, session, text, whole
        )
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


async def _is_drawn(page: Page, session: CDPSession, text: str, whole: bool) -> bool:
    root = (await session.send("DOM.getDocument", {"depth": -1, "pierce": True}))["root"]
    nodes = {id(node): node for found in _holding(root, text) for node in found}
    if not nodes:
        return False
    # Only what changes at the text itself: others in the same element are blanked too.
    boxes = [box for node in nodes.values() for box in await _boxes(session, node)]
    before = await _pixels(page, whole)
    for node in nodes.values():
        await _blank(session, node, blank=True)
    after = await _pixels(page, whole)
    for node in nodes.values():
        await _blank(session, node, blank=False)
    return sum(_differ(before.crop(box), after.crop(box)) for box in boxes) >= 3 * len(text)


async def place_of(page: Page, text: str) -> tuple[int, int] | None:
    """Where a text is first drawn on the screen, in pixels from the upper left corner; None: nowhere."""
    session = await page.context.new_cdp_session(page)
    root = (await session.send("DOM.getDocument", {"depth": -1, "pierce": True}))["root"]
    for node in (node for found in _holding(root, text) for node in found):
        boxes = await _boxes(session, node)
        before = await _pixels(page)
        await _blank(session, node, blank=True)
        after = await _pixels(page)
        await _blank(session, node, blank=False)
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


async def _blank(session: CDPSession, node: dict[str, Any], *, blank: bool) -> None:
    """Take the colour of a text away, or give it back."""
    element = await session.send("DOM.resolveNode", {"backendNodeId": node["backendNodeId"]})
    call = {
        "objectId": element["object"]["objectId"],
        "functionDeclaration": BLANK,
        "arguments": [{"value": blank}, {"value": node["nodeValue"]}],
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


async def _is_written_by_style(page: Page, session: CDPSession, text: str, whole: bool) -> bool:
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
    before = await _pixels(page, whole)
    blank = await page.add_style_tag(content=NO_INK)
    after = await _pixels(page, whole)
    await blank.evaluate("(element) => element.remove()")
    return _differ(before, after) >= 3 * len(text)


async def _pixels(page: Page, whole: bool = False) -> Image.Image:
    return Image.open(io.BytesIO(await page.screenshot(full_page=whole))).convert("L")


def _differ(before: Image.Image, after: Image.Image) -> int:
    """How many pixels differ so much that an eye can tell."""
    return sum(ImageChops.difference(before, after).histogram()[24:])
