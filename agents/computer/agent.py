"""Let a model act by its provider's own tool: several actions at a time, each a step of its own."""

import base64
import re
from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeGuard

from agents.base import ActError, AgentError, Call, Decision, SafetyCheck, Usage, as_kept
from agents.computer.options import DEFAULT, ComputerOptions
from agents.providers.model import Request
from agents.providers.network import NetworkModel
from environments.protocol.actions import EVERY, Action, ActionError, parse_action
from environments.protocol.observation import Observation
from interventions.data_file import read_data
from interventions.errors import UserError

ANSWER_RETRIES: Final = 3
"""How often the model may answer again within a step."""
MOST_AT_ONCE: Final = 100
"""The most actions of one answer; no batch is so long."""
NAVIGATED: Final = "Not executed: an earlier action has led to another page. Look at the new picture."
FAILED: Final = "Not executed: an earlier computer action in this turn failed."
WAYS: Final = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
"""Direction of a scroll -> to the right, and down."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An action that a model asks for, in its own call; `problem`: why it is none that can be taken."""

    call: str
    name: str
    action: Action | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ActionResult:
    """What became of an action that was asked for: an error, or an empty text, and the picture after it."""

    asked: Asked
    error: str = ""
    picture: bytes = b""


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """What a model has answered: what it says, and the actions that it asks for, in order.

    `checks`: what its provider asks to confirm. `ended`: whether it asks for nothing more.
    """

    said: str
    asked: tuple[Asked, ...]
    checks: tuple[SafetyCheck, ...] = ()
    cut_off: bool = False

    @property
    def ended(self) -> bool:
        """Whether the model asks for no action."""
        return not self.asked


class ComputerModel(NetworkModel):
    """A model with its provider's tool; it keeps the conversation in its provider's form."""

    options: ComputerOptions = DEFAULT

    @abstractmethod
    def begin(self, observation: Observation) -> None:
        """Begin the conversation with the goal, the tabs and the picture."""

    @abstractmethod
    def report(self, done: Sequence[ActionResult], observation: Observation, *, acknowledged: bool) -> None:
        """Add what became of the actions, and the picture that is there now."""

    @abstractmethod
    def conversation(self) -> Request:
        """Return the request with the whole conversation."""

    @abstractmethod
    def read(self, parts: Sequence[dict[str, Any]], *, cut_off: bool) -> ModelTurn:
        """Read an answer, and add it to the conversation."""


