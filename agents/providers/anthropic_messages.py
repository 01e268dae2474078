"""Models of Anthropic, through its messages API, with their batches."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anthropic
from anthropic import AsyncAnthropic
from pydantic import BaseModel, ConfigDict, ValidationError

from agents.base import ChatMessage, Tool, ToolCall, ToolResult
from agents.providers.bounded import client_options
from agents.providers.capabilities import takes_temperature
from agents.providers.model import THINKING, Count, LanguageModel, Named, Request, Schema, TextAnswer, ended
from agents.providers.network import UNREADABLE, Failure, NetworkModel
from agents.providers.pricing import Tokens
from agents.providers.sdk import read, receive, received
from agents.providers.tokens import estimate_tokens
from agents.providers.tool_calls import called, functions

_VERSION: Final = "2023-06-01"  # the version of the API that takes a temperature, whatever the SDK's own is

# By the provider's documentation of October 2026: which models answer by a schema, think if they are asked,
# and think unless told how not to; those that are newer than all of these think always.
_NO_SCHEMA: Final = re.compile(r"claude-(?:[23]|instant|(?:opus|sonnet)-4(?:-[01])?(?:-\d{8})?$)")
_THINKS_IF_ASKED: Final = re.compile(r"claude-(?:[23]|instant|(?:opus|sonnet|haiku)-4)")
_THINKS_AS_NEEDED: Final = re.compile(r"claude-(?:opus|sonnet)-4-[678]")
CACHE: Final = {"type": "ephemeral"}
"""Asks to keep what stands before it in the provider's cache, for five minutes after its last use."""
_LEAST_CACHED: Final = 1_024
"""The fewest tokens that any model keeps; some keep no text of fewer than 4,096, and ignore the wish."""
_NO_THINKING: Final = {
    "claude-opus-5": "disabled",
    "claude-sonnet-5": "disabled",
    "claude-haiku-5-5": "disabled",
    "claude-sonnet-5-5": "between_tools",
}
_NAME: Final = re.compile(r"[\w.-]{1,200}", re.ASCII)
_AS_IT_CAME: Final = {"X-Stainless-Raw-Response": "true"}  # as the SDK's with_raw_response asks for it
_STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
"""The status that an error has where it is no part of a batch; any other is the provider's own."""


def connect(base_url: str, key: str) -> AsyncAnthropic:
    """Return a client of Anthropic's SDK (see `NetworkModel.connect`)."""
    return AsyncAnthropic(
        base_url=base_url,
        api_key=key,
        max_retries=0,
        timeout=None,
        default_headers={"anthropic-version": _VERSION},
        http_client=anthropic.DefaultAsyncHttpxClient(**client_options()),
    )


class AnthropicMessages(NetworkModel, LanguageModel):
    """A model of Anthropic, without extended thinking where the model allows that."""

    provider = "anthropic"
    highest_temperature = 1.0

    def connect(self, base_url: str, key: str) -> AsyncAnthropic:
        """See `NetworkModel.connect`."""
        return connect(base_url, key)

    def request(
        self, messages: list[ChatMessage], temperature: float | None, max_tokens: int, schema: Schema | None
    ) -> Request:
        """See `LanguageModel.request`."""
        request: Request = {
            "model": self.name,
            "messages": [_to_wire(message) for message in messages if message["role"] != "system"],
            "max_tokens": max_tokens,
        }
        if system := "\n\n".join(message["content"] for message in messages if message["role"] == "system"):
            request["system"] = _to_cache(system) if estimate_tokens(system) >= _LEAST_CACHED else system
        thinking, more = self._thinking()
        request |= {"thinking": thinking} if thinking else {}
        request["max_tokens"] += more
        if temperature is not None and takes_temperature(self.label):
            request["temperature"] = temperature
        request |= self.settings.sent(top_p="top_p", top_k="top_k")
        output = self.settings.sent(effort="effort")
        if schema is not None and not _NO_SCHEMA.match(self.name):
            output["format"] = {"type": "json_schema", "schema": dict(schema)}
        return request | ({"output_config": output} if output else {})

    def _thinking(self) -> tuple[dict[str, Any] | None, int]:
        """How the model is told to think, and how many tokens it is given for that."""
        budget, thinks_if_asked = self.settings.thinking, _THINKS_IF_ASKED.match(self.name)
        if budget:
            return {"type": "enabled", "budget_tokens": budget}, budget
        if self.settings.effort is None:
            off = _NO_THINKING.get(re.sub(r"-\d{8}$", "", self.name))
            return {"type": off} if off else None, 0 if off or thinks_if_asked else THINKING
        if _THINKS_AS_NEEDED.match(self.name):  # these do so only where they are told to
            return {"type": "adaptive"}, THINKING
        return None, 0 if thinks_if_asked else THINKING

    def with_tools(self, request: Request, tools: Sequence[Tool]) -> Request:
        """See `LanguageModel.with_tools`. From its second request on, a conversation is kept in the cache."""
        kept = {"cache_control": CACHE} if len(request["messages"]) > 1 else {}
        return request | {"tools": functions(tools, "input_schema")} | kept

    def tool_calls(self, parts: Sequence[dict[str, Any]]) -> tuple[ToolCall, ...]:
        """See `LanguageModel.tool_calls`."""
        return tuple(called(part.get("id"), part, "input") for part in parts if part["type"] == "tool_use")

    async def send(self, client: AsyncAnthropic, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        return await send(client, request)

    def batches(self, client: AsyncAnthropic) -> "_AnthropicBatches":
        """See `agents.providers.batches.Batchable`."""
        return _AnthropicBatches(client)

    def read(self, body: object) -> TextAnswer | Failure:
        """See `agents.providers.batches.Batchable`."""
        return read(body, _Reply)


async def send(client: AsyncAnthropic, request: Request, beta: str = "") -> TextAnswer | Failure:
    """Try a request once; `beta`: the header that allows a tool, if one does."""
    required = {name: request[name] for name in ("model", "messages", "max_tokens")}
    # Which other parameters `create` knows depends on the SDK's version.
    others = {name: value for name, value in request.items() if name not in required}
    headers = {"anthropic-beta": beta} if beta else None
    sent = client.messages.with_raw_response.create(**required, extra_body=others, extra_headers=headers)
    body = await receive(anthropic, sent, _Reply)
    return body if isinstance(body, Failure) else body.answer


def image_block(image: str) -> dict[str, Any]:
    """Return a PNG in base64 as a part of a message."""
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}}


