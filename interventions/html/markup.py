"""Read HTML as bytes: tags, attributes and tokens by the HTML standard, without building a tree."""

import codecs
import html
import html.entities
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

# fmt: off
VOID = frozenset([
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen",
    "link", "meta", "param", "source", "track", "wbr",
])
RAW = frozenset([
    "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext",
])
# fmt: on

_WS = rb"[\t\n\f\r ]"
_VALUE = rb"(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^\t\n\f\r >\"'][^\t\n\f\r >]*+)|(?=>))"
# `=` may start a name. Once a name is followed by `=` a value has to follow: an open quote swallows the rest.
_NAME_BYTES = rb"(?P<name>[^\t\n\f\r />][^\t\n\f\r />=]*+)"
_NAMED_ATTRIBUTE = rb"%b(?:%b*+=%b*+%b|(?!%b*+=))" % (_NAME_BYTES, _WS, _WS, _VALUE, _WS)
ATTRIBUTES = re.compile(_NAMED_ATTRIBUTE)
ATTRIBUTE: Final = re.sub(rb"\?P<\w+>", rb"?:", _NAMED_ATTRIBUTE)
TAG: Final = rb"<(/?)([a-zA-Z][^\t\n\f\r />]*+)((?:[\t\n\f\r /]++|%b)*+)>" % ATTRIBUTE
_TAG = re.compile(TAG)
_REFERENCE = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[a-zA-Z][0-9a-zA-Z]*);?")
COMMENT: Final = rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<(?:[!?]|/[^a-zA-Z>])[^>]*(?:>|\Z)|</>"
_COMMENT = re.compile(COMMENT, re.S)


class Tag(NamedTuple):
    """A start or end tag from `start` to `end`; `name` is lower-case."""

    name: str
    start: int
    end: int
    closing: bool
    self_closing: bool


class Token(NamedTuple):
    """A token: `text`, `raw` (the text of a script, textarea ...), `comment`, or a start or end `tag`."""

    kind: str
    start: int
    end: int
    tag: Tag | None = None


def tag_at(source: bytes, offset: int) -> Tag | None:
    """Return the complete tag that starts at `offset`; None when there is none."""
    match = _TAG.match(source, offset)
    if match is None:
        return None
    name = match[2].decode("latin-1").lower()
    # In `<a href=x/>` the slash belongs to the value.
    solid = match[3].endswith(b"/") and not re.search(rb"=%b*[^\t\n\f\r \"'>]+$" % _WS, match[3])
    return Tag(name, offset, match.end(), bool(match[1]), solid)


def attributes(source: bytes, tag: Tag) -> dict[str, tuple[int, int]]:
    """Return where each attribute's value stands, without quotes; of two with one name the first counts."""
    found: dict[str, tuple[int, int]] = {}
    begin = tag.start + len(tag.name.encode("latin-1")) + 1
    for match in ATTRIBUTES.finditer(source, begin, tag.end):
        group = next((g for g in ("double", "single", "bare") if match[g] is not None), None)
        name = match["name"].decode("latin-1").lower()
        found.setdefault(name, match.span(group) if group else (match.end(), match.end()))
    return found


def tokens(source: bytes, offset: int, inside: str = "") -> Iterator[Token]:
    """Yield the tokens from `offset` on.

    `inside` names the element whose start tag ends there, if one does.
    """
    size = len(source)
    while offset < size:
        if inside in RAW:
            close = re.compile(rb"</%b(?=[\t\n\f\r />])" % inside.encode(), re.I).search(source, offset)
            end = close.start() if close and inside != "plaintext" else size
            if end > offset:
                yield Token("raw", offset, end)
            inside, offset = "", end
            continue
        bracket = source.find(b"<", offset)
        if bracket != offset:
            end = bracket if bracket != -1 else size
            yield Token("text", offset, end)
            offset = end
        elif tag := tag_at(source, offset):
            yield Token("tag", offset, tag.end, tag)
            inside, offset = ("" if tag.closing else tag.name), tag.end
        elif comment := _COMMENT.match(source, offset):
            yield Token("comment", offset, comment.end())
            offset = comment.end()
        elif re.compile(rb"</?[a-zA-Z]").match(source, offset):
            return  # a tag that the file's end cuts off is not there at all
        else:
            yield Token("text", offset, offset + 1)
            offset += 1