class ComputerAgent:
    """A model in one episode. Its batches stop where a page is left, and at the first action that fails."""

    def __init__(self, model: ComputerModel, *, acknowledges: bool = False) -> None:
        self._model, self._acknowledges = model, acknowledges
        self._begun = False
        self._waiting: deque[Asked] = deque()
        self._done: list[ActionResult] = []
        self._acted: Asked | None = None
        self._said = ""
        self._acknowledged = False

    async def act(self, observation: Observation) -> Decision:
        """Take the next action of the batch; ask the model where there is none, or the batch has to stop.

        Raises:
            AgentError: no usable answer came, the model refuses, or its provider asks to confirm an action.
            ProviderError, UserError: see `agents.base`.
        """
        if not (observation.screenshot and observation.pointer):
            raise UserError(
                f"agents: {self._model.provider}:{self._model.name} looks at pictures; write observation: "
                "screenshot (or marks, or both)"
            )
        if self._acted:
            self._done.append(ActionResult(self._acted, observation.error, observation.screenshot))
            self._acted = None
        if self._waiting and not observation.error and not observation.arrived:
            return self._take(looked=False)
        skipped = FAILED if observation.error else NAVIGATED
        self._done += [ActionResult(asked, skipped) for asked in self._waiting]
        self._waiting.clear()
        return await self._ask(observation)

    async def _ask(self, observation: Observation) -> Decision:
        calls: list[Call] = []
        checks: list[SafetyCheck] = []
        reason = ""
        if not self._begun:
            self._model.begin(observation)
            self._begun = True
        else:
            self._model.report(self._done, observation, acknowledged=self._acknowledged)
        for _ in range(1 + ANSWER_RETRIES):
            try:
                answer, call = await self._model.exchange(self._model.conversation())
            except ActError as error:
                error.calls = (*calls, *error.calls)
                raise
            turn = self._model.read(answer.parts, cut_off=answer.ending.how == "cut_off")
            raw = as_kept(turn.said or answer.ending.said or str(answer.parts))
            checks += [replace(check, acknowledged=self._acknowledges) for check in turn.checks]
            if answer.ending.how == "refused":
                calls.append(replace(call, error="unusable answer: refused", answer=raw))
                raise AgentError(f"invalid answer: refused: {turn.said[:300]}", tuple(calls), tuple(checks))
            if turn.checks and not self._acknowledges:
                said = "; ".join(f"{check.code}: {check.message}" for check in turn.checks)
                raise AgentError(
                    f"the provider asks to confirm an action ({said[:300]}), and safety_checks says refuse",
                    (*calls, call),
                    tuple(checks),
                )
            problem = next((f"unclear: {each.problem}" for each in turn.asked if each.action is None), "")
            if turn.ended and (turn.cut_off or not turn.said.strip()):
                problem = "cut_off" if turn.cut_off else "empty"
            elif len(turn.asked) > MOST_AT_ONCE:
                problem = f"unclear: it asks for {len(turn.asked)} actions at once"
            if not problem:
                return self._begin_batch(turn, (*calls, call), tuple(checks))
            reason = problem
            calls.append(replace(call, error=f"unusable answer: {problem}", answer=raw))
            done = [ActionResult(asked, asked.problem or FAILED) for asked in turn.asked]
            self._model.report(done, observation, acknowledged=bool(turn.checks))
        told = f"invalid answer: {reason} (the last of {len(calls)})"
        raise AgentError(told, tuple(calls), tuple(checks))

    def _begin_batch(
        self, turn: ModelTurn, calls: tuple[Call, ...], checks: tuple[SafetyCheck, ...]
    ) -> Decision:
        """Take the first action of an answer. checks: of this answer, and of those that were not usable."""
        self._said, self._done = turn.said, []
        self._acknowledged = bool(turn.checks)
        self._waiting.extend(turn.asked)
        if turn.ended:
            action = Action("give_up", (turn.said[:500],))
            return Decision(turn.said, "", action, Usage.of(calls), calls, checks=checks)
        return replace(self._take(looked=True), usage=Usage.of(calls), calls=calls, checks=checks)

    def _take(self, *, looked: bool) -> Decision:
        self._acted = self._waiting.popleft()
        if self._acted.action is None:
            raise AssertionError("what cannot be taken does not wait")
        return Decision(self._said if looked else "", "", self._acted.action, looked=looked)


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


def schema_of(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a function's arguments."""
    properties = FUNCTIONS[name]["properties"]
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


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


def asked_of(call: str, name: str, found: Sequence[Action] | str) -> list[Asked]:
    """Return actions as those of one call, or why they cannot be taken."""
    try:
        if not isinstance(found, str):
            return [Asked(call, name, parse_action(str(action), EVERY)) for action in found]
    except ActionError as error:
        found = str(error)
    return [Asked(call, name, None, found)]


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


def key_name(name: str) -> str | None:
    """Return a key by the name that browsers have for it; None where there is none."""
    if len(name) == 1 and name.isprintable():
        return name.lower() if name.isascii() else name
    is_function = re.fullmatch("f([1-9]|1[0-2])", name.lower())
    return name.upper() if is_function else _KEYS.get(name.lower())


def chord(names: Sequence[str]) -> str | None:
    """Return keys that are pressed together, such as `Control+a`; None where one is unknown."""
    found = [key_name(name) for name in names]
    return "+".join(each for each in found if each) if found and all(found) else None


def modifiers(names: Sequence[str]) -> str | None:
    """Return keys that are held meanwhile, such as `Shift+Control`; None where one is no such key."""
    found = [key_name(name) for name in names]
    if any(each not in ("Shift", "Control", "Alt", "Meta") for each in found):
        return None
    return "+".join(each for each in found if each)
