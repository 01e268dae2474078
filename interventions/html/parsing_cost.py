"""Count, on a page's bytes, the steps that the parser may need: they grow with the square of what is open.

For most tags the parser walks over all elements that are open; for an attribute, over those before it in the
tag; for an option, over those of its select. The count takes linear time, and is never much too low: a start
tag counts wherever there may be one, an end tag only where it surely ends its element.
"""

import re
from functools import lru_cache
from typing import Final

from interventions.html.markup import ATTRIBUTE, ATTRIBUTES, COMMENT, RAW, TAG, VOID
from interventions.html.placement import BLOCKS

_SCAN: Final = re.compile(rb"%b|%b|</?[a-zA-Z]" % (TAG, COMMENT), re.S)
_CROWDED: Final = re.compile(rb"<[a-zA-Z][^\t\n\f\r />]*+(?:[\t\n\f\r /]*+%b){100}" % ATTRIBUTE)
"""Tags with so many attributes that these count."""
_ROOTS: Final = 8
_WITHIN: Final = 32
"""How many of the elements that were opened last an end tag may end."""
# fmt: off
_INTEGRATION: Final = frozenset([
    "foreignobject", "desc", "title", "annotation-xml", "mi", "mn", "mo", "ms", "mtext",
])
"""Elements of SVG and MathML that hold HTML."""
_BOUNDS: Final = _INTEGRATION | {
    "applet", "button", "caption", "html", "marquee", "object", "select", "table", "tbody", "td", "template",
    "tfoot", "th", "thead", "tr",
}
"""No end tag of a block ends it through one of these."""
_ODD: Final = frozenset(["svg", "math", "select", "template", "frameset"])
"""Elements in which what is a script or a text elsewhere may hold tags."""
_CELL, _ROW, _TERM = frozenset(["td", "th"]), frozenset(["td", "th", "tr"]), frozenset(["dd", "dt"])
_GROUP: Final = _ROW | {"tbody", "tfoot", "thead", "colgroup"}
_ENDED_BY: Final = {
    "li": frozenset(["li"]), "option": frozenset(["option"]),
    **dict.fromkeys(_TERM, _TERM), **dict.fromkeys(_CELL, _CELL), "tr": _ROW,
    "tbody": _GROUP, "tfoot": _GROUP, "thead": _GROUP,
}
"""A start tag -> the elements without an end tag that it ends, where they were opened last."""
_OPTIONAL: Final = frozenset(["p"]).union(*_ENDED_BY.values())
_ENCLOSING: Final = frozenset(["select", "table", "tbody", "tfoot", "thead", "tr"])
"""What ends those in it."""
_FOREIGN: Final = frozenset([
    "animate", "circle", "clippath", "defs", "ellipse", "filter", "g", "image", "line", "lineargradient",
    "mask", "math", "mfrac", "mrow", "msub", "msup", "path", "pattern", "polygon", "polyline",
    "radialgradient", "rect", "stop", "svg", "symbol", "use",
])
"""Elements in which the parser surely stays in SVG or MathML."""
_PHRASES: Final = _FOREIGN | {
    "a", "abbr", "b", "big", "cite", "code", "del", "em", "font", "i", "ins", "kbd", "label", "nobr", "q",
    "s", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var",
}
"""Elements through which any end tag ends what is around them."""
# fmt: on


