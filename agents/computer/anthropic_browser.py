"""Anthropic's toolset for browsers, which has tabs and addresses besides the mouse and the keyboard."""

from typing import Any, ClassVar, Final

from agents.computer.agent import FAILED, ActionResult
from agents.computer.anthropic_computer import AnthropicComputer
from environments.protocol.actions import Action
from environments.protocol.observation import Observation

_TOOLSET: Final = "browser_toolset_20260801"
_OFF: Final = ("read_page", "get_page_text", "find", "form_input", "scroll_to")
"""The members that are switched off: they read the page otherwise, or name elements of what they have read.

Four more are off unless they are switched on.
"""
_AT_POINTS: Final = {
    **dict.fromkeys(("left_click", "right_click", "middle_click", "double_click", "triple_click")),
    **dict.fromkeys(("hover", "mouse_move"), "mouse_move"),
    **dict.fromkeys(("left_click_drag", "left_mouse_down", "left_mouse_up", "scroll")),
}
"""The members with a target, and what they are in the toolset for computers; None: the same."""
_OTHERS: Final = ("type", "key", "hold_key", "wait", "screenshot", "zoom")
_OF_TABS: Final = ("list_tabs", "switch_tab", "new_tab", "close_tab")
_NOTCHES: Final = 3
_HALTED: Final = "Not executed: an earlier action in this turn failed."


class AnthropicBrowser(AnthropicComputer):
    """A model of Anthropic that looks at pictures of a browser."""

    provider = "anthropic-browser"
    functions: ClassVar[tuple[str, ...]] = ("give_up",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._tool, self._beta = _TOOLSET, ""

    def tool(self) -> dict[str, Any]:
        """See `AnthropicComputer.tool`."""
        return {"type": _TOOLSET, "configs": {member: {"enabled": False} for member in _OFF}}

    def told(self, done: ActionResult, error: str, observation: Observation) -> dict[str, Any]:
        """See `AnthropicComputer.told`. What is about tabs is answered by all of them, and nothing else."""
        if done.asked.name in _OF_TABS and not error:
            tabs = [
                {"tab_id": str(index), "title": tab.title[:200], "url": tab.url[:500], "active": tab.active}
                for index, tab in enumerate(observation.tabs)
            ]
            return {"type": "browser_state", "tabs": tabs}
        return super().told(done, _HALTED if error == FAILED else error, observation)

    def actions(self, name: str, given: dict[str, Any]) -> list[Action] | str:
        """See `AnthropicComputer.actions`."""
        active = next((str(index) for index, tab in enumerate(self._tabs) if tab.active), "")
        tab = given.get("tab_id")
        if name in ("switch_tab", "close_tab"):
            known = [str(index) for index in range(len(self._tabs))]
            tab = active if tab is None and name == "close_tab" else tab
            if tab not in known:
                return f"{name}: tab_id must be one of {', '.join(known)}"
            return [Action("tab_focus" if name == "switch_tab" else name, (known.index(tab),))]
        if name == "new_tab":
            return [Action("new_tab", ())]
        if tab is not None and tab != active:
            return f"{name[:40]}: only the active tab can be acted on; call switch_tab before"
        if name == "list_tabs":
            return [Action("wait", (0.0,))]
        if name == "navigate":
            return self._navigation(given.get("url"))
        if name in _OTHERS:
            return super().actions(name, given)
        if name not in _AT_POINTS:
            return f"{name[:40]}: there is no such action here"
        at, start = _coordinate(given.get("target")), _coordinate(given.get("from"))
        if at is None:
            return f"{name}: target must be a coordinate with x and y"
        taken = super().actions(
            _AT_POINTS[name] or name,
            {"scroll_amount": _NOTCHES}
            | {key: given[key] for key in ("scroll_direction", "scroll_amount") if given.get(key) is not None}
            | {"coordinate": at, "start_coordinate": start, "text": given.get("modifiers")},
        )
        if name in ("left_mouse_down", "left_mouse_up") and not isinstance(taken, str):
            moved = super().actions("mouse_move", {"coordinate": at})
            return moved if isinstance(moved, str) else [*moved, *taken]
        return taken

    def _navigation(self, url: object) -> list[Action] | str:
        if not isinstance(url, str) or not url.strip():
            return "navigate: url must be an address, or back, forward or reload"
        match url:
            case "back" | "forward":
                return [Action(f"go_{url}", ())]
            case "reload":
                return [Action("reload", ())]
        return [Action("goto", ((url if "://" in url else f"https://{url}")[:2_000],))]


def _coordinate(target: object) -> list[object] | None:
    """The point of a target, as the toolset for computers has it."""
    if not isinstance(target, dict) or target.get("type") != "coordinate":
        return None
    return [target.get("x"), target.get("y")]
