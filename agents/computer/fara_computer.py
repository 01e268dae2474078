"""Fara, which calls the function `computer_use` as Qwen-VL does, with actions of a browser."""

from typing import Any, ClassVar

from agents.computer.chat_computer import resized
from agents.computer.qwen_computer import QwenComputer


class FaraComputer(QwenComputer):
    """A model of the family Fara. There is no web to search, so `web_search` is not offered."""

    provider = "fara-computer"
    actions: ClassVar[dict[str, str]] = {
        "key": "press the keys in keys together",
        "type": "type text, at coordinate if it is given; press_enter and delete_existing_text as they say",
        "mouse_move": "move the pointer to coordinate",
        "left_click": "click at coordinate",
        "scroll": "scroll by pixels; positive is up",
        "visit_url": "open url",
        "history_back": "go back to the page before",
        "pause_and_memorize_fact": "note fact for later",
        "wait": "wait for time seconds",
        "terminate": "end the task with a status",
    }
    properties: ClassVar[dict[str, Any]] = QwenComputer.properties | {
        "press_enter": {"type": "boolean"},
        "delete_existing_text": {"type": "boolean"},
        "url": {"type": "string"},
        "fact": {"type": "string"},
    }
    functions: ClassVar[tuple[str, ...]] = ("tab_focus",)

    def units(self, size: tuple[int, int]) -> tuple[int, int]:
        """See `ChatComputer.units`."""
        return resized(size)
