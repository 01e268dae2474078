"""An agent that repeats the actions of a stored episode; no model is asked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from agents.base import AgentError, Decision
from environments.protocol.actions import EVERY, Action, ActionError, parse_action
from environments.protocol.observation import Observation

OVER: Final = "the stored episode has no further action"


@dataclass(frozen=True, slots=True)
class StoredStep:
    """A decision as it was stored; `url` is where it was made, `action` the text of the action."""

    url: str
    thought: str
    memory: str
    action: str
    looked: int | None = None
    """0 where the page was not shown to the agent before it acted."""


class ReplayAgent:
    """Takes the stored actions one after the other, whatever it is shown."""

    def __init__(self, steps: Iterable[StoredStep]) -> None:
        self._steps: Iterator[StoredStep] = iter([step for step in steps if step.action])

    async def act(self, observation: Observation) -> Decision:
        """Return the next stored decision.

        Raises:
            AgentError: there is none left (the reason is `OVER`), or it is no action that can be taken.
        """
        step = next(self._steps, None)
        if step is None:
            raise AgentError(OVER)
        try:
            action = parse_action(step.action, EVERY)
        except ActionError as error:
            raise AgentError(f"the stored action cannot be taken again: {error}") from None
        here = observation.tabs[observation.active_tab].url if observation.tabs else ""
        moved = _moved(action, origin(step.url), origin(here))
        return Decision(step.thought, step.memory, moved, looked=step.looked != 0)


def _moved(action: Action, then: str, now: str) -> Action:
    """The action in the shop as it is now: the embedded one has another port each time."""
    if action.name != "goto":
        return action
    return Action(action.name, tuple(str(url).replace(f"{then}/", f"{now}/", 1) for url in action.args))


def origin(url: str) -> str:
    """Return scheme, host and port of an address: `http://127.0.0.1:8000`.

    The result is empty where the address has none.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""
