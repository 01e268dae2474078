"""A copy of a page whose start tags carry their own byte offset: a parsed element tells where it was written.

In a script, a comment or a quoted value the marks do no harm: the copy is only looked at.
"""

import re
import secrets
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# A name that no page can know, so that no page can pretend to offsets.
MARK = f"data-souk-{secrets.token_hex(4)}"
_MARKS = re.compile(rf' {MARK}=(?:"\d+"|\d+ )')
_TAG = re.compile(rb"<[a-zA-Z][^\t\n\f\r />]*(?=[\t\n\f\r />])")
SELECTOR = re.compile(
    r"""\[\s*(?P<key>[\w:-]+)\s*
        (?:[~|^$*]?=\s*(?:"(?P<v1>[^"\\]*)"|'(?P<v2>[^'\\]*)'|(?P<v3>[\w-]+))\s*)?\]
    |\((?:[^()]|\([^()]*\))*\)
    |(?P<comma>\s*,\s*)
    |(?P<combinator>\s*[>+~]\s*|\s+)
    |:{1,2}[\w-]+
    |[.\#](?P<name>[\w-]+)
    |(?P<type>[\w-]+)
    |\*""",
    re.X | re.A,
)


class Marks(NamedTuple):
    """The start tags to mark: those that hold one of `literals`, and those soon after one of `near`.

    Only the first `limit` places of each count. Tags at `offsets` are marked as well. Marks are a hint that
    saves time: where they miss a wanted tag (`<span class=pri&#99;e>`), all tags have to be marked.
    """

    literals: frozenset[bytes] = frozenset()
    near: frozenset[bytes] = frozenset()
    limit: int | None = None
    offsets: frozenset[int] = frozenset()


def mark(source: bytes, marks: Marks) -> bytes:
    """Return a copy of the page with at least these start tags marked."""
    offsets = set(marks.offsets)
    for literal in marks.literals:
        offsets.update(source.rfind(b"<", 0, found + 1) for found in _places(source, literal, marks.limit))
    for literal in marks.near:
        for found in _places(source, literal, marks.limit):
            offsets.update(tag.start() for tag in _TAG.finditer(source, found, found + _SOON))
    # The spaces on both sides keep `<br/>` and `<a title='<b>'>` what they are.
    attribute = b" %b=%%d " % MARK.encode()
    parts: list[bytes] = []
    last = 0
    for offset in sorted(offsets):
        if tag := _TAG.match(source, offset) if offset >= 0 else None:
            parts += source[last : tag.end()], attribute % offset
            last = tag.end()
    parts.append(source[last:])
    return b"".join(parts)


def _places(source: bytes, literal: bytes, limit: int | None) -> Iterator[int]:
    found, count = source.find(literal), 0
    while found != -1 and count != limit:
        yield found
        found, count = source.find(literal, found + len(literal)), count + 1


def unmark(text: str) -> str:
    """Remove the marks from a text."""
    return _MARKS.sub("", text)


def marks_for(selectors: Iterable[str], limit: int | None = None) -> Marks:
    """Return the marks that find the elements of the selectors, as tags are usually written."""
    literals: set[str] = set()
    near: set[str] = set()
    for compounds in map(_compounds, selectors):
        for *around, last in compounds:
            # Many elements have no more than the name of their tag; the one around them tells more.
            named = [literal for literal in around if _rarity(literal) >= _NAMED]
            if _rarity(last) < _NAMED and named:
                near.add(named[-1])
            elif last:
                literals.add(last)
            else:
                return ALL_TAGS
    return Marks(_shortest(literals), _shortest(near), limit)


def hints(selectors: Iterable[str]) -> frozenset[bytes]:
    """Return bytes of which at least one stands in every page with an element that a selector matches."""
    return _shortest({max(chain, key=_rarity) for selector in selectors for chain in _compounds(selector)})


def _compounds(selector: str) -> list[list[str]]:
    """For each alternative of a selector the rarest literal of each compound, the subject's last."""
    chains, position = [[""]], 0
    while position < len(selector):
        match = SELECTOR.match(selector, position)
        if match is None:
            return [[""]]
        position = match.end()
        if match["combinator"]:
            chains[-1].append("")
        elif match["comma"]:
            chains.append([""])
        else:
            value = match["v1"] or match["v2"] or match["v3"] or match["key"]
            kind = match["type"] and f"<{match['type']}"
            found = value or match["name"] or kind or ""
            chains[-1][-1] = max(chains[-1][-1], found, key=_rarity)
    return chains


def _shortest(literals: set[str]) -> frozenset[bytes]:
    """A literal that holds another one is found with it."""
    needed = (text for text in literals if not any(other in text for other in literals - {text}))
    return frozenset(text.encode() for text in needed)


def _rarity(literal: str) -> tuple[int, int]:
    """Of some tags a page has few; the names of the others are the most common literals of all."""
    return (2 if literal in _RARE else 0 if literal[:1] in "<" else 1), len(literal)


_RARE = frozenset(["<body", "<form", "<h1", "<link", "<main", "<meta", "<title"])
_NAMED = (1, 0)
_SOON = 400
"""How many bytes after the literal of an element its children are looked for."""

ALL_TAGS = Marks(frozenset([b"<"]))
