"""Score targets by a server that speaks OpenAI's protocol, as far as it returns log-probabilities.

A server whose completions echo the prompt scores any target. Another server gives log-probabilities only for
the first token of a chat answer, and only for the likeliest tokens.
"""

import asyncio
import math
from collections.abc import Sequence
from typing import Annotated, Any, Final

import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, Field

from agents.base import AgentError
from agents.providers.capabilities import reasons
from agents.providers.model import Request, TextAnswer
from agents.providers.network import Failure
from agents.providers.openai_chat import CompatibleChat, OpenAIChat
from agents.providers.sdk import receive
from agents.scoring.score import TargetScore
from interventions.cards.reply import ENDED
from interventions.errors import UserError

_LOWEST: Final = -1e6
_HIGHEST: Final = 1e-6
"""What a server says beyond is no log-probability; one may lie above 0 by rounding."""

LIKELIEST: Final = 20
"""How many first tokens a chat completion is asked for; the protocol allows no more."""


class ServerScorer:
    """Scores by a model at a server.

    The way of scoring is found out with the first prompt, and then kept. `chat`: always score by the first
    token of a chat answer.
    """

    def __init__(self, provider: str, model: str, *, chat: bool = False) -> None:
        self.name = f"{provider}:{model}"
        self._model = _MODELS[provider](model)
        self._echoes: bool | None = False if chat else None
        self._generated = 0  # tokens at the end of an echo that are not the prompt's
        self._trying = asyncio.Lock()

    async def score(self, prompts: Sequence[str], targets: Sequence[str]) -> list[list[TargetScore]]:
        """See `Scorer.score`; one request is sent per prompt."""
        if not prompts or not targets:
            return [[] for _ in prompts]
        async with self._trying:
            if self._echoes is None:
                self._echoes = await self._try_echo(f"{prompts[0]} {targets[0]}")
        score = self._by_echo if self._echoes else self._by_first_token
        return await asyncio.gather(*(self._row(score, prompt, targets) for prompt in prompts))

    async def _row(self, score: Any, prompt: str, targets: Sequence[str]) -> list[TargetScore]:
        try:
            row: list[TargetScore] = await score(prompt, targets)
        except AgentError as error:  # this prompt was refused; another one may not be
            return [TargetScore(None, 0, False, str(error)) for _ in targets]
        return row

    async def _try_echo(self, text: str) -> bool:
        """Some servers refuse to generate nothing: they are asked for one token, which is left out."""
        for self._generated in (0, 1):
            try:
                (choice,) = await self._echo([text])
            except (AgentError, UserError):  # if it is the key or the model, a chat is refused as well
                continue
            if choice.logprobs and (choice.text.endswith(text) or (self._generated and text in choice.text)):
                return True
        return False

    async def _echo(self, texts: Sequence[str]) -> list["_EchoChoice"]:
        request = {"prompt": list(texts), "echo": True, "logprobs": 1, "max_tokens": self._generated}
        answer = _Echo.model_validate_json(await self._send(request))
        if sorted(choice.index for choice in answer.choices) != list(range(len(texts))):
            raise AgentError("the server answered to some of the texts only")
        return sorted(answer.choices, key=lambda choice: choice.index)

    async def _by_echo(self, prompt: str, targets: Sequence[str]) -> list[TargetScore]:
        texts = [f"{prompt} {target}" for target in targets]
        echoed = [
            self._tokens(choice) for choice in await self._echo([*([prompt] if prompt else []), *texts])
        ]
        start = [token for token, _ in echoed.pop(0)] if prompt else []
        return [_after(start, tokens) for tokens in echoed]

    def _tokens(self, choice: "_EchoChoice") -> list[tuple[str, float | None]]:
        if choice.logprobs is None:
            raise AgentError("the server's echo has no log-probabilities")
        tokens = list(zip(choice.logprobs.tokens, choice.logprobs.token_logprobs, strict=False))
        return tokens[: len(tokens) - self._generated]

    async def _by_first_token(self, prompt: str, targets: Sequence[str]) -> list[TargetScore]:
        if reasons(self._model.name):
            raise UserError(f"agents: {self.name} thinks before it answers; name a model that does not")
        request = {
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": 1,
            "temperature": 1.0,  # some servers divide log-probabilities by it
            "logprobs": True,
            "top_logprobs": LIKELIEST,
        }
        (choice, *_) = _Chat.model_validate_json(await self._send(request)).choices
        if not choice.logprobs or not choice.logprobs.content:
            raise UserError(f"agents: {self.name}: the server returns no log-probabilities; name hf:FOLDER")
        likeliest = choice.logprobs.content[0].top_logprobs
        return [_first_token(target, likeliest) for target in targets]

    async def _send(self, request: Request) -> str:
        outcome, _ = await self._model.answer({"model": self._model.name, **request})
        if isinstance(outcome, TextAnswer):
            return outcome.text
        raise outcome


