"""Agents by name: `simulated:PROFILE`, `openai:MODEL`, and those of installed packages.

A package offers one as an entry point of the group `souk.agents`; its name is `ENTRY` or `ENTRY:ARGUMENT`.
What can `act` is an agent, what can `answer` is a respondent, and a name may stand for both.
"""

import difflib
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Literal, Protocol

from agents.base import Agent, Respondent
from agents.chat import KEY_VARIABLE, ChatModel, close_clients
from agents.openai_shopper import OpenAIShopper
from agents.simulated import shipped, shipped_profile
from agents.simulated_agent import SimulatedAgent
from interventions.errors import UserError

ENTRY_POINTS: Final = "souk.agents"

KEYS: Final = {"openai": KEY_VARIABLE}
"""The environment variable that holds each provider's key."""


class AgentFactory(Protocol):
    """What an entry point names: makes an agent, cheaply and without using the network.

    `argument` is what follows the colon in the agent's name. A setting that is missing raises UserError.
    """

    def __call__(self, argument: str, *, seed: int) -> Agent | Respondent: ...


def make_agent(name: str, *, seed: int) -> Agent:
    """A fresh agent for one episode.

    Raises:
        UserError: when the name is unknown, it cannot act, or a setting (a key) that it needs is missing.
    """
    agent = _make(name, seed)
    if not isinstance(agent, Agent):
        raise UserError(
            f'agents: "{name}" cannot act in a browser; ask it in text mode, or name another agent'
        )
    return agent


def make_respondent(name: str, *, seed: int) -> Respondent:
    """A fresh respondent for one conversation.

    Raises:
        UserError: when the name is unknown, it cannot answer, or a setting (a key) that it needs is missing.
    """
    respondent = _make(name, seed)
    if not isinstance(respondent, Respondent):
        raise UserError(f'agents: "{name}" cannot answer in text; ask it in page mode, or name another agent')
    return respondent


def check_agent(name: str, *, mode: Literal["page", "text"] = "page") -> None:
    """Find mistakes before any trial starts. Raises UserError as `make_agent` and `make_respondent` do."""
    (make_agent if mode == "page" else make_respondent)(name, seed=0)


def agent_names() -> list[str]:
    """The names that are known; capitals stand for the user's choice."""
    return [*(f"simulated:{profile}" for profile in shipped().agents), "openai:MODEL", *sorted(_installed())]


async def close_agents() -> None:
    """Close what the agents of this process share; to be called before the event loop ends."""
    await close_clients()


def _make(name: str, seed: int) -> Agent | Respondent:
    family, _, argument = name.partition(":")
    return _factory(family, name)(argument, seed=seed)


def _simulated(argument: str, *, seed: int) -> SimulatedAgent:
    return SimulatedAgent(shipped_profile(argument), seed=seed)


def _openai(argument: str, *, seed: int) -> OpenAIShopper:
    # No seed is sent: providers honour it loosely or not at all, and some reject it.
    return OpenAIShopper(ChatModel(argument))


_BUILT_IN: Final[dict[str, AgentFactory]] = {"simulated": _simulated, "openai": _openai}


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _factory(family: str, name: str) -> AgentFactory:
    if family in _BUILT_IN:
        return _BUILT_IN[family]
    entry = _installed().get(family)
    if entry is None:
        names = agent_names()
        near = difflib.get_close_matches(name, names, n=1)
        hint = f'did you mean "{near[0]}"? ' if near else ""
        raise UserError(f'agents: unknown agent "{name}"; {hint}known agents: {", ".join(names)}')
    try:
        factory: AgentFactory = entry.load()
    except Exception as error:  # another package's code: whatever it raises, the user's remedy is the same
        cause = " ".join(str(error).split())
        raise UserError(f"agents: {family}: its package cannot be loaded: {cause}; reinstall it") from None
    return factory
