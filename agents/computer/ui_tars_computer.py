"""UI-TARS, which writes a thought and its action as a call: `Action: click(start_box='(197,525)')`."""

import ast
import re
import warnings
from collections.abc import Mapping
from typing import Final, NamedTuple

from agents.computer import tools
from agents.computer.agent import RequestedAction
from agents.computer.chat_computer import GRID, ChatComputer, resized
from environments.protocol.actions import MAX_LENGTH, Action
from interventions.data_file import read_source

_WAIT: Final = 5_000.0
_SCROLL: Final = 500.0
"""The pixels of a scroll; it is only told a direction."""
_NUMBER: Final = r"(-?\d{1,6}(?:\.\d{1,6})?)"
_POINT: Final = re.compile(
    rf"(?:<point>|<\|box_start\|>)?\s*[(\[]?\s*{_NUMBER}[,\s]\s*{_NUMBER}"
    rf"(?:[,\s]\s*{_NUMBER}[,\s]\s*{_NUMBER})?\s*[)\]]?\s*(?:</point>|<\|box_end\|>)?",
    re.ASCII,
)
_FUNCTIONS: Final = ("tab_focus", "goto", "go_back")


class _Dialect(NamedTuple):
    """The names of an action's point, of a drag's two, how a point is written, and whether in thousandths."""

    at: str
    start: str
    end: str
    point: str
    in_grid: bool


_BOXES: Final = _Dialect("start_box", "start_box", "end_box", "<|box_start|>(x,y)<|box_end|>", in_grid=False)
_EARLIER: Final = (
    (
        re.compile("doubao", re.I),
        _Dialect("point", "start_point", "end_point", "<point>x y</point>", in_grid=True),
    ),
    (
        re.compile(r"ui-tars-\d+b", re.I),
        _Dialect("start_box", "start_box", "end_box", "[x1, y1, x2, y2]", in_grid=True),
    ),
)
"""Models that write points in another way than UI-TARS 1.5."""

_PROMPT: Final = read_source(__file__, "ui_tars.txt")


class UITarsComputer(ChatComputer):
    """A model of the family UI-TARS."""

    provider = "ui-tars-computer"
    pictures = 5
    fewest = 100
    form = "write a line that begins with Action: and one call, such as Action: wait()"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._dialect = next((dialect for names, dialect in _EARLIER if names.search(name)), _BOXES)

    def units(self, size: tuple[int, int]) -> tuple[int, int]:
        """See `ChatComputer.units`."""
        return GRID if self._dialect.in_grid else resized(size, fewest=self.fewest)

    def prompt(self, goal: str) -> tuple[str, str]:
        """See `ChatComputer.prompt`: all is told by the user."""
        at, start, end, point, _ = self._dialect
        return "", _PROMPT.format(at=at, start=start, end=end, point=point, goal=goal)

    def kept(self, text: str) -> str:
        """See `ChatComputer.kept`: with the tokens around points that servers leave out."""
        if self._dialect is not _BOXES:
            return text
        return re.sub(r"(_box=')(\([^()'\n]{1,40}\))(?=')", r"\1<|box_start|>\2<|box_end|>", text)

    def parse(self, text: str) -> tuple[str, list[RequestedAction]]:
        """See `ChatComputer.parse`. Between actions is a blank line, or the word `Action:`."""
        thought, *rest = re.split(r"^[ \t]*Action:", text, flags=re.M)
        actions = [re.split(r"^[ \t]*Thought:", each, maxsplit=1, flags=re.M)[0].strip() for each in rest]
        chunks = [chunk for each in actions for chunk in re.split(r"\n\s*\n", each) if chunk]
        asked = [each for chunk in chunks for each in self._asked(chunk)]
        return thought.strip().removeprefix("Thought:").strip(), asked

    def _asked(self, text: str) -> list[RequestedAction]:
        call = _call(text)
        if call is None:
            return tools.asked_of(
                "", "action", f"{text[:60]!r} is no call of an action with values by their names"
            )
        return tools.asked_of("", call[0][:40], self._actions(*call))

    def _actions(self, name: str, given: Mapping[str, str]) -> list[Action] | str:
        """The actions that a call stands for, or why it is none."""
        at = self._at(given, "point", "start_box", "start_point")
        end = self._at(given, "end_box", "end_point")
        content = given.get("content", "")
        match name:
            case "click" if at:
                return [Action("mouse_click", (*at, "left", 1, ""))]
            case "left_double" if at:
                return [Action("mouse_click", (*at, "left", 2, ""))]
            case "right_single" if at:
                return [Action("mouse_click", (*at, "right", 1, ""))]
            case "drag" if at and end:
                return [tools.drag(at, end)]
            case "scroll" if way := tools.WAYS.get(given.get("direction", "")):
                dx, dy = (each * _SCROLL for each in way)
                return [Action("scroll_at", (*(at or self._pointer), dx, dy, ""))]
            case "hotkey" if pressed := tools.chord(re.split(r"[\s+]+", given.get("key", "").strip())):
                return [Action("keyboard_press", (pressed,))]
            case "type" if tools.is_typed(content):
                return tools.typing(content.removesuffix("\n"), enters=content.endswith("\n"))
            case "wait":
                return [Action("wait", (_WAIT,))]
            case "finished":
                return [Action("give_up", (content[:500] or "finished",))]
        if name in _FUNCTIONS:
            index = re.fullmatch(r"[0-9]{1,4}", given.get("index", ""))
            return tools.function_action(name, {**given, "index": int(index[0]) if index else None})
        return f"{name[:40]}: there is no such action here, or its arguments are wrong"

    def _at(self, given: Mapping[str, str], *names: str) -> tuple[float, float] | None:
        """The point of an argument in pixels: of two numbers, or the middle of a box of four."""
        told = next((given[name] for name in names if name in given), "")
        found = _POINT.fullmatch(told[:200].strip())
        if not found:
            return None
        x, y, right, bottom = (float(each) if each else None for each in found.groups())
        if x is None or y is None:
            return None
        return self.point(x if right is None else (x + right) / 2, y if bottom is None else (y + bottom) / 2)


def _call(text: str) -> tuple[str, dict[str, str]] | None:
    """Read a call with literal values by their names, as in Python, each as text; nothing is executed."""
    if len(text) > MAX_LENGTH:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # about odd escapes, which are the model's affair
            call = ast.parse(text.strip().replace("\n", "\\n"), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            return None
        return call.func.id, {str(each.arg): str(ast.literal_eval(each.value)) for each in call.keywords}
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None
