"""The protocols of agents and respondents.

An agent sees an observation and takes an action; a respondent is asked and answers. One object serves one
trial and may hold state; it may be both. A failure is one of

* `AgentError`: no usable action or answer came; the trial ends as `agent_error`;
* `ProviderError`: the network or the provider failed; the trial ends as `infra_error` and may be repeated;
* `interventions.errors.UserError`: nothing will work until the user mends it, e.g. a refused API key.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NotRequired, Protocol, Self, TypedDict, runtime_checkable

from environments.protocol.actions import Action
from environments.protocol.observation import Observation, storable
from interventions.cards.reply import ENDED, Ending

SIMULATED: Final = "simulated"
COMMAND: Final = "command"
KEPT: Final = "kept"
_LONGEST_KEPT: Final = 20_000


def is_simulated(agent: str) -> bool:
    """Return whether an agent is a simulated one, by its name: it answers at once and costs nothing."""
    return agent.partition(":")[0] == SIMULATED


def is_command(agent: str) -> bool:
    """Return whether an agent is a program of the user's, by its name: it acts by itself."""
    return agent.partition(":")[0] in (COMMAND, KEPT)


def is_kept(agent: str) -> bool:
    """Return whether an agent is a program that is kept for many trials, by its name."""
    return agent.partition(":")[0] == KEPT


def as_kept(text: str) -> str:
    """Return what a model said as it is stored: 20,000 characters at most."""
    return storable(text)[:_LONGEST_KEPT]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model may call; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool that a model asks for; `arguments` is None where they are no JSON object."""

    id: str
    name: str
    arguments: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call has brought, or why it could not be made (`failed`)."""

    call: ToolCall
    text: str
    failed: bool


class ChatMessage(TypedDict):
    """A message of a conversation; `role` is `system`, `user`, `assistant` or `tool`.

    `images` are PNG files in base64, in messages of the user only. `parts` is an answer with calls of tools,
    as its provider sent it, and `results` are those of all its calls, in a message of the role `tool`.
    """

    role: str
    content: str
    images: NotRequired[list[str]]
    parts: NotRequired[list[dict[str, Any]]]
    results: NotRequired[list[ToolResult]]


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a provider, for the records; it never holds a key.

    `request_digest` is the SHA-256 of the request's canonical JSON. `cost` is in USD, None when it cannot be
    known. `seconds` includes the `retries` made after the first try. `failed`: the HTTP statuses of the tries
    that brought no answer, separated by blanks; 0 where no response came. `error` is empty when the answer
    was used; `answer` is the text of one that was not. `tokens_cached` of `tokens_in` came from the
    provider's cache. `answered_by`: the model that answered, by the provider's own word; empty where it says
    nothing.
    """

    request_digest: str
    model: str
    tokens_in: int
    tokens_out: int
    cost: float | None
    seconds: float
    retries: int = 0
    error: str = ""
    tokens_cached: int = 0
    answered_by: str = ""
    answer: str = ""
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens, seconds and cost of a decision; `cost` is in USD, None when a part of it is unknown."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    @classmethod
    def of(cls, calls: Iterable[Call]) -> Self:
        """Return the sum over `calls`."""
        calls = tuple(calls)
        costs = [call.cost for call in calls if call.cost is not None]
        return cls(
            tokens_in=sum(call.tokens_in for call in calls),
            tokens_out=sum(call.tokens_out for call in calls),
            cost=sum(costs) if len(costs) == len(calls) else None,
            seconds=sum(call.seconds for call in calls),
        )


@dataclass(frozen=True, slots=True)
class SafetyCheck:
    """A check that a provider asks for before an action; `acknowledged`: whether it was confirmed."""

    code: str
    message: str
    acknowledged: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """The thought of an agent, what it wants to remember, and the one action that it takes.

    `looked`: whether the agent was shown the observation before it decided; False for the later actions of a
    batch. `checks`: what its provider asked to be confirmed.
    """

    thought: str
    memory: str
    action: Action
    usage: Usage = Usage()
    calls: tuple[Call, ...] = ()
    looked: bool = True
    checks: tuple[SafetyCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The text of an answer, and how it ended; `call` is the request where a provider was asked.

    `parts` and `tool_calls`: the whole answer as its provider sent it, and the calls in it, where there were
    tools.
    """

    text: str
    ending: Ending = ENDED
    call: Call | None = None
    parts: tuple[dict[str, Any], ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()

    @property
    def raw(self) -> str:
        """All that came, as it is stored."""
        return as_kept("\n".join(filter(None, (self.text, self.ending.said))))


@runtime_checkable
class Agent(Protocol):
    """The protocol of all that acts in a browser. One object serves one episode."""

    async def act(self, observation: Observation) -> Decision:
        """Decide on the next action.

        Raises:
            AgentError, ProviderError, UserError: see the top of this module.
        """
        ...


@runtime_checkable
class Respondent(Protocol):
    """The protocol of all that answers in a conversation. One object serves one conversation."""

    async def answer(
        self,
        messages: list[ChatMessage],
        *,
        temperature: float | None,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> Reply:
        """Answer the last of `messages`, the whole conversation so far.

        `temperature` is on a scale of 0 to 2; None: the provider's own. `max_tokens` is the longest answer,
        in tokens. `schema` is the JSON Schema of the wanted answer, for those that can hold to one.

        Raises:
            AgentError, ProviderError, UserError: see the top of this module.
        """
        ...


class ActError(Exception):
    """No decision or answer came about; `calls` are the requests that were made without success.

    `checks`: what the provider asked to be confirmed.
    """

    def __init__(
        self, reason: str, calls: tuple[Call, ...] = (), checks: tuple[SafetyCheck, ...] = ()
    ) -> None:
        super().__init__(reason)
        self.calls = calls
        self.checks = checks


class AgentError(ActError):
    """The agent gave no usable action or answer, also after being told why."""


class GaveUp(ActError):
    """The agent wants none of what is offered; the trial ends as `no_choice`."""


class ProviderError(ActError):
    """The network or the provider failed, also after retries."""
