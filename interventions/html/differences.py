"""Tell the differences between a page and its rewrite as changes that a script can make in the page."""

from collections.abc import Iterator
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from interventions.html.shadow import opened

NUMBER: Final = "data-souk-number"
"""The attribute that numbers the elements of a page, as `drawn.js` writes it."""


def differences(before: bytes, after: bytes) -> list[dict[str, Any]]:
    """Return what was changed in a page in UTF-8 whose elements are numbered.

    Each item is of one element (`at`: its number): `attributes` has the new values; `children` is the new
    list of its children, where an element of the page is its number, a text is a text, and a new element is
    a list of its name, its attributes and its children.
    """
    old = {number: node for number, node in _numbered(before)}
    found = []
    for number, node in _numbered(after):
        was = old.get(number)
        if was is None:
            continue
        change: dict[str, Any] = {}
        attributes = {
            name: value or "" for name, value in node.attributes.items() if was.attributes.get(name) != value
        }
        if attributes:
            change["attributes"] = attributes
        if (children := _children(node)) != _children(was):
            change["children"] = children
        if change:
            found.append({"at": number, **change})
    return found


def _numbered(page: bytes) -> Iterator[tuple[int, LexborNode]]:
    # The nodes live only as long as the parser does.
    tree = LexborHTMLParser(opened(page), scripting=True)
    for node in tree.css(f"[{NUMBER}]"):
        if (number := _number(node)) is not None:
            yield number, node


def _number(node: LexborNode) -> int | None:
    text = node.attributes.get(NUMBER) or ""
    return int(text) if text.isascii() and text.isdigit() else None


def _children(node: LexborNode) -> list[Any]:
    found: list[Any] = []
    for child in node.iter(include_text=True):
        if child.is_text_node:
            text = child.text_content or ""
            if found and isinstance(found[-1], str):
                found[-1] += text
            elif text:
                found.append(text)
        elif child.is_element_node:
            number = _number(child)
            found.append(_new(child) if number is None else number)
    return found


def _new(node: LexborNode) -> list[Any]:
    attributes = {name: value or "" for name, value in node.attributes.items()}
    return [node.tag, attributes, _children(node)]
