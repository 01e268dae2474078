"""Read an accessibility tree as the page that it tells of: the other readers take it from there."""

import json
import re
from html import escape
from itertools import takewhile
from typing import Final

_LINE: Final = re.compile(
    r'(?P<indent> *)(?P<role>\w+)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?: \[bid=(?P<bid>\w+)\])?(?P<rest>.*)'
)
_VALUE: Final = re.compile(r' value=("(?:[^"\\]|\\.)*")')
_TAGS: Final = {
    "button": "button",
    "DisclosureTriangle": "summary",
}
_FIELDS: Final = {
    "textbox": "text",
    "searchbox": "search",
    "combobox": "text",
    "spinbutton": "number",
    "checkbox": "checkbox",
}
_APART: Final = {"listitem": "li", "article": "article"}
"""What holds a card, in which the lines below it are."""
_PICTURES: Final = frozenset({"image", "img"})


def as_html(tree: str) -> str:
    """Return HTML with the texts, headings and controls of an accessibility tree, in its order.

    Neighbouring radio buttons are taken for one group. A link that is a picture and nothing else has no text.
    """
    found = [line for each in tree.split("\n") if (line := _LINE.fullmatch(each))]
    lines: list[str] = []
    around: list[tuple[int, str]] = []  # the items of lists in which a line is: their indent and tag
    groups, in_group = 0, False
    for number, line in enumerate(found):
        role, name, bid = line["role"], _string(line["name"]), line["bid"]
        indent = len(line["indent"])
        below = _roles_below(indent, found[number + 1 :])
        while around and around[-1][0] >= indent:
            lines.append(f"</{around.pop()[1]}>")
        if role in _APART:
            around.append((indent, _APART[role]))
            lines.append(f"<{_APART[role]}>{escape(name)}")
            continue
        mark = f' bid="{bid}"' if bid else ""
        groups += role == "radio" and not in_group
        in_group = role == "radio" or (in_group and role == "LabelText")
        if role == "radio":
            lines.append(f'<input type="radio" name="{groups}"{mark}> {escape(name)}')
        elif role == "heading":
            level = re.search(r" level=([1-6])\b", line["rest"])
            tag = f"h{level[1]}" if level else "h2"
            lines.append(f"<{tag}>{escape(name)}</{tag}>")
        elif role == "combobox" and "option" in below:
            lines.append(f"<select{mark}>{escape(name)}</select>")
        elif role in _FIELDS:
            value = _VALUE.search(line["rest"])
            told = f' value="{escape(_string(value[1]))}"' if value else ""
            said = f' aria-label="{escape(name)}"' if name else ""
            lines.append(f'{escape(name)} <input type="{_FIELDS[role]}"{said}{mark}{told}>')
        elif role == "link":
            inside = f'<img alt="{escape(name)}">' if below and below <= _PICTURES else escape(name)
            lines.append(f'<a href=""{mark}>{inside}</a>')
        elif role in _TAGS:
            lines.append(f"<{_TAGS[role]}{mark}>{escape(name)}</{_TAGS[role]}>")
        elif name:
            lines.append(f"<span{mark}>{escape(name)}</span>")
    return "\n".join(lines + [f"</{tag}>" for _, tag in reversed(around)])


def _roles_below(indent: int, following: list[re.Match[str]]) -> set[str]:
    return {line["role"] for line in takewhile(lambda each: len(each["indent"]) > indent, following)}


def _string(written: str | None) -> str:
    try:
        return str(json.loads(written)) if written else ""
    except ValueError:
        return ""
