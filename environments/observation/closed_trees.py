"""Read the texts of closed shadow trees and sandboxed frames, which scripts in the page cannot read."""

from collections.abc import Generator, Iterator
from typing import Any, Final

from interventions.data_file import read_source

Talk = Generator[tuple[str, dict[str, Any]], dict[str, Any], list[Any]]
"""A talk with the browser: yields methods of its protocol and their parameters, gets the answers."""

_TAKE: Final = read_source(__file__, "closed.js")
_TEXT: Final = 3
_NO_TEXT: Final = frozenset(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "TITLE"])


def read_closed(world: int | None = None) -> Talk:
    """Return the texts of the trees and frames that `observe.js` has found to be closed, in its last call.

    `world`: the execution context in which that was; None: the page's own.
    """
    where = {} if world is None else {"contextId": world}
    taken = (yield "Runtime.evaluate", {"expression": _TAKE, **where})["result"]
    if "objectId" not in taken:
        return []
    elements = yield "Runtime.getProperties", {"objectId": taken["objectId"], "ownProperties": True}
    texts: list[str] = []
    for each in elements["result"]:
        if each["name"].isdigit() and (element := each.get("value", {}).get("objectId")):
            found = yield "DOM.describeNode", {"objectId": element, "depth": -1, "pierce": True}
            texts += _texts(found["node"], closed=False)
    return texts


def _texts(node: dict[str, Any], *, closed: bool) -> Iterator[str]:
    if closed and node["nodeType"] == _TEXT and node["nodeValue"].strip():
        yield node["nodeValue"]
    if node["nodeName"].upper() in _NO_TEXT:
        return
    for root in node.get("shadowRoots", ()):
        yield from _texts(root, closed=closed or root["shadowRootType"] == "closed")
    for child in node.get("children", ()):
        yield from _texts(child, closed=closed)
    if "contentDocument" in node:
        yield from _texts(node["contentDocument"], closed=True)
