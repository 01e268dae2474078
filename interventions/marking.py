"""A copy of a page whose start tags carry their own byte offset: a parsed element tells where it was written.

In a script, a comment or a quoted value the marks do no harm: the copy is only looked at.
"""

import re
import secrets
from collections.abc import Iterable

# A name that no page can know, so that no page can pretend to offsets.
MARK = f"data-souk-{secrets.token_hex(4)}"
_MARKS = re.compile(rf' {MARK}=(?:"\d+"|\d+ )')
_TAG = re.compile(rb"<[a-zA-Z][^\t\n\f\r />]*(?=[\t\n\f\r />])")
_SELECTOR = re.compile(
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


def mark(source: bytes, literals: Iterable[bytes]) -> bytes:
    """The copy, in which at least the start tags are marked that hold one of `literals`."""
    offsets = set()
    for literal in literals:
        found = source.find(literal)
        while found != -1:
            offsets.add(source.rfind(b"<", 0, found + 1))
            found = source.find(literal, found + len(literal))
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


def unmark(text: str) -> str:
    """Without the marks."""
    return _MARKS.sub("", text)


def literals(selectors: Iterable[str]) -> frozenset[bytes]:
    """Bytes of which one stands in every start tag that the selectors match, as tags are usually written.

    A hint that saves time: where it misses a tag (`<span class=pri&#99;e>`), all tags have to be marked.
    """
    found: set[str] = set()
    for selector in selectors:
        needed, position = "", 0
        while position < len(selector):
            match = _SELECTOR.match(selector, position)
            if match is None:
                return ALL_TAGS
            position = match.end()
            if match["combinator"]:
                needed = ""
            elif match["comma"]:
                found.add(needed)
                needed = ""
            else:
                value = match["v1"] or match["v2"] or match["v3"] or match["key"]
                # The rarest literal is best; a tag's name is the most common.
                kind = match["type"] and f"<{match['type']}"
                needed = max(
                    needed,
                    value or match["name"] or kind or "",
                    key=lambda text: (text[:1] not in "<", len(text)),
                )
        found.add(needed)
    # A literal that holds another one is found with it.
    shortest = (text for text in found if not any(other in text for other in found - {text}))
    return ALL_TAGS if "" in found else frozenset(text.encode() for text in shortest)


ALL_TAGS = frozenset([b"<"])
