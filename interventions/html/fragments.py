"""Parts of pages, which scripts fetch and put into a page: a parser has to know where they will stand."""

import re
from html import escape
from typing import Final

from interventions.html.marking import SELECTOR
from interventions.html.markup import tokens

_WHOLE: Final = re.compile(rb"<(?:!doctype|html|head|body|title|frameset)[\s/>]", re.I)
_BEGINNING: Final = 2_000  # bytes
_IN_TABLES: Final = frozenset({"caption", "col", "colgroup", "tbody", "td", "tfoot", "th", "thead", "tr"})
_ANYWHERE: Final = frozenset({"link", "meta", "script", "style"})


def is_part(source: bytes) -> bool:
    """Return whether this is a part of a page: nothing that only a whole page has stands at its start."""
    return not _WHOLE.search(source, 0, _BEGINNING)


def around(source: bytes) -> bytes:
    """Return the start tags without which a parser would drop the first tag of a part, such as `<tr>`."""
    for token in tokens(source, 0):
        if token.tag and token.tag.name not in _ANYWHERE:
            return b"<table>" if token.tag.name in _IN_TABLES else b""
    return b""


def surroundings(selector: str) -> bytes:
    """Return start tags of elements in which a selector's last element would be met.

    Empty where it names none, or they are more than tags, classes, ids and attributes with a value.
    """
    opened, tag, classes, attributes, position = "", "", "", "", 0
    while position < len(selector):
        match = SELECTOR.match(selector, position)
        if match is None or match["comma"] or match[0].lstrip()[:1] in tuple("+~:(*"):
            return b""
        value = match["v1"] or match["v2"] or match["v3"] or ""
        if match["combinator"]:
            opened += f'<{tag or "div"}{attributes} class="{classes}">'
            tag = classes = attributes = ""
        elif match["name"] and match[0].startswith("."):
            classes += f" {match['name']}"
        elif match["name"] or match["key"]:
            attributes += f' {match["key"] or "id"}="{escape(match["name"] or value)}"'
        else:
            tag = match["type"]
        position = match.end()
    return opened.encode()
