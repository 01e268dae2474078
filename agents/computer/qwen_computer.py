"""Qwen-VL's function `computer_use`, which the model calls in its text: `<tool_call>{...}</tool_call>`."""

import json
import re
from typing import Any, ClassVar, Final

from agents.computer import tools
from agents.computer.agent import RequestedAction
from agents.computer.chat_computer import GRID, ChatComputer, resized
from environments.protocol.actions import Action
from interventions.data_file import read_data, read_source

_TOOLS: Final = read_data(__file__, "tools.yaml")
_FUNCTION: Final = "computer_use"
_CALL: Final = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.S)
_RESIZED: Final = re.compile(r"qwen-?2[.-]?5", re.I)
"""Models whose points are pixels of the picture as they resize it; those of others are thousandths."""
_PROMPT: Final = read_source(__file__, "qwen.txt")


class QwenComputer(ChatComputer):
    """A model of the family Qwen-VL."""

    provider = "qwen-computer"
    form = 'write <tool_call>{"name": ..., "arguments": {...}}</tool_call>'
    tool: ClassVar[dict[str, Any]] = _TOOLS["qwen"]
    """The actions of its function, the other arguments, and what it lacks of `FUNCTIONS`."""

    def units(self, size: tuple[int, int]) -> tuple[int, int]:
        """See `ChatComputer.units`."""
        return resized(size) if _RESIZED.search(self.name) else GRID

    def prompt(self, goal: str) -> tuple[str, str]:
        """See `ChatComputer.prompt`."""
        width, height = self._units
        about = (
            f"Acts with mouse and keyboard on the page in the picture, whose size is {width}x{height}; "
            "points are x and y from its upper left corner. Click in the middle of what you click."
        )
        meant = "; ".join(f"{name}: {meaning}" for name, meaning in self.tool["actions"].items())
        action = {"type": "string", "enum": list(self.tool["actions"]), "description": meant}
        parameters = {
            "type": "object",
            "properties": {"action": action} | self.tool["properties"],
            "required": ["action"],
        }
        own = {"name": _FUNCTION, "description": about, "parameters": parameters}
        functions = [own, *tools.declared(self.tool["functions"], "parameters")]
        lines = [json.dumps({"type": "function", "function": each}) for each in functions]
        return _PROMPT.format(tools="\n".join(lines)), goal

    def parse(self, text: str) -> tuple[str, list[RequestedAction]]:
        """See `ChatComputer.parse`."""
        asked = [each for call in _CALL.findall(text) for each in self._asked(call)]
        return _CALL.sub("", text).strip(), asked

    def _asked(self, text: str) -> list[RequestedAction]:
        try:
            call = json.loads(text)
        except (ValueError, RecursionError):
            call = None
        name, given = (call.get("name"), call.get("arguments")) if isinstance(call, dict) else ("", {})
        if not isinstance(given, dict) or not isinstance(name, str) or not name:
            return tools.asked_of("", "call", "it is no JSON object with a name and arguments")
        if name in self.tool["functions"]:
            return tools.asked_of("", name, tools.function_action(name, given))
        if name != _FUNCTION:
            known = ", ".join((_FUNCTION, *self.tool["functions"]))
            return tools.asked_of(
                "", "call", f"there is no function {name[:40]!r}; the functions are {known}"
            )
        action = given.get("action")
        action = action if isinstance(action, str) else ""
        if action not in self.tool["actions"]:
            known = ", ".join(self.tool["actions"])
            return tools.asked_of(
                "", _FUNCTION, f"there is no action {action[:40]!r}; the actions are {known}"
            )
        return tools.asked_of("", action, self._actions(action, given))

    def _actions(self, name: str, given: dict[str, Any]) -> list[Action] | str:
        """The actions that a call stands for, or why it is none."""
        wrong = f"{name}: its arguments are wrong"
        at: tuple[float, float] | None = None
        if given.get("coordinate") is not None:
            at = self.point(*(tools.point_of(given["coordinate"]) or (None, None)))
            if at is None:
                return f"{name}: coordinate must be a list of two numbers"
        before = self._pointer
        if at and 0 <= at[0] < self._size[0] and 0 <= at[1] < self._size[1]:
            self._pointer = at
        text, keys = given.get("text"), given.get("keys")
        pixels = tools.number(given.get("pixels"))
        match name:
            case "key" if isinstance(keys, list | str):
                names = keys.split("+") if isinstance(keys, str) else keys
                pressed = tools.chord([key if isinstance(key, str) else "" for key in names])
                return [Action("keyboard_press", (pressed,))] if pressed else wrong
            case "type" if isinstance(text, str) and len(text) <= tools.LONGEST_TEXT:
                clears, enters = bool(given.get("delete_existing_text")), bool(given.get("press_enter"))
                return tools.typing(text, at, clears=clears, enters=enters) or wrong
            case "mouse_move" if at:
                return [Action("mouse_move", at)]
            case "left_click_drag" if at:
                return [tools.drag(before, at)]
            case "scroll" if pixels is not None:
                return [Action("scroll_at", (*self._pointer, 0.0, -pixels, ""))]
            case "hscroll" if pixels is not None:
                return [Action("scroll_at", (*self._pointer, pixels, 0.0, ""))]
            case "wait" if (seconds := tools.number(given.get("time", 1))) is not None:
                return [Action("wait", (seconds * 1_000,))]
            case "answer" if isinstance(text, str):
                return [Action("give_up", (text[:500],))]
            case "terminate":
                failed = given.get("status") == "failure"
                return [Action("give_up", ("terminate: failure" if failed else "terminate: success",))]
            case "visit_url" if isinstance(given.get("url"), str):
                return [Action("goto", (given["url"][:2_000],))]
            case "history_back":
                return [Action("go_back", ())]
            case "pause_and_memorize_fact":  # the conversation holds it
                return [Action("wait", (0.0,))]
        if name in tools.CLICKS and at:
            return [Action("mouse_click", (*at, *tools.CLICKS[name], ""))]
        return wrong


class FaraComputer(QwenComputer):
    """A model of the family Fara. There is no web to search, so `web_search` is not offered."""

    provider = "fara-computer"
    tool: ClassVar[dict[str, Any]] = _TOOLS["fara"] | {
        "properties": _TOOLS["qwen"]["properties"] | _TOOLS["fara"]["properties"]
    }

    def units(self, size: tuple[int, int]) -> tuple[int, int]:
        """See `ChatComputer.units`."""
        return resized(size)
