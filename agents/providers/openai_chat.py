"""Chat completions, of OpenAI and of any server that speaks the same protocol."""

import hashlib
import json
import re
from typing import Annotated, Any

import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, Field

from agents.base import ChatMessage
from agents.providers.bounded import client_options
from agents.providers.model import THINKING, Count, LanguageModel, Named, Request, Schema, TextAnswer, ended
from agents.providers.network import Failure, NetworkModel
from agents.providers.openai_batches import OpenAIBatches
from agents.providers.pricing import Tokens
from agents.providers.sdk import read, receive
from agents.providers.settings import Service


class OpenAIChat(NetworkModel, LanguageModel):
    """A model of OpenAI, through chat completions."""

    provider = "openai"
    path = "/v1/chat/completions"

    def connect(self, base_url: str, key: str) -> AsyncOpenAI:
        """See `NetworkModel.connect`."""
        return connect(base_url, key)

    def request(
        self, messages: list[ChatMessage], temperature: float | None, max_tokens: int, schema: Schema | None
    ) -> Request:
        """See `LanguageModel.request`."""
        request: Request = {"model": self.name, "messages": [_to_wire(message) for message in messages]}
        if reasons(self.name):  # the tokens that these think with count towards the limit
            request["max_completion_tokens"] = THINKING + max_tokens
        else:
            request["max_tokens"] = max_tokens
            if temperature is not None:
                request["temperature"] = temperature
        if schema is not None:
            wanted = {"name": "answer", "schema": dict(schema), "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return request

    async def send(self, client: AsyncOpenAI, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        key = cache_key(self._service, request["messages"][0])
        sent = client.chat.completions.with_raw_response.create(**request, **key)
        body = await receive(openai, sent, Completion)
        return body if isinstance(body, Failure) else body.answer

    def batches(self, client: AsyncOpenAI) -> OpenAIBatches:
        """See `agents.providers.batches.Batchable`."""
        return OpenAIBatches(client, self.path)

    def read(self, body: object) -> TextAnswer | Failure:
        """See `agents.providers.batches.Batchable`."""
        return read(body, Completion)


class CompatibleChat(OpenAIChat):
    """A model at a server of the user's choice, with or without a key."""

    provider = "compatible"

    def connect(self, base_url: str, key: str) -> AsyncOpenAI:
        """See `NetworkModel.connect`."""
        return connect(base_url, key or "none")  # the SDK insists on one


def connect(base_url: str, key: str) -> AsyncOpenAI:
    """Return a client that neither retries, nor times out, nor follows redirects."""
    http = openai.DefaultAsyncHttpxClient(**client_options())
    return AsyncOpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=None, http_client=http)


def cache_key(service: Service, beginning: Request) -> Request:
    """Return what a request has besides, so that it comes to where OpenAI keeps prompts that begin so.

    Empty for other servers, which may refuse what they do not know.
    """
    if service.base_url.rstrip("/") != service.url:
        return {}
    digest = hashlib.sha256(json.dumps(beginning, sort_keys=True).encode()).hexdigest()
    return {"prompt_cache_key": digest[:32]}


def reasons(model: str) -> bool:
    """Return whether a model thinks before it answers, and takes no temperature."""
    return re.match(r"o\d|gpt-[5-9]", model.rpartition("/")[2]) is not None


def data_url(image: str) -> str:
    """Return a PNG in base64 as a URL."""
    return f"data:image/png;base64,{image}"


def _to_wire(message: ChatMessage) -> dict[str, Any]:
    images = message.get("images", [])
    if not images:
        return {"role": message["role"], "content": message["content"]}
    parts = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in images]
    return {"role": message["role"], "content": [{"type": "text", "text": message["content"]}, *parts]}


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class Cached(BaseModel):
    """What OpenAI says of its cache; other servers say nothing, or less."""

    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


def counted(read: int, written: int, cached: Cached | None) -> Tokens:
    """Return the tokens of an answer; what is said of the cache is part of what was read."""
    cached = cached or Cached()
    return Tokens(read, written, cached.cached_tokens or 0, cached.cache_write_tokens or 0)


class _Usage(BaseModel):
    prompt_tokens: Count
    completion_tokens: Count
    prompt_tokens_details: Cached | None = None

    @property
    def tokens(self) -> Tokens:
        return counted(self.prompt_tokens, self.completion_tokens, self.prompt_tokens_details)


class Completion(BaseModel):
    """What is used of a chat completion; some servers send no usage."""

    choices: Annotated[list[_Choice], Field(min_length=1)]
    usage: _Usage | None = None
    model: Named = ""

    @property
    def answer(self) -> TextAnswer:
        """The text, and as its parts the calls of tools."""
        choice, message = self.choices[0], self.choices[0].message
        calls = message.tool_calls or []
        return TextAnswer(
            message.content or "",
            ended(choice.finish_reason, calls, message.refusal),
            tokens=self.usage.tokens if self.usage else None,
            model=self.model,
            parts=tuple(calls),
        )
