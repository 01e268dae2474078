"""Read an accessibility tree as the page that it tells of: the other readers take it from there."""

import json
import re
from html import escape
from typing import Final

_LINE: Final = re.compile(
    r' *(?P<role>\w+)(?: (?P<name>"(?:[^"\\]|\\.)*"))?(?: \[bid=(?P<bid>\w+)\])?(?P<rest>.*)'
)
_VALUE: Final = re.compile(r' value=("(?:[^"\\]|\\.)*")')
_TAGS: Final = {
    "button": "button",
    "link": "a",
    "combobox": "select",
    "DisclosureTriangle": "summary",
}
_FIELDS: Final = {"textbox": "text", "searchbox": "search", "spinbutton": "number", "checkbox": "checkbox"}


def as_html(tree: str) -> str:
    """Return HTML with the texts, headings and controls of an accessibility tree, in its order.

    Neighbouring radio buttons are taken for one group.
    """
    lines: list[str] = []
    groups, in_group = 0, False
    for line in tree.split("\n"):
        found = _LINE.fullmatch(line)
        if not found:
            continue
        role, name, bid = found["role"], _string(found["name"]), found["bid"]
        mark = f' bid="{bid}"' if bid else ""
        groups += role == "radio" and not in_group
        in_group = role == "radio" or (in_group and role == "LabelText")
        if role == "radio":
            lines.append(f'<input type="radio" name="{groups}"{mark}> {escape(name)}')
        elif role == "heading":
            level = re.search(r" level=([1-6])\b", found["rest"])
            tag = f"h{level[1]}" if level else "h2"
            lines.append(f"<{tag}>{escape(name)}</{tag}>")
        elif role in _FIELDS:
            value = _VALUE.search(found["rest"])
            told = f' value="{escape(_string(value[1]))}"' if value else ""
            lines.append(f'{escape(name)} <input type="{_FIELDS[role]}"{mark}{told}>')
        elif role in _TAGS:
            lines.append(f"<{_TAGS[role]}{mark}>{escape(name)}</{_TAGS[role]}>")
        elif name:
            lines.append(f"<span{mark}>{escape(name)}</span>")
    return "\n".join(lines)


def _string(written: str | None) -> str:
    try:
        return str(json.loads(written)) if written else ""
    except ValueError:
        return ""
