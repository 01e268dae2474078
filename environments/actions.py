"""The nine actions an agent may take, and the parser that turns a model's answer into one of them.

A model's answer is untrusted text. It is parsed as one Python-style call with literal arguments and checked
against the closed table below; nothing of it is ever executed.
"""

import ast
import difflib
import re
import warnings
from dataclasses import dataclass
from typing import Final

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
    """The parameters of an action, by name and type, and its effect (shown to language models)."""

    parameters: tuple[tuple[str, type], ...]
    meaning: str

    def describe(self, name: str) -> str:
        """Return one line for a prompt: `click(bid: str)  Click an element.`"""
        parameters = ", ".join(f"{parameter}: {kind.__name__}" for parameter, kind in self.parameters)
        return f"{name}({parameters})  {self.meaning}"


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


def parse_action(text: str) -> Action:
    """Parse one action such as `click('12')`.

    Raises:
        ActionError: when the text is anything but one call of one of the nine actions with literal arguments
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
    signature = ACTIONS.get(name)
    if signature is None:
        near = difflib.get_close_matches(name, ACTIONS, n=1)
        hint = f"did you mean {near[0]}?" if near else "the actions are " + ", ".join(ACTIONS)
        raise ActionError(f"unknown action {name[:40]!r}; {hint}")
    if tree.keywords:
        given = {keyword.arg: keyword.value for keyword in tree.keywords if keyword.arg}
        names = [parameter for parameter, _ in signature.parameters[len(tree.args) :]]
        if len(given) != len(tree.keywords) or set(given) != set(names):
            raise ActionError(f"wrong arguments; the form is {signature.describe(name)}")
        values = [*tree.args, *(given[parameter] for parameter in names)]
    else:
        values = tree.args
    if len(values) != len(signature.parameters):
        raise ActionError(
            f"{name} takes {len(signature.parameters)} arguments, got {len(values)}; "
            f"the form is {signature.describe(name)}"
        )
    action = Action(
        name,
        tuple(
            _literal(name, parameter, kind, value)
            for (parameter, kind), value in zip(signature.parameters, values, strict=True)
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
