"""Chat completions, of OpenAI and of any server that speaks the same protocol; batches of OpenAI."""

import asyncio
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Final

import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, Field, ValidationError

from agents.base import ChatMessage, Tool, ToolCall
from agents.providers.bounded import client_options
from agents.providers.capabilities import reasons
from agents.providers.model import THINKING, Count, LanguageModel, Named, Request, Schema, TextAnswer, ended
from agents.providers.network import UNREADABLE, Failure, NetworkModel, in_time
from agents.providers.pricing import Tokens
from agents.providers.sdk import read, receive, received
from agents.providers.settings import Service
from agents.providers.tool_calls import called, functions

_OVER: Final = ("completed", "expired", "cancelled")
_LISTED_SECONDS: Final = 5.0
"""The longest wait for a line of the list of models, without which a run goes on."""
_NAME: Final = re.compile(r"[\w.-]{1,200}", re.ASCII)


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
        sent = [each for message in messages for each in _to_wire(message)]
        request: Request = {"model": self.name, "messages": sent}
        if reasons(self.name):  # the tokens that these think with count towards the limit
            request["max_completion_tokens"] = THINKING + max_tokens
        else:
            request["max_tokens"] = max_tokens + (THINKING if self.settings.thinks else 0)
            if temperature is not None:
                request["temperature"] = temperature
        request |= self.settings.sent(effort="reasoning_effort", top_p="top_p", top_k="top_k", seed="seed")
        if schema is not None:
            wanted = {"name": "answer", "schema": dict(schema), "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return request

    def with_tools(self, request: Request, tools: Sequence[Tool]) -> Request:
        """See `LanguageModel.with_tools`."""
        return request | {"tools": [{"type": "function", "function": each} for each in functions(tools)]}

    def tool_calls(self, parts: Sequence[dict[str, Any]]) -> tuple[ToolCall, ...]:
        """See `LanguageModel.tool_calls`."""
        return tuple(called(part.get("id"), part.get("function")) for part in parts)

    async def send(self, client: AsyncOpenAI, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        key = cache_key(self._service, request["messages"][0])
        known = {name: value for name, value in request.items() if name != "top_k"}
        extra = {"top_k": request["top_k"]} if "top_k" in request else None  # the SDK knows none
        sent = client.chat.completions.with_raw_response.create(**known, **key, extra_body=extra)
        body = await receive(openai, sent, Completion)
        return body if isinstance(body, Failure) else body.answer

    async def end(self) -> date | None:
        """Return the day on which the model is shut down, by the list of models; None: no day is told."""
        with self.connection().client() as client:
            asked = client.models.with_raw_response.retrieve(self.name)
            listed = await in_time(asyncio.create_task(receive(openai, asked, _Listed)), _LISTED_SECONDS)
        return None if isinstance(listed, Failure) else listed.shutdown_date

    def batches(self, client: AsyncOpenAI) -> "_OpenAIBatches":
        """See `agents.providers.batches.Batchable`."""
        return _OpenAIBatches(client, self.path)

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


def data_url(image: str) -> str:
    """Return a PNG in base64 as a URL."""
    return f"data:image/png;base64,{image}"


def _to_wire(message: ChatMessage) -> list[dict[str, Any]]:
    if "results" in message:
        told = message["results"]
        return [{"role": "tool", "tool_call_id": each.call.id, "content": each.text} for each in told]
    wired: dict[str, Any] = {"role": message["role"], "content": message["content"]}
    if "parts" in message:
        wired["tool_calls"] = message["parts"]
    if images := message.get("images"):
        parts = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in images]
        wired["content"] = [{"type": "text", "text": message["content"]}, *parts]
    return [wired]


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class CacheUsage(BaseModel):
    """What OpenAI says of its cache; other servers say nothing, or less."""

    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


def counted(read: int, written: int, cached: CacheUsage | None) -> Tokens:
    """Return the tokens of an answer; what is said of the cache is part of what was read."""
    cached = cached or CacheUsage()
    return Tokens(read, written, cached.cached_tokens or 0, cached.cache_write_tokens or 0)


class _Usage(BaseModel):
    prompt_tokens: Count
    completion_tokens: Count
    prompt_tokens_details: CacheUsage | None = None

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


class _Listed(BaseModel):
    """What is used of a line of the list of models."""

    shutdown_date: date | None = None


class _OpenAIBatches:
    """The batches of one endpoint, such as `/v1/responses`."""

    def __init__(self, client: AsyncOpenAI, path: str) -> None:
        self._client, self._path = client, path

    async def submit(self, requests: Mapping[str, Request]) -> str | Failure:
        """See `BatchService.submit`."""
        lines = [
            json.dumps({"custom_id": name, "method": "POST", "url": self._path, "body": request})
            for name, request in requests.items()
        ]
        content = ("batch.jsonl", "\n".join(lines).encode())
        sent = self._client.files.with_raw_response.create(file=content, purpose="batch")
        file = await receive(openai, sent, _File)
        if isinstance(file, Failure):
            return file
        begun = self._client.batches.with_raw_response.create(
            input_file_id=file.id,
            endpoint=self._path,  # type: ignore[arg-type]
            completion_window="24h",
        )
        batch = await receive(openai, begun, _Batch)
        return batch if isinstance(batch, Failure) else batch.id if _NAME.fullmatch(batch.id) else UNREADABLE

    async def results(self, batch: str) -> Mapping[str, object] | Failure | None:
        """See `BatchService.results`."""
        found = await receive(openai, self._client.batches.with_raw_response.retrieve(batch), _Batch)
        if isinstance(found, Failure):
            return found
        if found.status == "failed":
            said = [each.message or "" for each in (found.errors.data if found.errors else None) or []]
            return {"": Failure(f"the batch has failed: {'; '.join(said)[:300]}", status=200)}
        if found.status not in _OVER:
            return None
        results: dict[str, object] = {}
        for file in (found.output_file_id, found.error_file_id):
            if file and _NAME.fullmatch(file):
                content = await received(openai, self._client.files.with_raw_response.content(file))
                if isinstance(content, Failure):
                    return content
                results |= dict(filter(None, map(_result, content.splitlines())))
        return results


def _result(line: bytes) -> tuple[str, object] | None:
    """The name of a request with the body of its response, or with its failure."""
    try:
        told = _Result.model_validate_json(line)
    except ValidationError:
        return None
    if told.response is None:
        return told.custom_id, Failure((told.error and told.error.message) or "no response")
    if told.response.status_code == 200:
        return told.custom_id, told.response.body
    return told.custom_id, Failure(json.dumps(told.response.body)[:300], told.response.status_code)


class _File(BaseModel):
    id: str


class _Error(BaseModel):
    message: str | None = None


class _Errors(BaseModel):
    data: list[_Error] | None = None


class _Batch(BaseModel):
    """What is used of a batch."""

    id: str
    status: str
    errors: _Errors | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None


class _Answered(BaseModel):
    status_code: int
    body: Any = None


class _Result(BaseModel):
    """What is used of a line of results; a request that expired has an error and no response."""

    custom_id: str
    response: _Answered | None = None
    error: _Error | None = None