def _after(start: list[str], tokens: list[tuple[str, float | None]]) -> TargetScore:
    """The score of the tokens that follow `start`, which are compared by their text."""
    texts = [text for text, _ in tokens]
    first = next((i for i, (a, b) in enumerate(zip(start, texts, strict=False)) if a != b), None)
    if first is None:
        first = min(len(start), len(texts))
    scored, shifted = [logprob for _, logprob in tokens[first:]], first < len(start)
    found = [logprob for logprob in scored if logprob is not None and _LOWEST <= logprob <= _HIGHEST]
    if not scored:
        return TargetScore(None, 0, shifted, "the target adds no token to the prompt")
    if len(found) < len(scored):
        note = "the server gives a token no log-probability, as it does the first of a text"
        return TargetScore(None, len(scored), shifted, note)
    return TargetScore(math.fsum(found), len(scored), shifted, "")


def _first_token(target: str, likeliest: list["_Token"]) -> TargetScore:
    """P(the answer's first token is the target), with a blank before it or not."""
    named = [token.logprob for token in likeliest if token.token in (target, f" {target}")]
    found = [logprob for logprob in named if logprob is not None and _LOWEST <= logprob <= _HIGHEST]
    if target and found:
        highest = max(found)  # OpenAI says -9999 of what cannot come, whose probability is 0 as a number
        logprob = highest + math.log(math.fsum(math.exp(logprob - highest) for logprob in found))
        return TargetScore(logprob, 1, False, "as the first token of a chat answer")
    note = (
        f"not among the {len(likeliest)} likeliest first tokens of a chat answer: unlikely, or several tokens"
    )
    return TargetScore(None, 0, False, note)


class _Raw:
    """Sends either kind of request; the answer is the body, in which more is validated than in a chat's."""

    async def send(self, client: AsyncOpenAI, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        endpoint, kind = (
            (client.completions, _Echo) if "prompt" in request else (client.chat.completions, _Chat)
        )
        sent = endpoint.with_raw_response.create(**request)
        body = await receive(openai, sent, kind)
        return body if isinstance(body, Failure) else TextAnswer(body.model_dump_json(), ENDED, None)


class _OpenAI(_Raw, OpenAIChat):
    pass


class _Compatible(_Raw, CompatibleChat):
    pass


_MODELS: Final[dict[str, type[OpenAIChat]]] = {"openai": _OpenAI, "compatible": _Compatible}


class _EchoLogprobs(BaseModel):
    tokens: list[str]
    token_logprobs: list[float | None]


class _EchoChoice(BaseModel):
    index: int
    text: str
    logprobs: _EchoLogprobs | None = None


class _Echo(BaseModel):
    """What is used of a completion that echoes."""

    choices: Annotated[list[_EchoChoice], Field(min_length=1)]


class _Token(BaseModel):
    token: str
    logprob: float | None = None


class _Position(BaseModel):
    top_logprobs: list[_Token]


class _ChatLogprobs(BaseModel):
    content: list[_Position] | None = None


class _ChatChoice(BaseModel):
    logprobs: _ChatLogprobs | None = None


class _Chat(BaseModel):
    """What is used of a chat completion with log-probabilities."""

    choices: Annotated[list[_ChatChoice], Field(min_length=1)]
