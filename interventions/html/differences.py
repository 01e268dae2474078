"""Tell the differences between a page and its rewrite as changes that a script can make in the page."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from selectolax.lexbor import LexborNode

from interventions.html.shadow import opened
from interventions.html.tree import parse, select

NUMBER: Final = "data-souk-number"
"""The attribute that numbers the elements of a page, as `drawn.js` writes it."""


def differences(before: bytes, after: bytes) -> list[dict[str, Any]]:
    """Return what was changed in a page in UTF-8 whose elements are numbered.

    Each item is of one element (`at`: its number): `attributes` has the new values; `children` is the new
    list of its children, where an element of the page is its number, a text is a text, and a new element is
    a list of its name, its attributes and its children.
    """
    old, found = dict(_numbered(before)), []
    for number, (attributes, children) in _numbered(after):
        if number not in old or old[number] == (attributes, children):
            continue
        had, were = old[number]
        change: dict[str, Any] = {}
        new = {name: value or "" for name, value in attributes.items() if had.get(name) != value}
        if new:
            change["attributes"] = new
        if children != were:
            change["children"] = children
        if change:
            found.append({"at": number, **change})
    return found


def _numbered(page: bytes) -> Iterator[tuple[int, tuple[dict[str, str | None], list[Any]]]]:
    """The elements by their number: attributes and children."""
    # The nodes live only as long as the parser does.
    tree = parse(opened(page), scripting=True)
    nodes = [(node, node.attributes) for node in select(tree, f"[{NUMBER}]")]
    numbers = {node.mem_id: _number(attributes) for node, attributes in nodes}
    for node, attributes in nodes:
        if (number := numbers[node.mem_id]) is not None:
            yield number, (attributes, _children(node, numbers))


def _number(attributes: Mapping[str, str | None]) -> int | None:
    text = attributes.get(NUMBER) or ""
    return int(text) if text.isascii() and text.isdigit() else None


def _children(node: LexborNode, numbers: Mapping[int, int | None]) -> list[Any]:
    found: list[Any] = []
    for child in node.iter(include_text=True):
        if child.is_text_node:
            text = child.text_content or ""
            if found and isinstance(found[-1], str):
                found[-1] += text
            elif text:
                found.append(text)
        elif child.is_element_node:
            number = numbers.get(child.mem_id)
            found.append(_new(child, numbers) if number is None else number)
    return found


def _new(node: LexborNode, numbers: Mapping[int, int | None]) -> list[Any]:
    attributes = {name: value or "" for name, value in node.attributes.items()}
    return [node.tag, attributes, _children(node, numbers)]
