"""Compare two versions of a page tag by tag, in a form that is short enough to read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final, Literal

_TOKEN: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<raw>script|style|textarea)\b.*?(?:</(?P=raw)\s*>|\Z)"
    r"|<(?P<close>/?)(?P<name>[a-zA-Z][^\s/>]*)(?:\"[^\"]*\"|'[^']*'|[^'\">])*>|[^<]+|<",
    re.DOTALL | re.IGNORECASE,
)
_VALUE: Final = re.compile(r"""(?<==)(?:"[^"]*"|'[^']*')""")
_VOID: Final = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)
_CONTEXT: Final = 2
_LONGEST_VALUE: Final = 24

Sign = Literal[" ", "-", "+"]


@dataclass(frozen=True)
class SourceLine:
    """A tag, a text, or an element that holds nothing but a text; `number`: its line in the source."""

    text: str
    depth: int
    number: int


@dataclass(frozen=True)
class Hunk:
    """A changed place with its surroundings; `number` is the line of the source before the change."""

    number: int
    lines: tuple[tuple[Sign, SourceLine], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data: the texts that were removed, and those that were added."""
        return {
            "line": self.number,
            "removed": [line.text for sign, line in self.lines if sign == "-"],
            "added": [line.text for sign, line in self.lines if sign == "+"],
        }


def html_diff(before: str, after: str) -> list[Hunk]:
    """Return the changed places, in the order of the page."""
    old, new = list(_lines(before)), list(_lines(after))
    start = 0
    while start < min(len(old), len(new)) and old[start].text == new[start].text:
        start += 1
    start = max(0, start - _CONTEXT)
    matcher = SequenceMatcher(
        None, [line.text for line in old[start:]], [line.text for line in new[start:]], autojunk=False
    )
    hunks = []
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        lines: list[tuple[Sign, SourceLine]] = []
        for tag, i1, i2, j1, j2 in group:
            kept, gone, come = (
                old[start + i1 : start + i2],
                old[start + i1 : start + i2],
                new[start + j1 : start + j2],
            )
            if tag == "equal":
                lines += [(" ", line) for line in kept]
            else:
                lines += [("-", line) for line in gone]
                lines += [("+", line) for line in come]
        first = next(line for sign, line in lines if sign != " ")
        hunks.append(Hunk(first.number, tuple(lines)))
    return hunks


def shown(hunk: Hunk, width: int) -> Iterator[tuple[Sign, str]]:
    """Yield the lines of a hunk, indented and cut to `width` characters.

    They are cut so that the difference stays visible.
    """
    outermost = min(line.depth for _, line in hunk.lines)
    gone = [line.text for sign, line in hunk.lines if sign == "-"]
    come = [line.text for sign, line in hunk.lines if sign == "+"]
    partner = dict(zip(("-" + text for text in gone), come, strict=False))
    partner |= dict(zip(("+" + text for text in come), gone, strict=False))
    for sign, line in hunk.lines:
        indent = "  " * (line.depth - outermost)
        other = partner.get(sign + line.text, "") if sign != " " else ""
        yield sign, indent + _shortened(line.text, other, max(20, width - len(indent)))


def _shortened(text: str, other: str, width: int) -> str:
    shorts = [_VALUE.sub(_abbreviated, version) for version in (text, other)]
    if shorts[0] != shorts[1]:
        text, other = shorts
    if len(text) <= width:
        return text
    same = next((at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), 0)
    if same < width * 2 // 3:
        return text[: width - 1] + "…"
    cut = "…" + text[same - width // 3 :]
    return cut if len(cut) <= width else cut[: width - 1] + "…"


def _abbreviated(value: re.Match[str]) -> str:
    text = value[0]
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 2] + "…" + text[-1]


def _lines(html: str) -> Iterator[SourceLine]:
    """The page with one tag or text on each line; an element with nothing but a text is one line."""
    tokens = [match for match in _TOKEN.finditer(html) if match[0].strip()]
    open_names: list[str] = []
    number = position = 0
    index = 0
    while index < len(tokens):
        token = tokens[index]
        number += html.count("\n", position, token.start())
        position = token.start()
        name = (token["name"] or "").lower()
        depth, text = len(open_names), token[0]
        if token["close"]:
            if name in open_names:
                while open_names.pop() != name:
                    pass
            depth = len(open_names)
        elif name and name not in _VOID and not text.endswith("/>"):
            rest = tokens[index + 1 : index + 3]
            if len(rest) == 2 and not rest[0]["name"] and rest[0][0][0] != "<" and _closes(rest[1], name):
                text += rest[0][0] + rest[1][0]
                index += 2
            elif rest and _closes(rest[0], name):
                text += rest[0][0]
                index += 1
            else:
                open_names.append(name)
        yield SourceLine(" ".join(text.split()), depth, number + 1)
        index += 1


def _closes(token: re.Match[str], name: str) -> bool:
    return bool(token["close"]) and token["name"].lower() == name
