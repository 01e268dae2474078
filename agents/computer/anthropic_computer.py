"""Anthropic's tools for computers, through the messages API: the toolset, and the tool of earlier models."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar, Final

from anthropic import AsyncAnthropic

from agents.computer import tools
from agents.computer.agent import ActionResult, ComputerModel, ModelTurn, RequestedAction
from agents.providers.anthropic_messages import CACHE, connect, image_block, send
from agents.providers.model import THINKING, Request, TextAnswer
from agents.providers.network import Failure
from environments.protocol.actions import Action, points_at
from environments.protocol.observation import Observation, Tab

_LONGEST: Final = 4_096
_TOOLSET: Final = "computer_toolset_20260801"
_ZOOMING: Final = "computer_20251124"
_EARLIER: Final = (
    (
        re.compile(r"claude-(?:[23]|(?:sonnet|haiku)-4-5|(?:opus|sonnet|haiku)-4(?:-[01])?(?:-\d{8})?$)"),
        "computer_20250124",
        "computer-use-2025-01-24",
    ),
    (re.compile(r"claude-(?:opus|sonnet|haiku)-4"), _ZOOMING, "computer-use-2025-11-24"),
)
"""Models before the toolset: their tool, and the header that allows it."""
_NOTCH: Final = 120.0
"""The pixels of a click of the wheel."""


class AnthropicComputer(ComputerModel):
    """A model of Anthropic that looks at pictures."""

    provider = "anthropic-computer"
    functions: ClassVar[tuple[str, ...]] = tuple(tools.FUNCTIONS)
    """What its tool lacks of `FUNCTIONS`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._messages: list[dict[str, Any]] = []
        self._pointer = (0.0, 0.0)
        self._reached = self._pointer
        self._positions: dict[str, tuple[float, float]] = {}
        self._size = (0, 0)
        self._tabs: tuple[Tab, ...] = ()
        self._toolsets: dict[str, str] = {}
        self._tool, self._beta = next(
            ((tool, beta) for models, tool, beta in _EARLIER if models.match(name)), (_TOOLSET, "")
        )

    def connect(self, base_url: str, key: str) -> AsyncAnthropic:
        """See `NetworkModel.connect`."""
        return connect(base_url, key)

    def begin(self, observation: Observation) -> None:
        """See `ComputerModel.begin`."""
        self._size, self._tabs = tools.size_of(observation.screenshot), observation.tabs
        text = {"type": "text", "text": tools.first_text(observation)}
        self._messages = [{"role": "user", "content": [text, _image(observation.screenshot)]}]

    def report(self, done: Sequence[ActionResult], observation: Observation, *, acknowledged: bool) -> None:
        """See `ComputerModel.report`: a result for each call, the last with the picture."""
        self._tabs = observation.tabs
        results: list[dict[str, Any]] = []
        by_call = {each.asked.call: each for each in reversed(done)}
        failed = {each.asked.call: each.error for each in reversed(done) if each.error}
        for each in done:  # what was not done has not moved the pointer
            if each.asked.action and not each.error and (points := points_at(each.asked.action)):
                self._reached = points[-1]
        self._pointer = self._reached
        for call in dict.fromkeys(each.asked.call for each in done):
            error = failed.get(call, "")
            result: dict[str, Any] = {
                "type": "tool_result",
                "tool_use_id": call,
                "content": [self.told(by_call[call], error, observation)],
            }
            if error:
                result["is_error"] = True
            if toolset := self._toolsets.get(call):
                result["toolset_name"] = toolset
            results.append(result)
        content = [*results, {"type": "text", "text": tools.tabs_text(observation)}]
        last = results[-1]["content"] if results else content
        if last[-1]["type"] not in ("text", "image"):  # what must stand alone
            last = content
        if last[-1]["type"] == "text":
            last.append(_image(observation.screenshot))
        self._messages.append({"role": "user", "content": content})

    def told(self, done: ActionResult, error: str, observation: Observation) -> dict[str, Any]:
        """Return the block that answers a call of an action that was taken, or could not be."""
        if done.asked.name == "zoom" and not error:
            return _image(done.picture)
        if done.asked.name == "screenshot" and not error:
            return _image(done.picture if observation.zoomed else observation.screenshot)
        at = self._positions.get(done.asked.call)
        return {"type": "text", "text": error or (f"X={at[0]:g},Y={at[1]:g}" if at else "OK")}

    def tool(self) -> dict[str, Any]:
        """Return the tool as the request has it."""
        width, height = self._size
        if not self._beta:
            return {"type": self._tool}
        return {
            "type": self._tool,
            "name": "computer",
            "display_width_px": width,
            "display_height_px": height,
            **({"enable_zoom": True} if self._tool == _ZOOMING else {}),
        }

    def conversation(self) -> Request:
        """See `ComputerModel.conversation`."""
        return {
            "model": self.name,
            "max_tokens": _LONGEST + (0 if self._beta else THINKING),
            "messages": list(self._messages),
            "tools": [self.tool(), *tools.declared(self.functions, "input_schema")],
            "cache_control": CACHE,  # the next request begins with all of this one
        }

    async def send(self, client: AsyncAnthropic, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        return await send(client, request, self._beta)

    def read(self, parts: Sequence[dict[str, Any]], *, cut_off: bool) -> ModelTurn:
        """See `ComputerModel.read`."""
        # Where it was cut off a call may lack its end, and none would be answered.
        content = [part for part in parts if not cut_off or part.get("type") == "text"]
        asked = [each for part in content if part.get("type") == "tool_use" for each in self._asked(part)]
        said = "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")
        told = content or [{"type": "text", "text": "(empty)"}]
        self._messages.append({"role": "assistant", "content": told})
        return ModelTurn(said, tuple(asked), cut_off=cut_off)

    def _asked(self, part: dict[str, Any]) -> list[RequestedAction]:
        call, name = str(part.get("id", "")), str(part.get("name", ""))
        if toolset := part.get("toolset_name"):
            self._toolsets[call] = str(toolset)
        given = part.get("input")
        given = given if isinstance(given, dict) else {}
        if name in self.functions and not part.get("toolset_name"):
            actions = tools.function_action(name, given)
        else:
            name = str(given.get("action", "")) if self._beta else name
            actions = self.actions(name, given)
            if name == "cursor_position":
                self._positions[call] = self._pointer
        return tools.asked_of(call, name, actions)

    def actions(self, name: str, given: dict[str, Any]) -> list[Action] | str:
        """Return the actions of a member of the tool, or why it is none; keys may be repeated."""
        found = self._action(name, given)
        if isinstance(found, str):
            return found
        times = tools.number(given.get("repeat", 1)) if name == "key" else 1
        return [found] * int(min(max(times or 1, 1), 100))

    def _move(self, at: tuple[float, float]) -> None:
        """Keep where the pointer is; a point outside the picture is refused, and the pointer stays."""
        if 0 <= at[0] < self._size[0] and 0 <= at[1] < self._size[1]:
            self._pointer = at

    def _action(self, name: str, given: dict[str, Any]) -> Action | str:
        """The action of a member of the tool, or why it is none."""
        text = given.get("text") if isinstance(given.get("text"), str) else ""
        words = text or str(given.get("key") or "")
        at = tools.point_of(given.get("coordinate")) if given.get("coordinate") is not None else self._pointer
        wrong = f"{name[:40]}: there is no such action here, or its arguments are wrong"
        if at is None:
            return wrong
        held = tools.modifiers([each for each in words.split("+") if each])
        if name in tools.CLICKS or name in ("scroll", "left_click_drag"):
            if held is None:
                return f"{name}: text must be modifiers such as shift or ctrl+alt"
            self._move(at)
        match name:
            case "screenshot" | "cursor_position":
                return Action("wait", (0.0,))
            case "zoom" if part := tools.numbers(given.get("region"), 4):
                return Action("zoom", part)
            case "wait" if (seconds := tools.number(given.get("duration"))) is not None:
                return Action("wait", (min(seconds, 300.0) * 1000,))
            case "type" if tools.is_typed(text):
                return Action("keyboard_type", (text,))
            case "key" if pressed := tools.chord([each for each in words.split("+") if each]):
                return Action("keyboard_press", (pressed,))
            case "hold_key" if (pressed := tools.chord([each for each in words.split("+") if each])) and (
                seconds := tools.number(given.get("duration"))
            ) is not None:
                return Action("keyboard_hold", (pressed, seconds * 1_000))
            case "mouse_move" if given.get("coordinate") is not None:
                self._move(at)
                return Action("mouse_move", at)
            case "left_mouse_down":
                return Action("mouse_down", ("left",))
            case "left_mouse_up":
                return Action("mouse_up", ("left",))
            case "left_click_drag" if start := tools.point_of(given.get("start_coordinate")):
                return tools.drag(start, at, held or "")
            case "scroll" if (way := tools.WAYS.get(str(given.get("scroll_direction")))) and (
                amount := tools.number(given.get("scroll_amount"))
            ) is not None:
                dx, dy = (each * amount * _NOTCH for each in way)
                return Action("scroll_at", (*at, dx, dy, held or ""))
        if name in tools.CLICKS:
            button, count = tools.CLICKS[name]
            return Action("mouse_click", (*at, button, count, held or ""))
        return wrong


def _image(png: bytes) -> dict[str, Any]:
    return image_block(tools.in_base64(png))
