"""OpenAI's tool `computer`, through the responses API."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from openai import AsyncOpenAI

from agents.base import SafetyCheck
from agents.computer import tools
from agents.computer.agent import ActionResult, ComputerModel, ModelTurn, RequestedAction
from agents.providers.model import THINKING, Request, TextAnswer, ended
from agents.providers.network import Failure
from agents.providers.openai_chat import connect, data_url
from agents.providers.openai_responses import respond
from environments.protocol.actions import Action
from environments.protocol.observation import Observation

_LONGEST: Final = 2_000
_LONGEST_PATH: Final = 3_000
"""The most characters of the points of a drag."""
_BUTTONS: Final = {"left": "left", "right": "right", "wheel": "middle", "middle": "middle"} | {
    name: name for name in ("back", "forward")
}
_PREVIEW: Final = "computer-use-preview"
"""Models with the tool before `computer`: it is told the picture's size, and asks for one action a call."""
_OF_FUNCTION: Final = "function_call"
_OF_COMPUTER: Final = "computer_call"


class OpenAIComputer(ComputerModel):
    """A model of OpenAI that looks at pictures. OpenAI stores nothing: all items are sent again."""

    provider = "openai-computer"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._items: list[dict[str, Any]] = []
        self._checks: dict[str, list[dict[str, Any]]] = {}
        self._tool: dict[str, Any] = {"type": "computer"}
        self._is_preview = name.startswith(_PREVIEW)

    def connect(self, base_url: str, key: str) -> AsyncOpenAI:
        """See `NetworkModel.connect`."""
        return connect(base_url, key)

    def begin(self, observation: Observation) -> None:
        """See `ComputerModel.begin`."""
        if self._is_preview:
            width, height = tools.size_of(observation.screenshot)
            self._tool = {
                "type": "computer_use_preview",
                "display_width": width,
                "display_height": height,
                "environment": "browser",
            }
        text = {"type": "input_text", "text": tools.first_text(observation)}
        self._items = [{"role": "user", "content": [text, self._picture(observation)]}]

    def report(self, done: Sequence[ActionResult], observation: Observation, *, acknowledged: bool) -> None:
        """See `ComputerModel.report`: one picture for each call of the tool, after all of its actions."""
        problems = [f"{each.asked.name}: {each.error}" for each in done if each.error]
        for call in dict.fromkeys(each.asked.call for each in done):
            mine = [each for each in done if each.asked.call == call]
            if call in self._checks:
                self._items.append(
                    {
                        "type": "computer_call_output",
                        "call_id": call,
                        "output": {"type": "computer_screenshot", "image_url": _image(observation)},
                        **({"acknowledged_safety_checks": self._checks[call]} if acknowledged else {}),
                    }
                )
            else:
                said = next((each.error for each in mine if each.error), "") or "done"
                self._items.append({"type": "function_call_output", "call_id": call, "output": said})
        text = "\n".join([tools.tabs_text(observation), *problems])
        content: list[dict[str, Any]] = [{"type": "input_text", "text": text}]
        if not any(each.asked.call in self._checks for each in done):
            content.append(self._picture(observation))
        self._items.append({"role": "user", "content": content})

    def _picture(self, observation: Observation) -> dict[str, Any]:
        detail = "auto" if self._is_preview else "original"
        return {"type": "input_image", "image_url": _image(observation), "detail": detail}

    def conversation(self) -> Request:
        """See `ComputerModel.conversation`."""
        declared = tools.declared(tools.FUNCTIONS, "parameters")
        functions = [{"type": "function", "strict": True} | each for each in declared]
        return {
            "model": self.name,
            "input": list(self._items),
            "tools": [self._tool, *functions],
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "truncation": "auto",
            "max_output_tokens": THINKING + _LONGEST,
        }

    async def send(self, client: AsyncOpenAI, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        body = await respond(client, self._service, request)
        if isinstance(body, Failure):
            return body
        answer = body.answer
        return answer if isinstance(answer, Failure) else replace(answer, ending=ended(body.status))

    def read(self, parts: Sequence[dict[str, Any]], *, cut_off: bool) -> ModelTurn:
        """See `ComputerModel.read`. What was cut off is not sent again, but for words."""
        said: list[str] = []
        asked: list[RequestedAction] = []
        checks: list[SafetyCheck] = []
        for part in parts:
            kind, call = part.get("type"), str(part.get("call_id", ""))
            if (cut_off and kind != "message") or (kind in (_OF_COMPUTER, _OF_FUNCTION) and not call):
                continue
            self._items.append(part)
            if kind == "message":
                said += _texts(part)
            elif kind == _OF_FUNCTION:
                asked += _of_function(call, part)
            elif kind == _OF_COMPUTER:
                self._checks[call] = _safety_checks(part)
                checks += [
                    SafetyCheck(str(each.get("code") or ""), str(each.get("message") or ""), False)
                    for each in self._checks[call]
                ]
                asked += _actions(call, part)
        return ModelTurn("\n".join(said), tuple(asked), tuple(checks), cut_off)


def _image(observation: Observation) -> str:
    return data_url(tools.in_base64(observation.screenshot))


def _texts(part: dict[str, Any]) -> list[str]:
    content = part.get("content")
    pieces = content if isinstance(content, list) else []
    return [
        str(piece.get("text") or piece.get("refusal") or "") for piece in pieces if isinstance(piece, dict)
    ]


def _safety_checks(part: dict[str, Any]) -> list[dict[str, Any]]:
    found = part.get("pending_safety_checks")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _of_function(call: str, part: dict[str, Any]) -> list[RequestedAction]:
    name = str(part.get("name", ""))
    try:
        given = json.loads(part.get("arguments") or "{}")
    except (TypeError, ValueError):
        return tools.asked_of(call, name, f"{name}: its arguments are no JSON")
    return tools.asked_of(call, name, tools.function_action(name, given))


def _actions(call: str, part: dict[str, Any]) -> list[RequestedAction]:
    found = part.get("actions") or ([part["action"]] if part.get("action") else [])
    if not isinstance(found, list) or not found:
        return tools.asked_of(call, "computer", "the call has no actions")
    asked: list[RequestedAction] = []
    for each in found:
        given = each if isinstance(each, dict) else {}
        name = str(given.get("type", "computer"))
        action = _action(name, given)
        asked += tools.asked_of(call, name, action if isinstance(action, str) else [action])
    return asked


def _action(name: str, given: dict[str, Any]) -> Action | str:
    """The action that the tool names so, or why it is none."""
    x, y = tools.number(given.get("x")), tools.number(given.get("y"))
    keys = given.get("keys")
    names = [str(key) for key in keys] if isinstance(keys, list) else []
    held = "" if name == "keypress" else tools.modifiers(names)
    if held is None:
        return f"{name}: keys must be modifiers"
    match name:
        case "screenshot":
            return Action("wait", (0.0,))
        case "wait":
            return Action("wait", (1_000.0,))
        case "type" if tools.is_typed(given.get("text")):
            return Action("keyboard_type", (given["text"],))
        case "keypress":
            pressed = tools.chord(names)
            return (
                Action("keyboard_press", (pressed,)) if pressed else f"keypress: unknown keys {names!r:.100}"
            )
        case "drag" if points := _points(given.get("path")):
            return Action("mouse_drag", (points, "left", held))
    if x is not None and y is not None:
        match name:
            case "click" if button := _BUTTONS.get(str(given.get("button") or "left")):
                return Action("mouse_click", (x, y, button, 1, held))
            case "double_click":
                return Action("mouse_click", (x, y, "left", 2, held))
            case "move":
                return Action("mouse_move", (x, y))
            case "scroll":
                dx, dy = tools.number(given.get("scroll_x") or 0), tools.number(given.get("scroll_y") or 0)
                if dx is not None and dy is not None:
                    return Action("scroll_at", (x, y, dx, dy, held))
    return f"{name[:40]}: there is no such action, or its arguments are wrong"


def _points(path: object) -> str:
    points = [
        (tools.number(each.get("x")), tools.number(each.get("y")))
        for each in (path if isinstance(path, list) else [])
        if isinstance(each, dict)
    ]
    if len(points) < 2 or any(x is None or y is None for x, y in points):
        return ""
    return text if len(text := " ".join(f"{x:g},{y:g}" for x, y in points)) <= _LONGEST_PATH else ""
