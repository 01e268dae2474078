"""What all models share: turn a request into a reply, and a line for the records."""

import hashlib
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from pydantic import BeforeValidator, Field

from agents.base import ActError, Call, ChatMessage, Reply, Tool, ToolCall
from agents.providers.model_settings import NO_SETTINGS, ModelSettings, named
from agents.providers.pricing import Tokens, cost_of
from agents.providers.tokens import estimate_tokens
from environments.protocol.observation import storable
from interventions.cards.reply import Ending
from interventions.errors import UserError

THINKING: Final = 14_000
"""The tokens that a reasoning model may think with, in addition to those of its answer."""

Schema = Mapping[str, Any]
Request = dict[str, Any]

Count = Annotated[int, Field(ge=0, le=10**9)]
"""A number of tokens, as a server states it."""
Named = Annotated[str, BeforeValidator(lambda said: said if isinstance(said, str) else "")]
"""The name of a model, as a server states it; what is no text is left out."""
_LONGEST_NAME: Final = 200
_CUT_OFF: Final = re.compile(
    "length|max_(?:output_|completion_)?tokens|model_length|model_context_window_exceeded|incomplete|abort|error"
    "|cancelled|insufficient_system_resource|pause_turn",
    re.IGNORECASE,
)
_REFUSED: Final = re.compile(
    "content_filter|refusal|(?:image_)?safety|blocklist|(?:image_)?prohibited_content|spii|recitation|language"
    "|blocked|sensitive|guardrail_intervened",
    re.IGNORECASE,
)
"""What providers say of an answer that ended early, and of one that was refused or kept back."""


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """The text of a model, and how it ended; `tokens` is None where they were not counted.

    `parts`: all parts of the answer as the provider sent them, where more than its text is used.
    """

    text: str
    ending: Ending
    tokens: Tokens | None
    parts: tuple[dict[str, Any], ...] = ()
    share: float = 1.0
    """The share of the price that is asked for it."""
    model: str = ""
    """The model that answered, by the provider's own word; empty where it says nothing."""


def ended(word: str | None, calls: Sequence[object] | None = None, refusal: str | None = None) -> Ending:
    """Return how an answer ended, by the word that any provider has for it.

    calls: of tools. refusal: the words of one.
    """
    said = refusal or (json.dumps(calls, ensure_ascii=False, default=str) if calls else "")
    if refusal or _REFUSED.fullmatch(word or ""):
        return Ending("refused", said)
    return Ending("cut_off" if _CUT_OFF.fullmatch(word or "") else "tool_call" if calls else "", said)


class Endpoint(ABC):
    """A model to which requests are sent as JSON data, whatever they ask for.

    Temperatures are multiplied by `temperature_scale` before they are sent.
    """

    provider: ClassVar[str]
    highest_temperature: ClassVar[float] = 2.0

    def __init__(self, name: str, *, temperature_scale: float = 1.0) -> None:
        self.name = name
        self._temperature_scale = temperature_scale

    async def exchange(self, request: Request) -> tuple[TextAnswer, Call]:
        """Send a request; return the answer, and the line for the records. Raises as `LanguageModel.ask`."""
        started = time.perf_counter()
        outcome, failed = await self.answer(request)
        tokens = outcome.tokens if isinstance(outcome, TextAnswer) else None
        name = f"{self.provider}:{self.name}"
        cost = cost_of(name, tokens, _pictures(request)) if tokens else None
        if isinstance(outcome, TextAnswer):
            cost = None if cost is None else cost * outcome.share
        elif failed and all(status >= 400 for status in failed):
            cost = 0.0  # nobody is charged for what was refused
        call = Call(
            request_digest=hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest(),
            model=self.name,
            tokens_in=tokens.read if tokens else 0,
            tokens_out=tokens.written if tokens else 0,
            tokens_cached=tokens.cached if tokens else 0,
            cost=cost,
            seconds=time.perf_counter() - started,
            retries=max(0, len(failed) - (not isinstance(outcome, TextAnswer))),
            error="" if isinstance(outcome, TextAnswer) else str(outcome),
            answered_by=storable(outcome.model[:_LONGEST_NAME]) if isinstance(outcome, TextAnswer) else "",
            failed=" ".join(map(str, failed)),
        )
        if isinstance(outcome, ActError):
            outcome.calls = (call,)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome, call

    @abstractmethod
    async def answer(self, request: Request) -> tuple[TextAnswer | ActError | UserError, Sequence[int]]:
        """Return the answer, or the error, and the HTTP status of each try that brought no answer.

        The status is 0 where no response came, and 200 where it cannot be read.

        An error is returned, not raised: raised in here it would carry another library's exception, and with
        that the key.
        """


def _pictures(request: object) -> int:
    """Count the PNG files in a request, each a string in base64, or a URL that holds one."""
    if isinstance(request, str):
        return request.startswith(("iVBORw0KGgo", "data:image/png;base64,"))
    if isinstance(request, dict):
        return sum(map(_pictures, request.values()))
    return sum(map(_pictures, request)) if isinstance(request, list) else 0


class LanguageModel(Endpoint):
    """A language model that answers messages."""

    settings: ModelSettings = NO_SETTINGS

    @property
    def label(self) -> str:
        """The model as agents name it, with its settings."""
        return named(f"{self.provider}:{self.name}", self.settings)

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a text; few models tell it themselves."""
        return estimate_tokens(text)

    async def ask(
        self,
        messages: list[ChatMessage],
        *,
        temperature: float | None = 0.1,
        max_tokens: int = 2_000,
        schema: Schema | None = None,
        tools: Sequence[Tool] = (),
    ) -> Reply:
        """Ask once. `temperature` None: the model's own; reasoning models have no other.

        `schema` is the JSON Schema of the wanted answer; models without structured answers ignore it. `tools`
        are those that the model may call, for models of which `takes_tools` is true.

        Raises:
            ProviderError: the network, the provider or the machine failed, also after retries.
            AgentError: the request was refused, e.g. because it is too long.
            UserError: only the user can mend it: the key was refused, or there is no such model.
        """
        if temperature is not None:
            temperature *= self._temperature_scale
        max_tokens = self.settings.max_tokens or max_tokens
        request = self.request(messages, temperature, max_tokens, schema)
        if not tools:
            answer, call = await self.exchange(request)
            return Reply(answer.text, answer.ending, call)
        answer, call = await self.exchange(self.with_tools(request, tools))
        return Reply(answer.text, answer.ending, call, answer.parts, self.tool_calls(answer.parts))

    @abstractmethod
    def request(
        self, messages: list[ChatMessage], temperature: float | None, max_tokens: int, schema: Schema | None
    ) -> Request:
        """Return the request that is sent, as JSON data."""

    def with_tools(self, request: Request, tools: Sequence[Tool]) -> Request:
        """Return the request with the tools that the model may call, in its provider's form."""
        raise NotImplementedError

    def tool_calls(self, parts: Sequence[dict[str, Any]]) -> tuple[ToolCall, ...]:
        """Return the calls of tools among the parts of an answer, in order."""
        raise NotImplementedError
