"""One chat completion at OpenAI, or at any server that speaks the same protocol (`OPENAI_BASE_URL`)."""

import hashlib
import json
import os
import re
import time
from typing import Annotated, Any, Final

import httpx
import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, Field, ValidationError

from agents.base import ActError, AgentError, Call, Message, ProviderError, Reply
from agents.pricing import cost_of
from interventions.errors import UserError

_THINKING: Final = 14_000
"""Tokens that a reasoning model may think with, on top of those of its answer."""

KEY_VARIABLE: Final = "OPENAI_API_KEY"

_clients: dict[str | None, AsyncOpenAI] = {}


class ChatModel:
    """A model at a provider. All of them in a process share one client for each base URL.

    Args:
        name: the provider's name for the model, e.g. `gpt-4.1-mini`.
        base_url: of another server; default: `OPENAI_BASE_URL`, else OpenAI.
        timeout: seconds until a request is given up.
        max_retries: of a request after a failed connection, a time-out, 408, 409, 429 or 5xx. The wait is
            what the provider asks for, else it grows with each retry.

    Raises:
        UserError: when the model's name, the key or the base URL cannot be right.
    """

    def __init__(
        self, name: str, *, base_url: str | None = None, timeout: float = 120.0, max_retries: int = 4
    ) -> None:
        if not name:
            raise UserError("agents: openai: the model is missing; write for example openai:gpt-4.1-mini")
        self.name = name
        self._base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._timeout = timeout
        self._max_retries = max_retries
        _check_settings(os.environ.get(KEY_VARIABLE, ""), self._base_url)

    async def ask(
        self, messages: list[Message], *, temperature: float | None = 0.1, max_tokens: int = 2_000
    ) -> Reply:
        """Make one request. `temperature` None: the provider's own; reasoning models have no other.

        Raises:
            ProviderError: the network or the provider failed, also after retries.
            AgentError: the provider refused this request, e.g. because it is too long.
            UserError: the key was refused, or there is no such model.
        """
        request: dict[str, Any] = {"model": self.name, "messages": messages}
        if _reasons(self.name):  # the tokens that these think with count towards the limit
            request["max_completion_tokens"] = _THINKING + max_tokens
        else:
            request["max_tokens"] = max_tokens
            if temperature is not None:
                request["temperature"] = temperature
        started = time.perf_counter()
        outcome, retries = await self._send(request)
        usage = outcome.usage if isinstance(outcome, _Completion) else None
        tokens_in, tokens_out = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
        call = Call(
            request_digest=hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest(),
            model=self.name,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost=cost_of(self.name, tokens_in, tokens_out) if usage else None,
            seconds=time.perf_counter() - started,
            retries=retries,
            error="" if isinstance(outcome, _Completion) else str(outcome),
        )
        if isinstance(outcome, ActError):
            outcome.calls = (call,)
        if isinstance(outcome, Exception):
            raise outcome
        choice = outcome.choices[0]
        text = _without_key(choice.message.content or "", _shared_client(self._base_url).api_key)
        return Reply(text, choice.finish_reason == "length", call)

    async def _send(self, request: dict[str, Any]) -> "tuple[_Completion | ActError | UserError, int]":
        """The completion or what went wrong, and the number of retries.

        An error is returned, not raised: raised here it would carry the SDK's exception, and so the key.
        """
        shared = _shared_client(self._base_url)
        client = shared.with_options(timeout=self._timeout, max_retries=self._max_retries)
        try:
            response = await client.chat.completions.with_raw_response.create(**request)
        except openai.APIError as error:
            retries = int(error.request.headers.get("x-stainless-retry-count", "0"))
            return _failure(error, self.name, client.api_key), retries
        try:  # the SDK does not validate what it receives
            completion = _Completion.model_validate_json(response.http_response.content)
            return completion, response.retries_taken
        except ValidationError:
            return ProviderError("the provider's answer is no chat completion"), response.retries_taken


async def close_clients() -> None:
    """Close the shared clients; to be called before the event loop ends."""
    while _clients:
        _, client = _clients.popitem()
        await client.close()


def _shared_client(base_url: str | None) -> AsyncOpenAI:
    if base_url not in _clients:
        _clients[base_url] = AsyncOpenAI(base_url=base_url)
    return _clients[base_url]


def _reasons(model: str) -> bool:
    return re.match(r"(o\d|gpt-5)", model.rpartition("/")[2]) is not None


def _check_settings(key: str, base_url: str | None) -> None:
    if not key:
        raise UserError(
            f"agents: {KEY_VARIABLE} is not set; set it to your key (any word, for a server without keys)"
        )
    if not re.fullmatch(r"[!-~]+", key):
        raise UserError(
            f"agents: {KEY_VARIABLE} holds a blank, a line break or a letter outside ASCII; set it anew"
        )
    if base_url is not None:
        try:
            url = httpx.URL(base_url)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise UserError(
                "agents: OPENAI_BASE_URL is no http(s) URL; write for example http://127.0.0.1:8000/v1"
            )


def _without_key(text: str, key: str) -> str:
    """A server may echo the key. A short one is a placeholder, and could be a common word."""
    return text.replace(key, "[key]") if len(key) >= 16 else text


def _failure(error: openai.APIError, model: str, key: str) -> ActError | UserError:
    if not isinstance(error, openai.APIStatusError):
        timed_out = isinstance(error, openai.APITimeoutError)
        return ProviderError(
            "the provider did not answer in time" if timed_out else "no connection to the provider"
        )
    status = error.status_code
    if status in (401, 403):  # the provider's own words may quote parts of the key
        return UserError(
            f"agents: the provider refused {KEY_VARIABLE} for {model} (HTTP {status}); check the key"
        )
    if status == 404:
        return UserError(
            f"agents: the provider has no model {model} (HTTP 404); check its name and OPENAI_BASE_URL"
        )
    said = " ".join(_without_key(error.message, key).split())[:300]
    if status in (408, 409, 429) or status >= 500:
        return ProviderError(f"HTTP {status} from the provider: {said}")
    return AgentError(f"the provider refused the request: {said}")


_Count = Annotated[int, Field(ge=0, le=10**9)]


class _Message(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: _Count
    completion_tokens: _Count


class _Completion(BaseModel):
    """What is used of a chat completion; some servers send no usage."""

    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None