@lru_cache(maxsize=32)  # a page is parsed several times in a trial, and comes again in others
def parsing_steps(source: bytes, enough: int) -> int:
    """Return about how many steps the parser needs for a page; 0: surely fewer than `enough`."""
    tags = source.count(b"<")
    if tags * tags < 2 * enough and not _is_unusual(source):
        return 0
    tree, position, unsure = _Open(), 0, 0
    while (found := _SCAN.search(source, position)) and tree.steps < enough:
        start, position = found.span()
        if not found[2]:
            if found[0][-1:].isalpha():  # a tag without an end
                unsure = len(source)
            elif tree.odd and found[0].startswith(b"<![CDATA["):
                unsure = max(unsure, _end(source, rb"\]\]>", position))
            continue
        name, sure = found[2].decode("latin-1").lower(), start >= unsure
        if found[1]:
            tree.end(name, sure=sure)
        elif name not in RAW or not sure:
            tree.start(name, found[0], sure=sure)
        elif tree.odd or name == "noscript":  # there may be tags in it
            tree.start(name, found[0], sure=True)
            unsure = _end(source, rb"</%b[\t\n\f\r />]" % name.encode(), position)
        else:
            tree.start(name, found[0], sure=True)
            end = _end(source, rb"</%b[\t\n\f\r />]" % name.encode(), position)
            if name == "script" and (comment := source.find(b"<!--", position, end)) != -1:
                unsure = _end(source, rb"</script", _end(source, rb"-->", comment))
            else:
                position = end if name != "plaintext" else len(source)
    return tree.steps


def _is_unusual(source: bytes) -> bool:
    """Whether the parser may need more steps than half the square of the number of tags."""
    folded = source.lower()
    roots = folded.count(b"<html") + folded.count(b"<body")
    return roots > _ROOTS or b"<selectedcontent" in folded or _CROWDED.search(source) is not None


def _end(source: bytes, pattern: bytes, position: int) -> int:
    """Where a pattern is found, from a position on; the end of the source where it is not."""
    found = re.compile(pattern, re.I).search(source, position)
    return found.start() if found else len(source)


class _Open:
    """The elements that may be open: of each the name, and whether it surely holds SVG or MathML."""

    def __init__(self) -> None:
        self.steps = self.odd = self.options = self.copies = self.shared = 0
        self.stack: list[tuple[str, bool]] = []
        self.has_lost_form = False

    def start(self, name: str, tag: bytes, *, sure: bool) -> None:
        """Count a start tag; `sure`: there is one."""
        attributes = len(ATTRIBUTES.findall(tag, 1 + len(name))) if b" " in tag or len(tag) > _WITHIN else 0
        if name in ("html", "body"):  # they gather the attributes of all their tags
            self.shared += attributes
            self.steps += attributes * self.shared
            return
        self.options += name == "option"
        self.copies += name == "selectedcontent"
        self.steps += len(self.stack) + attributes**2 // 2
        self.steps += self.options * (1 + 4 * self.copies) if name == "option" else 0
        inside = bool(self.stack) and self.stack[-1][1]
        is_foreign = sure and (name in ("svg", "math") or (inside and name in _FOREIGN))
        if inside and not is_foreign and name not in _INTEGRATION | RAW:
            self.doubt()
        if (name in VOID and not is_foreign) or (is_foreign and tag.endswith(b"/>")):
            return
        if name in RAW and not self.odd and name != "noscript":
            return
        ended = _ENDED_BY.get(name, frozenset())
        if name in BLOCKS:
            ended |= {"p"}
        while sure and self.stack and self.stack[-1][0] in ended:
            self.stack.pop()
        self.stack.append((name, is_foreign))
        self.odd += name in _ODD

    def end(self, name: str, *, sure: bool) -> None:
        """Take away the element that an end tag surely ends, and those without end tags in it."""
        last = len(self.stack) - 1
        if not sure or last < 0 or self.stack[last][0] != name:
            self.doubt()
        for at in range(last, max(-1, last - _WITHIN), -1) if sure else ():
            open_name = self.stack[at][0]
            if open_name == name:
                if name != "frameset" and not (name == "form" and self.has_lost_form):
                    self.stack[at:] = [each for each in self.stack[at + 1 :] if each[0] not in _OPTIONAL]
                    self.odd -= name in _ODD
                    self.options *= name != "select"
                return
            if name in BLOCKS - _OPTIONAL - {"form"}:
                through = open_name not in _BOUNDS
            else:
                through = open_name in _PHRASES or (name in _ENCLOSING and open_name in _OPTIONAL)
            if not through:
                break
        self.has_lost_form |= name == "form"

    def doubt(self) -> None:
        """Forget whether the parser is in SVG or MathML."""
        if self.stack:
            self.stack[-1] = self.stack[-1][0], False
