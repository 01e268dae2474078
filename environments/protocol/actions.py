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
from typing import Final

from interventions.data_file import read_data

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


_TYPES: Final = {"str": str, "int": int, "float": float}


def _signatures(part: str) -> dict[str, Signature]:
    return {
        name: Signature(
            tuple((parameter, _TYPES[kind]) for parameter, kind in told.get("parameters", {}).items()),
            told["meaning"],
            tuple(told.get("defaults", ())),
        )
        for name, told in read_data(__file__, "actions.yaml")[part].items()
    }


ACTIONS: Final = _signatures("reading")
"""The actions of an agent that reads pages."""

ON_MARKS: Final = frozenset({"click", "fill", "select_option"})
"""The actions that name an element by its mark."""

POINTER: Final = _signatures("pointer")
"""The further actions of an agent that sees pictures: points are pixels, from the picture's upper left."""

TOOLS: Final = _signatures("tools")
"""The further actions that providers' own tools have; no other agent is offered them."""

EVERY: Final = ACTIONS | POINTER | TOOLS


def offered(*, marks: bool, pointer: bool) -> dict[str, Signature]:
    """Return the actions of an agent: those that name elements by `marks`, and those of the `pointer`."""
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
    if kind is str and type(value) is int and parameter == "bid":
        return str(value)  # models often leave out the quotes of a numeric bid
    if kind is float and type(value) is int:
        return float(value)
    if isinstance(value, str | int | float) and type(value) is kind:
        return value
    raise ActionError(f"{action}: {parameter} must be of type {kind.__name__}, got {type(value).__name__}")
