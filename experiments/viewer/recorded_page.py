"""Make a recorded page harmless to look at, with what matters in it marked.

A recorded page is a stranger's. It is only ever shown in a frame without scripts, forms, pop-ups and a
network; and of its tags and attributes only those are left that cannot ask for anything.
"""

import html
import re
from collections.abc import Sequence
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

FRAME_CSP: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

LARGEST: Final = 2_000_000
"""The most characters of a page that are shown."""
MOST_TAGS: Final = 20_000
"""The most tags of a page that is rendered: time to parse grows with the square of how deep they stand."""

_HARMLESS: Final = frozenset(
    re.findall(
        r"\w+",
        "a abbr address article aside b bdi bdo blockquote body br button caption center cite code "
        "col colgroup dd del details dfn div dl dt em fieldset figcaption figure font footer form h1 "
        "h2 h3 h4 h5 h6 head header hr html i img input ins kbd label legend li main mark menu meter "
        "nav ol optgroup option output p pre progress q s samp section select small span strong sub "
        "summary sup table tbody td textarea tfoot th thead time tr tt u ul var wbr",
    )
)
"""The tags that are left."""
_KEPT: Final = frozenset(
    re.findall(
        r"\w+",
        "alt bid checked class colspan dir disabled for height label lang low high max min multiple open "
        "optimum placeholder role rows rowspan selected size span start title type value width",
    )
)
"""The attributes that are left, besides those that begin with `aria-`."""
_PICTURE: Final = re.compile(r"data:image/(png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+")
_ACTED: Final = "souk-acted"
_EDITED: Final = "souk-edited"

STYLE: Final = f"""
:root {{ color-scheme: light; scroll-padding-top: 4em; }}
body {{ font: 15px/1.5 system-ui, sans-serif; color: #1d2127; background: #fff;
  margin: 16px; overflow-wrap: anywhere; }}
a {{ color: #1f4fa3; text-decoration: underline; }}
ul {{ padding-left: 1.3em; }} img {{ max-width: 100%; }} table {{ border-collapse: collapse; }}
td, th {{ padding: 2px 8px; text-align: left; vertical-align: top; }}
button, input, select, textarea {{ font: inherit; max-width: 100%; }}
.{_ACTED}, .{_EDITED} {{ scroll-initial-target: nearest; }}
.{_ACTED} {{ outline: 3px solid #2456d6 !important; outline-offset: 2px; }}
.{_EDITED} {{ background: #ffe58a; color: #000; box-shadow: 0 0 0 3px #ffe58a; }}
"""


def frame(page: str, edited: Sequence[str] = (), acted: str = "") -> str:
    """Return a document for the frame of a recorded page.

    edited: texts that the proxy has put into it, which are marked. acted: the mark (`bid`) of the element
    that the agent acted on.
    """
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{FRAME_CSP}">'
        '<meta http-equiv="x-dns-prefetch-control" content="off"><meta name="referrer" content="no-referrer">'
        f"<title>Recorded page</title><style>{STYLE}</style></head>"
        f"<body>{harmless(page[:LARGEST], edited, acted)}</body></html>"
    )


def harmless(page: str, edited: Sequence[str] = (), acted: str = "") -> str:
    """Return the body of a page with nothing in it that can run or ask for anything."""
    if page.count("<") > MOST_TAGS:
        return "<p>This page is too large to be rendered; its source is shown beside it.</p>"
    body = LexborHTMLParser(page).body
    if body is None:
        return ""
    marked = _pattern(edited)
    parts: list[str] = []
    _write(body, parts, marked, acted)
    return "".join(parts)


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


def _write(root: LexborNode, parts: list[str], marked: re.Pattern[str] | None, acted: str) -> None:
    """Write what is inside a node. It goes without recursion, because a page may be deeper than a stack."""
    todo: list[LexborNode | str] = [*_children(root)[::-1]]
    while todo:
        node = todo.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node.tag == "-text":
            parts.append(_text(node.text_content or "", marked))
        elif node.tag in _HARMLESS:
            name = "div" if node.tag in ("html", "head", "body", "form") else node.tag
            parts.append(f"<{name}{_attributes(node, acted)}>")
            todo += [f"</{name}>", *_children(node)[::-1]] if name not in _VOID else []


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
