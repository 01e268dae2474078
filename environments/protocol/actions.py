"""The actions an agent may take, and the parser that turns a model's answer into one of them.

Nine of them name elements by their marks; an agent that is shown pictures has those of the pointer too.

A model's answer is untrusted text. It is parsed as one Python-style call with literal arguments and checked
against the closed table below; nothing of it is ever executed.
"""

import ast
import difflib
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Argument = str | int | float

MAX_LENGTH: Final = 4_000
"""The longest action text accepted, in characters."""

MAX_NUMBER: Final = 1_000_000
"""The largest number accepted, positive or negative."""


class ActionError(ValueError):
    """The text is no action; the message says why, in words that can be given back to the agent."""


@dataclass(frozen=True, slots=True)
class Action:
    """One action, e.g. `Action("click", ("12",))`; `str()` gives the form that `parse_action` reads."""

    name: str
    args: tuple[Argument, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of an action, by name and type, and its effect (shown to language models).

    `defaults`: the values of its last parameters where they are left out.
    """

    parameters: tuple[tuple[str, type], ...]
    meaning: str
    defaults: tuple[Argument, ...] = ()

    def describe(self, name: str) -> str:
        """Return one line for a prompt: `click(bid: str)  Click an element.`"""
        given = len(self.parameters) - len(self.defaults)
        said = [""] * given + [f" = {default!r}" for default in self.defaults]
        parameters = ", ".join(
            f"{parameter}: {kind.__name__}{default}"
            for (parameter, kind), default in zip(self.parameters, said, strict=True)
        )
        return f"{name}({parameters})  {self.meaning}"

    def complete(self, args: tuple[Argument, ...]) -> tuple[Argument, ...]:
        """Return the arguments with the defaults of those that are left out."""
        lacking = len(self.parameters) - len(args)
        return (*args, *self.defaults[len(self.defaults) - lacking :]) if lacking else args


ACTIONS: Final[dict[str, Signature]] = {
    "click": Signature((("bid", str),), "Click the element with this bid."),
    "fill": Signature((("bid", str), ("text", str)), "Replace the content of a text field."),
    "select_option": Signature((("bid", str), ("option", str)), "Choose an option of a drop-down list."),
    "scroll": Signature((("dx", float), ("dy", float)), "Scroll by pixels; positive is right and down."),
    "keyboard_press": Signature(
        (("key", str),), "Press a key or a combination, e.g. 'Enter' or 'Control+a'."
    ),
    "goto": Signature((("url", str),), "Open a URL in the active tab."),
    "go_back": Signature((), "Go back in the active tab's history."),
    "go_forward": Signature((), "Go forward in the active tab's history."),
    "tab_focus": Signature((("index", int),), "Make another tab active; the first has index 0."),
}
"""The actions of an agent that reads pages."""

ON_MARKS: Final = frozenset({"click", "fill", "select_option"})
"""The actions that name an element by its mark."""

_AT: Final = (("x", float), ("y", float))
_MODIFIERS: Final = ("modifiers", str)

POINTER: Final[dict[str, Signature]] = {
    "mouse_click": Signature(
        (*_AT, ("button", str), ("count", int), _MODIFIERS),
        "Click at a point; button: left, middle, right, back, forward; modifiers such as 'Shift+Control'.",
        ("left", 1, ""),
    ),
    "mouse_move": Signature(_AT, "Move the pointer to a point."),
    "mouse_down": Signature((("button", str),), "Press a button of the mouse and hold it.", ("left",)),
    "mouse_up": Signature((("button", str),), "Release a button of the mouse.", ("left",)),
    "mouse_drag": Signature(
        (("points", str), ("button", str), _MODIFIERS),
        "Drag along points such as '10,20 300,40'.",
        ("left", ""),
    ),
    "scroll_at": Signature(
        (*_AT, ("dx", float), ("dy", float), _MODIFIERS),
        "Scroll what lies at a point by pixels; positive is right and down.",
        ("",),
    ),
    "zoom": Signature(
        (("x0", float), ("y0", float), ("x1", float), ("y1", float)),
        "Look at the part of the picture between two corners, enlarged; points stay those of all of it.",
    ),
    "keyboard_type": Signature((("text", str),), "Type a text where the cursor is."),
    "wait": Signature((("ms", float),), "Wait for so many milliseconds, at most 5000."),
    "give_up": Signature((("reason", str),), "End without a choice.", ("",)),
}
"""The further actions of an agent that sees pictures: points are pixels, from the picture's upper left."""

TOOLS: Final[dict[str, Signature]] = {
    "keyboard_hold": Signature((("key", str), ("ms", float)), "Hold a key for so long, at most 5000 ms."),
    "reload": Signature((), "Load the active tab's page anew."),
    "new_tab": Signature((), "Open an empty tab and make it active."),
    "close_tab": Signature((("index", int),), "Close a tab; the first has index 0."),
}
"""The further actions that providers' own tools have; no other agent is offered them."""

FEED: Final[dict[str, Signature]] = {
    "add_to_cart": Signature((("id", str),), "Put the product, or the variant, with this id into the cart."),
    "give_up": POINTER["give_up"],
}
"""The actions of an agent that is given products as data."""

FEED_TO_ORDER: Final = FEED | {
    "add_to_cart": Signature((("id", str),), "Put the product with this id into the cart, and no other."),
    "place_order": Signature((), "Order what is in the cart; the buyer and the address are known."),
}
"""Its actions where it is to place an order."""

SHOP_TOOLS: Final[dict[str, Signature]] = {
    "call_tool": Signature(
        (("name", str), ("arguments", str)), "Call a tool of the shop; the arguments are a JSON object."
    ),
    "give_up": POINTER["give_up"],
}
"""The actions of an agent that is given the shop's tools."""

Interface = Literal["page", "feed", "mcp"]
"""What an agent meets the shop by: its pages, its products as data, or its tools."""

EVERY: Final = ACTIONS | POINTER | TOOLS | FEED_TO_ORDER | SHOP_TOOLS


def offered(
    *, marks: bool, pointer: bool, interface: Interface = "page", orders: bool = False
) -> dict[str, Signature]:
    """Return the actions of an agent: those that name elements by `marks`, and those of the `pointer`.

    By other interfaces than pages there are others; `orders`: it is to place an order.
    """
    if interface == "feed":
        return FEED_TO_ORDER if orders else FEED
    if interface == "mcp":
        return SHOP_TOOLS
    named = {name: each for name, each in ACTIONS.items() if marks or name not in ON_MARKS}
    return named | (POINTER if pointer else {})


def points_of(text: str) -> tuple[tuple[float, float], ...]:
    """Read the points of a drag, such as `10,20 300,40`.

    Raises:
        ActionError: it is no list of two points or more.
    """
    found = tuple(re.findall(r"(-?\d{1,6}(?:\.\d{1,4})?),(-?\d{1,6}(?:\.\d{1,4})?)", text, re.ASCII))
    if len(found) < 2 or " ".join(map(",".join, found)) != " ".join(text.split()):
        raise ActionError("mouse_drag: points must be two or more, written like '10,20 300,40'")
    return tuple((float(x), float(y)) for x, y in found)


def points_at(action: Action) -> tuple[tuple[float, float], ...]:
    """Return the points of an action of the pointer, in order; the pointer ends at the last.

    Raises:
        ActionError: the points of a drag are none.
    """
    match action.name, action.args:
        case (("mouse_click" | "mouse_move" | "scroll_at"), (float(x), float(y), *_)):
            return ((x, y),)
        case "mouse_drag", (str(points), *_):
            return points_of(points)
    return ()


def parse_action(text: str, actions: Mapping[str, Signature] = ACTIONS) -> Action:
    """Parse one action such as `click('12')`.

    Raises:
        ActionError: when the text is anything but one call of one of the `actions` with literal arguments
            of the right number and type.
    """
    text = text.strip()
    if not text:
        raise ActionError("no action given; answer with exactly one action, e.g. click('12')")
    if len(text) > MAX_LENGTH:
        raise ActionError(f"the action has {len(text):,} characters; the limit is {MAX_LENGTH:,}")
    try:
        with warnings.catch_warnings(action="ignore"):  # about odd escapes, which are the model's affair
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ActionError(
            "not a single call; answer with exactly one action on one line, e.g. click('12')"
        ) from None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise ActionError("not a call of an action; answer with exactly one action, e.g. click('12')")
    name = tree.func.id
    signature = actions.get(name)
    if signature is None:
        near = difflib.get_close_matches(name, actions, n=1)
        hint = f"did you mean {near[0]}?" if near else "the actions are " + ", ".join(actions)
        raise ActionError(f"unknown action {name[:40]!r}; {hint}")
    if tree.keywords:
        given = {keyword.arg: keyword.value for keyword in tree.keywords if keyword.arg}
        names = [parameter for parameter, _ in signature.parameters[len(tree.args) :]]
        preset = dict(zip(reversed(names), reversed(signature.defaults), strict=False))
        lacking = set(names) - set(given) - set(preset)
        if len(given) != len(tree.keywords) or not set(given) <= set(names) or lacking:
            raise ActionError(f"wrong arguments; the form is {signature.describe(name)}")
        values = [
            *tree.args,
            *(given.get(parameter) or ast.Constant(preset[parameter]) for parameter in names),
        ]
    else:
        values = tree.args
    most, least = len(signature.parameters), len(signature.parameters) - len(signature.defaults)
    if not least <= len(values) <= most:
        wanted = f"{least} to {most}" if least < most else str(most)
        raise ActionError(
            f"{name} takes {wanted} arguments, got {len(values)}; the form is {signature.describe(name)}"
        )
    action = Action(
        name,
        tuple(
            _literal(name, parameter, kind, value)
            for (parameter, kind), value in zip(signature.parameters, values, strict=False)
        ),
    )
    if len(str(action)) > MAX_LENGTH:  # escapes make it longer than the text was; records must stay readable
        raise ActionError(f"the action is too long; the limit is {MAX_LENGTH:,} characters")
    return action


def _literal(action: str, parameter: str, kind: type, node: ast.expr) -> Argument:
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise ActionError(f"{action}: {parameter} must be a plain value, not an expression") from None
    if isinstance(value, int | float) and abs(value) > MAX_NUMBER:
        raise ActionError(f"{action}: {parameter} is out of range; the largest number is {MAX_NUMBER:,}")
    if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
        raise ActionError(f"{action}: {parameter} holds half a character (a lone surrogate)")
    if kind is str and type(value) is int and parameter in ("bid", "id"):
        return str(value)  # models often leave out the quotes of a number that is a name
    if kind is float and type(value) is int:
        return float(value)
    if isinstance(value, str | int | float) and type(value) is kind:
        return value
    raise ActionError(f"{action}: {parameter} must be of type {kind.__name__}, got {type(value).__name__}")
