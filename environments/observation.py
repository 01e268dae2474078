"""What an agent sees: the pruned HTML of the active tab's viewport, the open tabs, the last error."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tab:
    """One open browser tab."""

    title: str
    url: str
    active: bool


@dataclass(frozen=True, slots=True)
class Observation:
    """The state of the browser before one action.

    `html` holds what is visible in the viewport of the active tab; interactive elements carry a `bid`
    attribute, which actions name. `error` is why the last action failed, or empty. `step` counts from 0.
    """

    goal: str
    html: str
    tabs: tuple[Tab, ...]
    error: str = ""
    step: int = 0

    @property
    def active_tab(self) -> int:
        """Index of the active tab."""
        return next(index for index, tab in enumerate(self.tabs) if tab.active)
