"""Make agents by name: `simulated:PROFILE`, `PROVIDER:MODEL`, and those of installed packages.

A profile is a shipped one, or a file: `simulated:mine.yaml`. `command:PROGRAM ARGUMENTS` is a program,
which acts by itself: no object is made for it.

A package offers one as an entry point of the group `souk.agents`; its name is `ENTRY` or `ENTRY:ARGUMENT`.
What can `act` is an agent, what can `answer` is a respondent, and a name may stand for both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Final, Literal, Protocol

from agents.base import COMMAND, KEPT, SIMULATED, Agent, Respondent, is_command
from agents.command import check_command, command_of
from agents.computer import make_computer_agent
from agents.computer.options import DEFAULT, ComputerOptions
from agents.language_model.agent import LanguageModelShopper
from agents.language_model.prompt import PromptTemplates
from agents.language_model.tool_agent import ToolShopper
from agents.providers import PROVIDERS, make_model, problem_of
from agents.providers.capabilities import check_settings, takes_temperature, takes_tools
from agents.providers.model_settings import split_agent
from agents.providers.network import RequestWay
from agents.providers.pricing import price_tables
from agents.providers.settings import COMPUTERS, SERVICES
from agents.simulated.agent import SimulatedAgent
from agents.simulated.nudges import Nudge
from agents.simulated.own_profiles import profile_of
from agents.simulated.tab_shopper import shipped
from environments.protocol.actions import Interface
from interventions.errors import UserError
from interventions.yaml.yaml_source import did_you_mean

ENTRY_POINTS: Final = "souk.agents"

KEYS: Final = {
    name: service.key_variable for name, service in (SERVICES | COMPUTERS).items() if service.needs_key
}
"""The environment variable that holds each provider's key."""


@dataclass(frozen=True, slots=True)
class _KnownAgent:
    """An agent that has a name here; capitals in the name stand for the user's choice.

    It says what the agent needs, and what of that is missing, as `cause; fix`.
    """

    name: str
    needs: str
    problem: str


class _AgentFactory(Protocol):
    """The object that an entry point names: it makes an agent, cheaply and without using the network.

    `argument` is what follows the colon in the agent's name. A setting that is missing raises UserError.
    """

    def __call__(self, argument: str, *, seed: int) -> Agent | Respondent: ...


def make_agent(
    name: str,
    *,
    seed: int,
    prompt: PromptTemplates | None = None,
    nudges: Sequence[Nudge] = (),
    acknowledges: bool = False,
    options: ComputerOptions = DEFAULT,
    interface: Interface = "page",
) -> Agent:
    """Make a fresh agent for one episode, in which it meets the shop by `interface`.

    `prompt` is for language models; None: the shipped one. `nudges` is for simulated shoppers: texts that
    they understand where they see them. `acknowledges`: whether what a provider asks to confirm is confirmed.
    `options`: of a model that looks at pictures.

    Raises:
        UserError: when the name is unknown, it cannot act, or a setting (a key) that it needs is missing.
    """
    family, _, argument = name.partition(":")
    agent: Agent | Respondent
    if family in PROVIDERS:
        # No seed of the trial is sent: providers honour it loosely or not at all, and some reject it.
        calls_tools = interface != "page" and takes_tools(name)
        agent = (ToolShopper if calls_tools else LanguageModelShopper)(make_model(name), prompt)
    elif family in COMPUTERS:
        agent = make_computer_agent(name, acknowledges=acknowledges, options=options)
    elif family == "simulated":
        agent = SimulatedAgent(profile_of(name), seed=seed, nudges=nudges)
    else:
        agent = _factory(family, name)(argument, seed=seed)
    if not isinstance(agent, Agent):
        raise UserError(
            f'agents: "{name}" cannot act in a browser; ask it in text mode, or name another agent'
        )
    return agent


def make_respondent(name: str, *, seed: int, way: RequestWay | None = None) -> Respondent:
    """Make a fresh respondent for one conversation, who takes temperatures on a scale of 0 to 2.

    `way`: by which a language model at a provider is asked; None: one request at a time.

    Raises:
        UserError: when the name is unknown, it cannot answer, or a setting (a key) that it needs is missing.
    """
    family, _, argument = name.partition(":")
    if family in PROVIDERS:
        return LanguageModelShopper(make_model(name, nominal=True, way=way))
    respondent: Agent | Respondent
    if family == SIMULATED:
        respondent = SimulatedAgent(profile_of(name), seed=seed)
    elif family in COMPUTERS:
        respondent = make_computer_agent(name)
    else:
        respondent = _factory(family, name)(argument, seed=seed)
    if not isinstance(respondent, Respondent):
        raise UserError(f'agents: "{name}" cannot answer in text; ask it in page mode, or name another agent')
    return respondent