def _to_cache(text: str) -> list[dict[str, Any]]:
    """A text that the trials of a run share: whoever is the first has it put into the provider's cache."""
    return [{"type": "text", "text": text, "cache_control": CACHE}]


def _to_wire(message: ChatMessage) -> dict[str, Any]:
    if "parts" in message:
        return {"role": "assistant", "content": message["parts"]}
    if "results" in message:
        return {"role": "user", "content": [_result_block(each) for each in message["results"]]}
    images = message.get("images", [])
    if not images:
        return {"role": message["role"], "content": message["content"]}
    parts = map(image_block, images)
    return {"role": message["role"], "content": [*parts, {"type": "text", "text": message["content"]}]}


def _result_block(told: ToolResult) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": told.call.id, "content": told.text}
    return block | ({"is_error": True} if told.failed else {})


class _Block(BaseModel):
    model_config = ConfigDict(extra="allow")

    type: str
    text: str | None = None


class _Usage(BaseModel):
    """The tokens of a message; those of the cache are not part of `input_tokens`."""

    input_tokens: Count
    output_tokens: Count
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None

    @property
    def tokens(self) -> Tokens:
        cached, stored = self.cache_read_input_tokens or 0, self.cache_creation_input_tokens or 0
        return Tokens(self.input_tokens + cached + stored, self.output_tokens, cached, stored)


class _Reply(BaseModel):
    """What is used of a message."""

    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None
    model: Named = ""

    @property
    def answer(self) -> TextAnswer:
        parts = tuple(block.model_dump(exclude_unset=True) for block in self.content)
        return TextAnswer(
            "".join(block.text or "" for block in self.content if block.type == "text"),
            ended(self.stop_reason, [part for part in parts if part["type"].endswith("tool_use")]),
            tokens=self.usage.tokens if self.usage else None,
            model=self.model,
            parts=parts,
        )


class _AnthropicBatches:
    """The batches of a key."""

    def __init__(self, client: AsyncAnthropic) -> None:
        self._client = client

    async def submit(self, requests: Mapping[str, Request]) -> str | Failure:
        """See `BatchService.submit`."""
        asked: list[Any] = [{"custom_id": name, "params": request} for name, request in requests.items()]
        begun = self._client.messages.batches.with_raw_response.create(requests=asked)
        batch = await receive(anthropic, begun, _Batch)
        return batch if isinstance(batch, Failure) else batch.id if _NAME.fullmatch(batch.id) else UNREADABLE

    async def results(self, batch: str) -> Mapping[str, object] | Failure | None:
        """See `BatchService.results`. The address that the batch gives for them is not used: keys stay."""
        retrieved = self._client.messages.batches.with_raw_response.retrieve(batch)
        found = await receive(anthropic, retrieved, _Batch)
        if isinstance(found, Failure):
            return found
        if found.processing_status != "ended":
            return None
        path = f"/v1/messages/batches/{batch}/results"
        # The response as it came: of which HTTP client its class is, differs between versions of the SDK.
        sent = self._client.get(path, cast_to=object, options={"headers": _AS_IT_CAME})
        content = await received(anthropic, sent)
        if isinstance(content, Failure):
            return content
        return dict(filter(None, map(_result, content.splitlines())))


def _result(line: bytes) -> tuple[str, object] | None:
    """The name of a request with its message, or with its failure."""
    try:
        told = _Result.model_validate_json(line)
    except ValidationError:
        return None
    match told.result:
        case {"type": "succeeded", "message": message}:
            return told.custom_id, message
        case {"type": "errored", "error": {"error": {"type": str(kind), "message": str(said)}}}:
            return told.custom_id, Failure(f"{kind}: {said}", _STATUS.get(kind, 500))
    return told.custom_id, Failure(f"the request was not answered: {told.result.get('type')}")


class _Batch(BaseModel):
    """What is used of a batch."""

    id: str
    processing_status: str


class _Result(BaseModel):
    custom_id: str
    result: dict[str, Any]
