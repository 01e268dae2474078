"""Make a recorded page harmless to look at, with what matters in it marked.

A recorded page is a stranger's. It is only ever shown in a frame without scripts, forms, pop-ups and a
network; and of its tags and attributes only those are left that cannot ask for anything.
"""

import html
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from selectolax.lexbor import LexborNode

from interventions.data_file import read_data, read_source
from interventions.html.tree import parse

FRAME_CSP: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

LARGEST: Final = 2_000_000
"""The most characters of a page that are shown."""
MOST_TAGS: Final = 20_000
"""The most tags of a page that is rendered: time to parse grows with the square of how deep they stand."""

_HARMLESS: Final = frozenset(read_data(__file__, "recorded_page.yaml")["tags"].split())
"""The tags that are left."""
_KEPT: Final = frozenset(read_data(__file__, "recorded_page.yaml")["attributes"].split())
"""The attributes that are left, besides those that begin with `aria-`."""
_PICTURE: Final = re.compile(r"data:image/(png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+")
_ACTED: Final = "souk-acted"
_EDITED: Final = "souk-edited"
_START: Final = "souk-start"

STYLE: Final = read_source(__file__, "recorded_page.css")


def frame(page: str, edited: Sequence[str] = (), acted: str = "", start: int | None = None) -> str:
    """Return a document for the frame of a recorded page.

    edited: texts that the proxy has put into it, which are marked. acted: the mark (`bid`) of the element
    that the agent acted on. start: the number of the text at which the frame is first seen; without it, at
    the first mark.
    """
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{FRAME_CSP}">'
        '<meta http-equiv="x-dns-prefetch-control" content="off"><meta name="referrer" content="no-referrer">'
        f"<title>Recorded page</title><style>{STYLE}</style></head>"
        f"<body>{harmless(page[:LARGEST], edited, acted, start)}</body></html>"
    )


def first_difference(one: str, other: str) -> int:
    """Return the number of the last text before the first one in which two pages differ."""
    both = zip(_texts(one[:LARGEST]), _texts(other[:LARGEST]), strict=False)
    same = itertools.takewhile(lambda texts: texts[0] == texts[1], both)
    return max(sum(1 for _ in same) - 1, 0)


def harmless(page: str, edited: Sequence[str] = (), acted: str = "", start: int | None = None) -> str:
    """Return the body of a page with nothing in it that can run or ask for anything."""
    if page.count("<") > MOST_TAGS:
        return "<p>This page is too large to be rendered; its source is shown beside it.</p>"
    body = parse(_as_page(page)).body
    if body is None:
        return ""
    marked = _pattern(edited)
    parts: list[str] = []
    _write(body, parts, marked, acted, start)
    return "".join(parts)


def _as_page(text: str) -> str:
    """Data, which a shop without pages has answered, as a page that can be read; a page as it is."""
    if not text.startswith(("{", "[")):
        return text
    with suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return f"<pre>{html.escape(text)}</pre>"


def marked_source(page: str, edited: Sequence[str] = (), acted: str = "") -> str:
    """Return the source of a page as escaped HTML, with the same places marked as in the frame."""
    page = page[:LARGEST]
    patterns = [each for each in (_pattern(edited), _bid(acted)) if each is not None]
    if not patterns:
        return html.escape(page)
    parts, end = [], 0
    for found in re.finditer("|".join(f"(?:{each.pattern})" for each in patterns), page):
        kind = "acted" if found[0].startswith("bid=") else "edited"
        parts += [
            html.escape(page[end : found.start()]),
            f'<mark class="{kind}">{html.escape(found[0])}</mark>',
        ]
        end = found.end()
    return "".join([*parts, html.escape(page[end:])])


def _nodes(root: LexborNode) -> Iterator[LexborNode | str]:
    """Yield the harmless nodes inside a node, and the end tags where they belong.

    It goes without recursion, because a page may be deeper than a stack.
    """
    todo: list[LexborNode | str] = [*_children(root)[::-1]]
    while todo:
        node = todo.pop()
        if isinstance(node, str) or node.tag == "-text":
            yield node
        elif node.tag in _HARMLESS:
            yield node
            todo += [f"</{_tag(node)}>", *_children(node)[::-1]] if node.tag not in _VOID else []


def _texts(page: str) -> list[str]:
    body = parse(page).body if page.count("<") <= MOST_TAGS else None
    nodes = _nodes(body) if body else ()
    return [node.text_content or "" for node in nodes if not isinstance(node, str) and node.tag == "-text"]


def _write(
    root: LexborNode, parts: list[str], marked: re.Pattern[str] | None, acted: str, start: int | None
) -> None:
    texts = 0
    for node in _nodes(root):
        if isinstance(node, str):
            parts.append(node)
        elif node.tag == "-text":
            text = _text(node.text_content or "", marked)
            parts.append(f'<span class="{_START}">{text}</span>' if texts == start else text)
            texts += 1
        else:
            parts.append(f"<{_tag(node)}{_attributes(node, acted)}>")


def _tag(node: LexborNode) -> str:
    return "div" if node.tag in ("html", "head", "body", "form") else str(node.tag)


_VOID: Final = frozenset(["br", "col", "hr", "img", "input", "wbr"])


def _children(node: LexborNode) -> list[LexborNode]:
    return list(node.iter(include_text=True))


def _attributes(node: LexborNode, acted: str) -> str:
    attributes = node.attributes
    kept = {
        name: value or ""
        for name, value in attributes.items()
        if name in _KEPT or name.startswith("aria-") or (name == "src" and _PICTURE.fullmatch(value or ""))
    }
    if address := attributes.get("href"):
        kept["title"] = f"{kept.get('title', '')} {address}".strip()
    if acted and attributes.get("bid") == acted:
        kept["class"] = f"{kept.get('class', '')} {_ACTED}".strip()
    return "".join(f' {name}="{html.escape(value)}"' for name, value in kept.items() if _NAME.fullmatch(name))


_NAME: Final = re.compile(r"[a-z][a-z-]*")


def _text(text: str, marked: re.Pattern[str] | None) -> str:
    if marked is None:
        return html.escape(text)
    parts, end = [], 0
    for found in marked.finditer(text):
        parts += [
            html.escape(text[end : found.start()]),
            f'<mark class="{_EDITED}">{html.escape(found[0])}</mark>',
        ]
        end = found.end()
    return "".join([*parts, html.escape(text[end:])])


def _pattern(texts: Sequence[str]) -> re.Pattern[str] | None:
    """What finds one of the texts, however its spaces are broken; the longest first."""
    words = sorted({tuple(text.split()) for text in texts if len(text.strip()) > 1}, key=len, reverse=True)
    return re.compile("|".join(r"\s+".join(map(re.escape, each)) for each in words)) if words else None


def _bid(acted: str) -> re.Pattern[str] | None:
    return re.compile(f'bid="{re.escape(acted)}"') if acted else None
