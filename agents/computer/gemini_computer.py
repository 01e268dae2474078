"""Google's tool for computers, through the Gemini API: functions with points on a grid of 1,000 by 1,000."""

import re
from collections.abc import Sequence
from typing import Any, Final

from agents.base import SafetyCheck
from agents.computer import tools
from agents.computer.agent import ActionResult, ComputerModel, ModelTurn, RequestedAction
from agents.computer.options import DEFAULT
from agents.providers.gemini import GeminiClient, generate, image_part
from agents.providers.model import THINKING, Request, TextAnswer
from agents.providers.network import Failure
from environments.protocol.actions import Action
from environments.protocol.observation import Observation

_LONGEST: Final = 4_096
_GRID: Final = 1_000.0
_OWN: Final = ("tab_focus", "give_up")
"""What its tool lacks of `FUNCTIONS`."""
_EARLIER: Final = re.compile(r"^gemini-(?:[12]|3-|3\.[0-4]-)")
"""Models of before 3.5: of their functions `search` is left out, of those of later ones holding keys."""
_CLICKS: Final = {
    "click": ("left", 1),
    "click_at": ("left", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
    "middle_click": ("middle", 1),
    "right_click": ("right", 1),
}
_PIXELS: Final = 300.0
_SHARE: Final = 800.0
"""How far a scroll goes that does not say: in pixels, and on the grid, for the models before 3.5."""


class GeminiComputer(ComputerModel):
    """A model of Google that looks at pictures."""

    provider = "gemini-computer"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._contents: list[dict[str, Any]] = []
        self._size = (0, 0)
        self._calls: dict[str, dict[str, Any]] = {}
        self._checked: set[str] = set()
        self._excluded = ("search",) if _EARLIER.search(name) else ("key_down", "key_up")

    def connect(self, base_url: str, key: str) -> GeminiClient:
        """See `NetworkModel.connect`."""
        return GeminiClient(base_url, key)

    def begin(self, observation: Observation) -> None:
        """See `ComputerModel.begin`."""
        self._size = tools.size_of(observation.screenshot)
        parts = [{"text": tools.first_text(observation)}, _image(observation)]
        self._contents = [{"role": "user", "parts": parts}]

    def report(self, done: Sequence[ActionResult], observation: Observation, *, acknowledged: bool) -> None:
        """See `ComputerModel.report`: a response for each call, with the address and the picture."""
        failed = {each.asked.call: each.error for each in reversed(done) if each.error}
        url = next((tab.url for tab in observation.tabs if tab.active), "")
        parts: list[dict[str, Any]] = []
        for call in dict.fromkeys(each.asked.call for each in done):
            response = {"url": url} | ({"error": failed[call]} if call in failed else {})
            if acknowledged and call in self._checked:
                response["safety_acknowledgement"] = "true"
            told = self._calls[call] | {"response": response}
            parts.append({"functionResponse": told | {"parts": [_image(observation)]}})
        picture = [] if parts else [_image(observation)]
        parts += [{"text": tools.tabs_text(observation)}, *picture]
        self._contents.append({"role": "user", "parts": parts})

    def conversation(self) -> Request:
        """See `ComputerModel.conversation`."""
        functions = tools.declared(_OWN, "parametersJsonSchema")
        tool: dict[str, Any] = {
            "environment": "ENVIRONMENT_BROWSER",
            "excludedPredefinedFunctions": list(self._excluded),
        }
        config: dict[str, Any] = {"maxOutputTokens": THINKING + _LONGEST}
        switches = {
            "disabledSafetyPolicies": self.options.disabled_safety_policies,
            "enablePromptInjectionDetection": self.options.prompt_injection_detection,
        }
        tool |= {name: value for name, value in switches.items() if value is not None}
        both = [{"computerUse": tool}, {"functionDeclarations": functions}]
        if self.options == DEFAULT:
            config["tools"] = both
        else:  # older versions of the SDK take no switches, but send what they are given here
            config["httpOptions"] = {"extraBody": {"tools": both}}
        return {"model": self.name, "contents": list(self._contents), "config": config}

    async def send(self, client: GeminiClient, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        body = await generate(client, request)
        if isinstance(body, Failure):
            return body
        if body.candidates and body.candidates[0].finish_reason == "MALFORMED_FUNCTION_CALL":
            return Failure("the model's answer was malformed")
        return body.answer

    def read(self, parts: Sequence[dict[str, Any]], *, cut_off: bool) -> ModelTurn:
        """See `ComputerModel.read`. Parts go back as they came, as their signatures need it."""
        said: list[str] = []
        asked: list[RequestedAction] = []
        checks: list[SafetyCheck] = []
        kept = [part for part in parts if not (cut_off and part.get("function_call"))]
        for part in kept:
            called = part.get("function_call")
            if isinstance(called, dict):
                call = f"call_{len(self._calls)}"
                name, given = str(called.get("name", "")), called.get("args")
                given = given if isinstance(given, dict) else {}
                told = {"id": str(called["id"])} if called.get("id") else {}
                self._calls[call] = {"name": name, **told}
                if isinstance(decided := given.get("safety_decision"), dict):
                    self._checked.add(call)
                    code, why = decided.get("decision"), decided.get("explanation")
                    checks.append(SafetyCheck(str(code or ""), str(why or ""), False))
                asked += self._asked(call, name, given)
            elif part.get("text") and not part.get("thought"):
                said.append(str(part["text"]))
        self._contents.append({"role": "model", "parts": kept or [{"text": "(empty)"}]})
        return ModelTurn("\n".join(said), tuple(asked), tuple(checks), cut_off)

    def _asked(self, call: str, name: str, given: dict[str, Any]) -> list[RequestedAction]:
        if name in _OWN:
            return tools.asked_of(call, name, tools.function_action(name, given))
        wrong = f"{name[:40]}: there is no such action here, or its arguments are wrong"
        return tools.asked_of(call, name, self._actions(name, given) or wrong)

    def _actions(self, name: str, given: dict[str, Any]) -> list[Action]:
        """The actions that a function stands for; none where it is unknown, or its arguments are wrong."""
        at = self._point(given.get("x"), given.get("y"))
        match name:
            case "take_screenshot" | "open_web_browser":
                return [Action("wait", (0.0,))]
            case "wait" | "wait_5_seconds":
                seconds = tools.number(given.get("seconds", 5 if name != "wait" else 1))
                return [] if seconds is None else [Action("wait", (min(seconds, 300.0) * 1_000,))]
            case "go_back" | "go_forward":
                return [Action(name, ())]
            case "navigate" if isinstance(given.get("url"), str):
                return [Action("goto", (given["url"][:2_000],))]
            case "press_key" | "hotkey" | "key_combination":
                keys = given.get("key", given.get("keys"))
                names = keys if isinstance(keys, list) else str(keys or "").split("+")
                pressed = tools.chord([str(each) for each in names])
                return [Action("keyboard_press", (pressed,))] if pressed else []
            case "type" | "type_text_at" if len(str(given.get("text", ""))) > tools.LONGEST_TEXT:
                return []
            case "type" | "type_text_at" if isinstance(given.get("text"), str):
                if at is None and name != "type":
                    return []
                clears = at is not None and bool(given.get("clear_before_typing", True))
                enters = bool(given.get("press_enter", at is not None))
                return tools.typing(given["text"], at, clears=clears, enters=enters)
            case "scroll_document":
                return self._scroll((self._size[0] / 2, self._size[1] / 2), given, in_grid=True)
        if at is None:
            return []
        match name:
            case "move" | "hover_at":
                return [Action("mouse_move", at)]
            case "mouse_down" | "mouse_up":
                return [Action("mouse_move", at), Action(name, ("left",))]
            case "scroll" | "scroll_at":
                return self._scroll(at, given, in_grid="magnitude" in given or name == "scroll_at")
            case "drag_and_drop" if end := self._point(
                given.get("destination_x", given.get("end_x")), given.get("destination_y", given.get("end_y"))
            ):
                return [tools.drag(at, end)]
        return [Action("mouse_click", (*at, *_CLICKS[name], ""))] if name in _CLICKS else []

    def _scroll(self, at: tuple[float, float], given: dict[str, Any], *, in_grid: bool) -> list[Action]:
        way = tools.WAYS.get(str(given.get("direction")))
        told = given.get("magnitude", _SHARE) if in_grid else given.get("magnitude_in_pixels", _PIXELS)
        far = tools.number(told)
        if way is None or far is None:
            return []
        width, height = self._size if in_grid else (_GRID, _GRID)
        return [Action("scroll_at", (*at, way[0] * far * width / _GRID, way[1] * far * height / _GRID, ""))]

    def _point(self, x: object, y: object) -> tuple[float, float] | None:
        """A point of the grid in pixels; both numbers are there."""
        across, down = tools.number(x), tools.number(y)
        if across is None or down is None:
            return None
        return across * self._size[0] / _GRID, down * self._size[1] / _GRID


def _image(observation: Observation) -> dict[str, Any]:
    return image_part(tools.in_base64(observation.screenshot))
