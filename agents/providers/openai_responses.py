"""Models of OpenAI, through its responses API."""

from collections.abc import Sequence
from typing import Any, Final

import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, ConfigDict

from agents.base import ChatMessage, Tool, ToolCall
from agents.providers.capabilities import reasons
from agents.providers.model import THINKING, Count, Named, Request, Schema, TextAnswer, ended
from agents.providers.network import Failure
from agents.providers.openai_chat import CacheUsage, OpenAIChat, cache_key, counted, data_url
from agents.providers.pricing import Tokens
from agents.providers.sdk import read, receive
from agents.providers.settings import Service
from agents.providers.tool_calls import called, functions

_SMALLEST_LIMIT: Final = 16  # the API refuses less


class OpenAIResponses(OpenAIChat):
    """A model of OpenAI, through its responses API; OpenAI is asked to store nothing."""

    provider = "openai-responses"
    path = "/v1/responses"

    def request(
        self, messages: list[ChatMessage], temperature: float | None, max_tokens: int, schema: Schema | None
    ) -> Request:
        """See `LanguageModel.request`."""
        request: Request = {
            "model": self.name,
            "input": [each for message in messages for each in _to_wire(message)],
            "store": False,
        }
        if reasons(self.name):
            request["max_output_tokens"] = THINKING + max_tokens
        else:
            request["max_output_tokens"] = max(max_tokens, _SMALLEST_LIMIT)
            if temperature is not None:
                request["temperature"] = temperature
        request |= self.settings.sent(top_p="top_p")
        if self.settings.effort is not None:
            request["reasoning"] = {"effort": self.settings.effort}
        if schema is not None:
            wanted = {"type": "json_schema", "name": "answer", "schema": dict(schema), "strict": True}
            request["text"] = {"format": wanted}
        return request

    def with_tools(self, request: Request, tools: Sequence[Tool]) -> Request:
        """See `LanguageModel.with_tools`. What the model has thought comes back with its calls."""
        as_it_is = {"type": "function", "strict": False}  # else the API changes the schema
        thoughts = {"include": ["reasoning.encrypted_content"]} if reasons(self.name) else {}
        return request | {"tools": [as_it_is | each for each in functions(tools)]} | thoughts

    def tool_calls(self, parts: Sequence[dict[str, Any]]) -> tuple[ToolCall, ...]:
        """See `LanguageModel.tool_calls`."""
        return tuple(called(each.get("call_id"), each) for each in parts if each["type"] == "function_call")

    async def send(self, client: AsyncOpenAI, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        body = await respond(client, self._service, request)
        return body if isinstance(body, Failure) else body.answer

    def read(self, body: object) -> TextAnswer | Failure:
        """See `agents.providers.batches.Batchable`."""
        return read(body, Response)


async def respond(client: AsyncOpenAI, service: Service, request: Request) -> "Response | Failure":
    """Return the validated response of a request, or the failure."""
    key = cache_key(service, request["input"][0])
    return await receive(openai, client.responses.with_raw_response.create(**request, **key), Response)


def _to_wire(message: ChatMessage) -> list[dict[str, Any]]:
    if "parts" in message:
        return message["parts"]
    if "results" in message:
        told = message["results"]
        return [
            {"type": "function_call_output", "call_id": each.call.id, "output": each.text} for each in told
        ]
    images = message.get("images", [])
    if not images:
        return [{"role": message["role"], "content": message["content"]}]
    parts = [{"type": "input_image", "image_url": data_url(image)} for image in images]
    text = {"type": "input_text", "text": message["content"]}
    return [{"role": message["role"], "content": [text, *parts]}]


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow")

    type: str
    text: str | None = None
    refusal: str | None = None


class _Item(BaseModel):
    model_config = ConfigDict(extra="allow")

    type: str
    content: list[_Part] | None = None


class _Usage(BaseModel):
    input_tokens: Count
    output_tokens: Count
    input_tokens_details: CacheUsage | None = None

    @property
    def tokens(self) -> Tokens:
        return counted(self.input_tokens, self.output_tokens, self.input_tokens_details)


class _Unfinished(BaseModel):
    reason: str | None = None


class Response(BaseModel):
    """What is used of a response."""

    status: str
    incomplete_details: _Unfinished | None = None
    output: list[_Item]
    usage: _Usage | None = None
    model: Named = ""

    @property
    def answer(self) -> TextAnswer | Failure:
        """The text, and all items as they came."""
        if self.status not in ("completed", "incomplete"):
            return Failure(f"the provider's answer is {self.status}")
        parts = [part for item in self.output if item.type == "message" for part in item.content or []]
        items = tuple(item.model_dump(exclude_unset=True) for item in self.output)
        calls = [item for item in items if item["type"].endswith("_call")]
        refusal = "".join(part.refusal or "" for part in parts if part.type == "refusal")
        reason = self.incomplete_details.reason if self.incomplete_details else None
        return TextAnswer(
            "".join(part.text or "" for part in parts if part.type == "output_text"),
            ended(reason or self.status, calls, refusal),
            tokens=self.usage.tokens if self.usage else None,
            model=self.model,
            parts=items,
        )
