"""Write the accessibility tree as text: what the browser tells assistive technology, one line per node.

    heading "Oat Cookies" level=1
    spinbutton "Qty" [bid=41] value="1"
    button "Add to Cart" [bid=42]

A line is role, name, bid, states, description, value. The tree shows what the observation's HTML shows, with
the same bids; what lies within frames, or is hidden from assistive technology, is left out.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from playwright.async_api import CDPSession

BID: Final = re.compile(r"[A-Za-z0-9]{1,32}\Z")

_SILENT: Final = frozenset(
    {"generic", "none", "paragraph", "strong", "emphasis", "LabelText", "MenuListPopup"}
)
"""Roles that tell nothing by themselves: without name, description and bid, the children take their place."""
_LAYOUT: Final = frozenset({"InlineTextBox", "ListMarker", "LineBreak"})
_STATES: Final = (
    "focused",
    "disabled",
    "required",
    "readonly",
    "invalid",
    "selected",
    "checked",
    "pressed",
    "expanded",
)
_MAX_INDENT: Final = 40

_Node = dict[str, Any]
_Shown = list[tuple[_Node, bool]]
"""Nodes that get a line, each with whether what is below it is shown where nothing else decides."""


@dataclass(frozen=True, slots=True)
class _Element:
    """What is known of the DOM node behind a node of the tree; `shown` None: the same as around it."""

    bid: str = ""
    shown: bool | None = None


_UNKNOWN: Final = _Element()


async def read_tree(session: CDPSession, shown: Iterable[int]) -> str:
    """Return the accessibility tree of the session's page.

    `shown` are the indices of the visible elements among all elements of the page, in the order of the
    document; the elements of an open shadow tree come right after its host.

    Raises:
        playwright.async_api.Error: the page is gone, or has just navigated.
    """
    tree = await session.send("Accessibility.getFullAXTree")
    document = await session.send("DOM.getDocument", {"depth": -1, "pierce": True})
    return _to_text(tree["nodes"], dict(_elements(document["root"], frozenset(shown))))


def _elements(root: _Node, shown: frozenset[int]) -> Iterator[tuple[int, _Element]]:
    """Each DOM node by its backend id."""
    index = 0
    # Without recursion, here and below: scripts can nest elements deeper than Python nests calls.
    stack: list[tuple[_Node, bool | None, bool]] = [(root, None, True)]
    while stack:
        node, visible, counted = stack.pop()
        bid = ""
        if node["nodeType"] == 1:  # an element
            attributes = node.get("attributes", [])
            bid = dict(zip(attributes[::2], attributes[1::2], strict=True)).get("bid", "")
            if counted:
                visible, index = index in shown, index + 1
        yield node["backendNodeId"], _Element(bid if BID.match(bid) else "", visible)
        stack += [(child, visible, counted) for child in reversed(node.get("children", ()))]
        # What a style sheet writes is no part of the HTML.
        stack += [(child, False, False) for child in node.get("pseudoElements", ())]
        for shadow in node.get("shadowRoots", ()):
            stack.append((shadow, visible, shadow.get("shadowRootType") == "open"))


def _to_text(nodes: list[_Node], elements: dict[int, _Element]) -> str:
    by_id = {node["nodeId"]: node for node in nodes}

    def element(node: _Node) -> _Element:
        return elements.get(node.get("backendDOMNodeId", 0), _UNKNOWN)

    def children(node: _Node, shown: bool) -> _Shown:
        kept: _Shown = []
        stack = [(name, shown) for name in reversed(node.get("childIds", ()))]
        while stack:
            name, shown = stack.pop()
            child = by_id.get(name)
            if child is None or _role(child) in _LAYOUT:
                continue
            found = element(child)
            shown = shown if found.shown is None else found.shown
            silent = _role(child) in _SILENT and not (
                _name(child) or _text(child, "description") or found.bid
            )
            if shown and not child["ignored"] and not silent:
                kept.append((child, shown))
            else:
                stack += [(grandchild, shown) for grandchild in reversed(child.get("childIds", ()))]
        return kept

    lines: list[str] = []
    pending = list(reversed(_join_texts(children(nodes[0], True))))
    depths = [0] * len(pending)
    while pending:
        (node, shown), depth = pending.pop(), depths.pop()
        lines.append(" " * min(depth, _MAX_INDENT) + _line(node, element(node).bid))
        below = children(node, shown)
        if not _is_said(node, below):
            below = _join_texts(below)
            pending += reversed(below)
            depths += [depth + 1] * len(below)
    return "\n".join(lines)


def _is_said(node: _Node, children: _Shown) -> bool:
    """Whether the node's own line tells all that is below it."""
    texts = [_name(child) for child, _ in children if _role(child) == "StaticText"]
    said = "".join("".join(texts).split())
    names = (_name(node), _text(node, "value"), _text(node, "description"))
    return len(texts) == len(children) and said in ["".join(name.split()) for name in names]


def _join_texts(children: _Shown) -> _Shown:
    """Neighbouring texts become one."""
    joined: _Shown = []
    for child, shown in children:
        if _role(child) == "StaticText" and joined and _role(joined[-1][0]) == "StaticText":
            text = f"{_name(joined[-1][0])} {_name(child)}".strip()
            joined[-1] = ({"role": child["role"], "name": {"value": text}}, True)
        elif _role(child) != "StaticText" or _name(child):
            joined.append((child, shown))
    return joined


def _line(node: _Node, bid: str) -> str:
    parts = [_role(node)]
    if name := _name(node):
        parts.append(json.dumps(name, ensure_ascii=False))
    if bid:
        parts.append(f"[bid={bid}]")
    states = {each["name"]: each["value"].get("value") for each in node.get("properties", ())}
    if _role(node) == "heading":
        parts.append(f"level={states.get('level')}")
    for state in _STATES:
        value = str(states.get(state, "")).lower()
        if value == "true":
            parts.append(state)
        elif value and (value != "false" or state == "expanded"):
            parts.append(f"{state}={value}")
    for key in ("description", "value"):
        if text := _text(node, key):
            parts.append(f"{key}={json.dumps(text, ensure_ascii=False)}")
    return " ".join(parts)


def _role(node: _Node) -> str:
    return str(node.get("role", {}).get("value", "none"))


def _name(node: _Node) -> str:
    return _text(node, "name")


def _text(node: _Node, key: str) -> str:
    return " ".join(str(node.get(key, {}).get("value", "")).split())