def check_agent(name: str, *, mode: Literal["page", "text"] = "page") -> None:
    """Find mistakes in an agent's name or settings before any trial starts.

    Raises UserError as `make_agent` and `make_respondent` do.
    """
    if is_command(name) and mode == "page":
        check_command(name)
    else:
        (make_agent if mode == "page" else make_respondent)(name, seed=0)


def looks_only(agent: str) -> bool:
    """Return whether an agent has to be shown pictures, by its name."""
    return agent.partition(":")[0] in COMPUTERS


def check_name(name: str) -> None:
    """Find a name that no agent has. Raises UserError.

    A missing key or package is no mistake here; a setting that the model does not have is one.
    """
    check_settings(name)
    family, _, argument = name.partition(":")
    if family == "simulated":
        profile_of(name)
    elif is_command(name):
        command_of(name)
    elif family in PROVIDERS:
        if not argument:
            make_model(name)  # which says what is missing
    elif family in COMPUTERS:
        if not argument:
            make_computer_agent(name)
    else:
        _factory(family, name)


def answers_alike(name: str, temperatures: Sequence[float | None], *, chooses: bool) -> bool:
    """Return whether an agent answers the same question alike each time, at one of these temperatures.

    Simulated agents do where nothing is left to chance; models at temperature 0, unless they take none, and
    models of one's own with a seed.
    chooses: between options, and does not answer questions. Of other agents nothing is known: False.
    """
    family, seeded = name.partition(":")[0], split_agent(name)[1].seed is not None
    if family == SIMULATED:
        taste = profile_of(name).taste
        by_utility = not taste.noise and not taste.spread and taste.locked in (None, 0, 1)
        return taste.determinism == 1 or (chooses and by_utility)
    if family in ("hf", "ollama") and seeded:
        return True
    return family in PROVIDERS and 0 in temperatures and takes_temperature(name)


def known_agents() -> list[_KnownAgent]:
    """Return all agents that have a name here, and what each lacks; no agent is asked."""
    return [
        *(_KnownAgent(f"simulated:{profile}", "", "") for profile in shipped().agents),
        _KnownAgent(f"{SIMULATED}:FILE.yaml", "a shopper's profile (docs/agents.md)", ""),
        *(
            _KnownAgent(f"{name}:MODEL", service.needs, service.problem())
            for name, service in (SERVICES | COMPUTERS).items()
        ),
        _KnownAgent(f"{COMMAND}:PROGRAM ARGUMENTS", "a program of yours (docs/any-agent.md)", ""),
        _KnownAgent(f"{KEPT}:PROGRAM ARGUMENTS", "the same, kept for many trials", ""),
        _KnownAgent("hf:NAME_OR_FOLDER", "torch, transformers, the model's files", problem_of("hf")),
        *(_KnownAgent(name, "", "") for name in sorted(_installed())),
    ]


def agent_names() -> list[str]:
    """Return the known names of agents; capitals stand for the user's choice."""
    return [agent.name for agent in known_agents()]


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def _factory(family: str, name: str) -> _AgentFactory:
    if is_command(name):
        raise UserError(f'agents: "{name}" is a program, which visits shops; name another agent for cards')
    entry = _installed().get(family)
    if entry is None:
        names = agent_names()
        hint = did_you_mean(name, names, otherwise=f"known agents: {', '.join(names)}")
        if any(name in table.models for table in price_tables()):
            hint = "write the provider before the model, as in openai:gpt-6-luna"
        raise UserError(f'agents: unknown agent "{name}"; {hint}')
    try:
        factory: _AgentFactory = entry.load()
    except Exception as error:  # another package's code: whatever it raises, the user's remedy is the same
        cause = " ".join(str(error).split())
        raise UserError(f"agents: {family}: its package cannot be loaded: {cause}; reinstall it") from None
    return factory