def spelling(text: str, codec: str) -> re.Pattern[bytes]:
    """Return a pattern for `text` in an element's source, also where characters are written as references.

    A space stands for any white space.
    """
    parts = []
    for char in " ".join(text.split()):
        if char == " ":
            parts.append(rb"(?:[\t\n\f\r ]|&#(?:32|[xX]20);)+")
            continue
        # A numeric reference may lack its semicolon.
        spellings = [
            b"&#0*%d(?:;|(?![0-9]))" % ord(char),
            b"&#[xX]0*(?i:%x)(?:;|(?![0-9a-fA-F]))" % ord(char),
        ]
        spellings += (re.escape(f"&{name}".encode()) for name in _NAMES.get(char, ()))
        if char not in "<&":
            encoded = char.encode(codec, "ignore")
            spellings += [re.escape(encoded)] if encoded else []
        parts.append(b"(?:%b)" % b"|".join(spellings))
    return re.compile(b"".join(parts))


_NAMES: dict[str, list[str]] = {}
for _name, _char in html.entities.html5.items():
    if _name.endswith(";"):
        _NAMES.setdefault(_char, []).append(_name)


class SourceText(NamedTuple):
    """A text with its references resolved, and where in the source each character starts and ends.

    A character that the source lacks stands at NOWHERE.
    """

    text: str
    starts: list[int]
    ends: list[int]

    def splices(self, start: int, end: int, new: str) -> list[tuple[int, int, str]] | None:
        """Return what to write where in the source to replace the characters from `start` to `end`.

        None where they stand in several pieces and it cannot be told what belongs into which. Of a figure
        with two decimals the decimal sign and the decimals may stand in pieces of their own: those of the new
        figure take their places from the right.
        """
        breaks = [at for at in range(start + 1, end) if self.ends[at - 1] != self.starts[at]]
        old = self.text[start:end]
        if breaks and (breaks[0] < end - _DECIMALS or not (_CENTS.search(old) and _CENTS.search(new))):
            return None
        bounds = [start, *breaks, end]
        cuts = [0, *(at - end for at in breaks), len(new)]
        return [
            (self.starts[first], self.ends[last - 1], new[cut:until])
            for (first, last), (cut, until) in zip(pairwise(bounds), pairwise(cuts), strict=True)
            if self.starts[first] != NOWHERE
        ]

    def with_sign(self, sign: str, position: int) -> "SourceText":
        """Return the text with a sign that the source lacks, behind the character that ends at `position`.

        It stays as it is where none does.
        """
        if position not in self.ends:
            return self
        at = self.ends.index(position) + 1
        text, starts, ends = self
        starts, ends = ([*places[:at], NOWHERE, *places[at:]] for places in (starts, ends))
        return SourceText(text[:at] + sign + text[at:], starts, ends)


NOWHERE: Final = -1
_CENTS: Final = re.compile(r"[.,٫]\d\d\Z")
_DECIMALS: Final = 3  # characters


def read_text(source: bytes, spans: Iterable[tuple[int, int]], codec: str) -> SourceText:
    """Return the text that stands in spans of the source, one after the other."""
    text, starts, ends = list[str](), list[int](), list[int]()
    for start, end in spans:
        data = source[start:end]
        if data.isascii() and b"&" not in data:
            text.append(data.decode("ascii"))
            starts += range(start, end)
            ends += range(start + 1, end + 1)
            continue
        characters, bounds = _characters(data, start, codec)
        references = [m for m in _REFERENCE.finditer(characters) if html.unescape(m[0]) != m[0]]
        position = 0
        for reference in (*references, None):
            until = reference.start() if reference else len(characters)
            text.append(characters[position:until])
            starts += bounds[position:until]
            ends += bounds[position + 1 : until + 1]
            if reference:
                resolved = html.unescape(reference[0])
                # In `&nbsp5` only a part of it is a reference.
                size = len(resolved)
                rest = max(n for n in range(size) if reference[0].endswith(resolved[size - n :]))
                position = reference.end() - rest
                text.append(resolved[: size - rest])
                starts += [bounds[until]] * (size - rest)
                ends += [bounds[position]] * (size - rest)
    return SourceText("".join(text), starts, ends)


def _characters(data: bytes, offset: int, codec: str) -> tuple[str, list[int]]:
    """The characters of a text in the source, where each begins, and where the last one ends."""
    decoder = codecs.getincrementaldecoder(codec)("replace")
    characters, bounds, begin = list[str](), list[int](), offset
    for index in range(len(data)):
        if decoded := decoder.decode(data[index : index + 1], index + 1 == len(data)):
            # Of several characters the first stands for earlier bytes that mean nothing.
            characters.append(decoded)
            bounds += [begin, *[offset + index] * (len(decoded) - 1)]
            begin = offset + index + 1
    return "".join(characters), [*bounds, offset + len(data)]


def escape(text: str, codec: str) -> bytes:
    """Return a text as HTML for an element's content.

    `codec` is utf-8 where the page declares it, else ascii.
    """
    return html.escape(text, quote=False).encode(codec, "xmlcharrefreplace")
