"""Look up the JSONPaths that site maps mostly have, without the library's search, which is slow.

Such a path goes from child to child (`$.offers[*].price`), or names what objects anywhere hold
(`$..[?@.price && @.name]`). All others are the library's, as is the meaning of these (RFC 9535).
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_CHILDREN: Final = re.compile(rf"\$(?:\.{_NAME}|\[\*\]|\[(?:0|[1-9][0-9]{{0,5}})\])*")
_STEP: Final = re.compile(rf"\.({_NAME})|\[(\*|[0-9]+)\]")
_HOLDING: Final = re.compile(rf"\$\.\.\[\?@\.{_NAME}(?: *&& *@\.{_NAME})*\]")
_LOOKS: Final = 2_000
"""After how many places a search looks at the time."""


class JsonPlace(NamedTuple):
    """A value in JSON data: the value, what holds it (None: it is all of them) and its key there."""

    obj: Any
    holder: Any
    key: str | int


class PlainPath(NamedTuple):
    """The steps from child to child (None: all children), or the names of what objects anywhere hold."""

    steps: tuple[str | int | None, ...]
    held: frozenset[str]


@lru_cache(maxsize=512)
def plain_path(path: str) -> PlainPath | None:
    """Return the parts of a plain path; None: it is not one."""
    if _CHILDREN.fullmatch(path):
        steps = (name or (None if place == "*" else int(place)) for name, place in _STEP.findall(path))
        return PlainPath(tuple(steps), frozenset())
    if _HOLDING.fullmatch(path):
        return PlainPath((), frozenset(re.findall(rf"@\.({_NAME})", path)))
    return None


def children(steps: tuple[str | int | None, ...], data: Any) -> list[JsonPlace]:
    """Return what stands at the end of the steps, in the data's order."""
    if len(steps) == 1 and isinstance(name := steps[0], str):  # most are
        return [JsonPlace(data[name], data, name)] if isinstance(data, dict) and name in data else []
    found = [JsonPlace(data, None, "")]
    for step in steps:
        if step is None:
            found = [place for each in found for place in inside(each.obj)]
        elif isinstance(step, str):
            found = [
                JsonPlace(each.obj[step], each.obj, step)
                for each in found
                if isinstance(each.obj, dict) and step in each.obj
            ]
        else:
            found = [
                JsonPlace(each.obj[step], each.obj, step)
                for each in found
                if isinstance(each.obj, list) and step < len(each.obj)
            ]
    return found


def holding(names: frozenset[str], data: Any, look: Callable[[], None]) -> list[JsonPlace]:
    """Return all objects within the data that hold these names, parents first.

    look: is called now and then, and may raise.
    """
    found, todo, count = list[JsonPlace](), [data], 0
    while todo:
        value = todo.pop()
        places = value.items() if type(value) is dict else enumerate(value) if type(value) is list else ()
        further = []
        for key, each in places:
            kind = type(each)
            if kind is dict or kind is list:
                further.append(each)
                if kind is dict and names <= each.keys():
                    found.append(JsonPlace(each, value, key))
        todo += reversed(further)
        if (count := count + 1) % _LOOKS == 0:
            look()
    return found


def inside(value: Any) -> list[JsonPlace]:
    """Return the children of a value."""
    if isinstance(value, dict):
        return [JsonPlace(each, value, key) for key, each in value.items()]
    if isinstance(value, list):
        return [JsonPlace(each, value, number) for number, each in enumerate(value)]
    return []
