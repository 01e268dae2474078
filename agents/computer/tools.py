"""What the tools of several families share: controls of a browser, points, keys, texts of observations."""

import base64
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeGuard

from agents.computer.agent import RequestedAction
from environments.protocol.actions import EVERY, Action, ActionError, parse_action
from environments.protocol.observation import Observation
from interventions.data_file import read_data

WAYS: Final = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
"""Direction of a scroll -> to the right, and down."""


def tabs_text(observation: Observation) -> str:
    """Return the open tabs and the last error as text: a picture of a viewport has no bar of tabs."""
    lines = [
        f"Tab {number}{' (active)' if tab.active else ''}: {tab.title[:200]} {tab.url[:500]}"
        for number, tab in enumerate(observation.tabs)
    ]
    error = [f"Error of the last action: {observation.error}"] if observation.error else []
    return "\n".join(["Open tabs:", *lines, *error])


def first_text(observation: Observation) -> str:
    """Return the goal and the open tabs, with which a conversation begins."""
    return f"{observation.goal}\n\n{tabs_text(observation)}"


def in_base64(png: bytes) -> str:
    """Return a picture as text."""
    return base64.b64encode(png).decode()


def size_of(png: bytes) -> tuple[int, int]:
    """Return the width and height of a PNG, in pixels; they stand at the same place in each."""
    return int.from_bytes(png[16:20]), int.from_bytes(png[20:24])


_DATA: Final = read_data(__file__, "tools.yaml")
FUNCTIONS: Final[dict[str, dict[str, Any]]] = _DATA["functions"]
"""What a browser's own controls do, which are in no picture: name -> meaning, properties of its arguments."""
CLICKS: Final = {name: tuple(click) for name, click in _DATA["clicks"].items()}
"""What several families call their clicks: the button, and how often it is pressed."""
_KEYS: Final = {name: key for key, names in _DATA["keys"].items() for name in names.split()}


def declared(names: Iterable[str], parameters: str) -> list[dict[str, Any]]:
    """Return functions as a request has them; `parameters`: the key of the JSON Schema of their arguments."""
    told = []
    for name in names:
        properties = FUNCTIONS[name]["properties"]
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        schema["additionalProperties"] = False
        told.append({"name": name, "description": FUNCTIONS[name]["meaning"], parameters: schema})
    return told


def function_action(name: str, given: object) -> list[Action] | str:
    """Return the action of one of `FUNCTIONS`, or why it is none."""
    if name not in FUNCTIONS:
        return f"there is no tool {name[:40]!r}; the tools are computer, {', '.join(FUNCTIONS)}"
    kinds = {"integer": int, "string": str}
    args: list[str | int | float] = []
    for key, kind in FUNCTIONS[name]["properties"].items():
        value = given.get(key) if isinstance(given, dict) else None
        if type(value) is not kinds[kind["type"]]:
            return f"{name}: {key} must be of type {kind['type']}"
        args.append(value[:2_000] if isinstance(value, str) else int(str(value)))
    return [Action(name, tuple(args))]


def asked_of(call: str, name: str, found: Sequence[Action] | str) -> list[RequestedAction]:
    """Return actions as those of one call, or why they cannot be taken."""
    try:
        if not isinstance(found, str):
            return [RequestedAction(call, name, parse_action(str(action), EVERY)) for action in found]
    except ActionError as error:
        found = str(error)
    return [RequestedAction(call, name, None, found)]


def drag(start: tuple[float, float], end: tuple[float, float], held: str = "") -> Action:
    """Return the action that drags from one point to another."""
    return Action("mouse_drag", (f"{start[0]:g},{start[1]:g} {end[0]:g},{end[1]:g}", "left", held))


def number(value: object) -> float | None:
    """Return a number that a model gives; None where it is none."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < 1e6 else None  # type: ignore[arg-type]


def numbers(value: object, many: int) -> tuple[float, ...] | None:
    """Return so many numbers that a model gives as a list; None where it is none."""
    found = [each for each in map(number, value) if each is not None] if isinstance(value, list) else []
    return tuple(found) if isinstance(value, list) and len(found) == len(value) == many else None


def point_of(value: object) -> tuple[float, float] | None:
    """Return a point that a model gives as a list of two numbers; None where it is none."""
    found = numbers(value, 2)
    return (found[0], found[1]) if found else None


LONGEST_TEXT: Final = 3_000
"""The most characters that are typed at once: an action that is recorded may be no longer."""


def is_typed(text: object) -> TypeGuard[str]:
    """Return whether a text can be typed at once."""
    return isinstance(text, str) and 0 < len(text) <= LONGEST_TEXT


def typing(
    text: str, at: tuple[float, float] | None = None, *, clears: bool = False, enters: bool = False
) -> list[Action]:
    """Return the actions that type a text, at a point if one is given, in place of what stood there."""
    actions = [Action("mouse_click", (*at, "left", 1, ""))] if at else []
    if clears:
        actions += [Action("keyboard_press", ("Control+a",)), Action("keyboard_press", ("Backspace",))]
    if text:
        actions.append(Action("keyboard_type", (text,)))
    if enters:
        actions.append(Action("keyboard_press", ("Enter",)))
    return actions


def _key_name(name: str) -> str | None:
    """Return a key by the name that browsers have for it; None where there is none."""
    if len(name) == 1 and name.isprintable():
        return name.lower() if name.isascii() else name
    is_function = re.fullmatch("f([1-9]|1[0-2])", name.lower())
    return name.upper() if is_function else _KEYS.get(name.lower())


def chord(names: Sequence[str]) -> str | None:
    """Return keys that are pressed together, such as `Control+a`; None where one is unknown."""
    found = [_key_name(name) for name in names]
    return "+".join(each for each in found if each) if found and all(found) else None


def modifiers(names: Sequence[str]) -> str | None:
    """Return keys that are held meanwhile, such as `Shift+Control`; None where one is no such key."""
    found = [_key_name(name) for name in names]
    if any(each not in ("Shift", "Control", "Alt", "Meta") for each in found):
        return None
    return "+".join(each for each in found if each)
