"""Models of Anthropic, through its messages API."""

import re
from typing import Any, Final

import anthropic
from anthropic import AsyncAnthropic
from pydantic import BaseModel

from agents.base import Message
from agents.providers.bounded import CLIENT
from agents.providers.model import THINKING, Answer, Count, Model, Request, Schema
from agents.providers.network import Failure, NetworkModel
from agents.providers.sdk import receive

_VERSION: Final = "2023-06-01"  # the version of the API that takes a temperature, whatever the SDK's own is

# By the provider's documentation of October 2026: which models take a temperature, answer by a schema, and
# think unless told how not to; those that are newer than all of these think always.
_TAKES_TEMPERATURE: Final = re.compile(
    r"claude-(?:[23]|instant|(?:opus|sonnet|haiku)-4(?:-[0-6](?!\d)|-\d{8}|$))"
)
_NO_SCHEMA: Final = re.compile(r"claude-(?:[23]|instant|(?:opus|sonnet)-4(?:-[01])?(?:-\d{8})?$)")
_THINKS_IF_ASKED: Final = re.compile(r"claude-(?:[23]|instant|(?:opus|sonnet|haiku)-4)")
_NO_THINKING: Final = {
    "claude-opus-5": "disabled",
    "claude-sonnet-5": "disabled",
    "claude-haiku-5-5": "disabled",
    "claude-sonnet-5-5": "between_tools",
}


def connect(base_url: str, key: str) -> AsyncAnthropic:
    """Return a client of Anthropic's SDK (see `NetworkModel.connect`)."""
    return AsyncAnthropic(
        base_url=base_url,
        api_key=key,
        max_retries=0,
        timeout=None,
        default_headers={"anthropic-version": _VERSION},
        http_client=anthropic.DefaultAsyncHttpxClient(**CLIENT),
    )


class AnthropicMessages(NetworkModel, Model):
    """A model of Anthropic, without extended thinking where the model allows that."""

    provider = "anthropic"
    highest_temperature = 1.0

    def connect(self, base_url: str, key: str) -> AsyncAnthropic:
        """See `NetworkModel.connect`."""
        return connect(base_url, key)

    def request(
        self, messages: list[Message], temperature: float | None, max_tokens: int, schema: Schema | None
    ) -> Request:
        """See `Model.request`."""
        request: Request = {
            "model": self.name,
            "messages": [_to_wire(message) for message in messages if message["role"] != "system"],
            "max_tokens": max_tokens,
        }
        if system := "\n\n".join(message["content"] for message in messages if message["role"] == "system"):
            request["system"] = system
        if off := _NO_THINKING.get(re.sub(r"-\d{8}$", "", self.name)):
            request["thinking"] = {"type": off}
        elif not _THINKS_IF_ASKED.match(self.name):
            request["max_tokens"] += THINKING
        if temperature is not None and _TAKES_TEMPERATURE.match(self.name):
            request["temperature"] = temperature
        if schema is not None and not _NO_SCHEMA.match(self.name):
            request["output_config"] = {"format": {"type": "json_schema", "schema": dict(schema)}}
        return request

    async def send(self, client: AsyncAnthropic, request: Request) -> Answer | Failure:
        """See `NetworkModel.send`."""
        required = {name: request[name] for name in ("model", "messages", "max_tokens")}
        # Which other parameters `create` knows depends on the SDK's version.
        others = {name: value for name, value in request.items() if name not in required}
        sent = client.messages.with_raw_response.create(**required, extra_body=others)
        body = await receive(anthropic, sent, _Reply)
        if isinstance(body, Failure):
            return body
        return Answer(
            "".join(block.text or "" for block in body.content if block.type == "text"),
            cut_off=body.stop_reason in ("max_tokens", "model_context_window_exceeded"),
            tokens=(body.usage.input_tokens, body.usage.output_tokens) if body.usage else None,
        )


def _to_wire(message: Message) -> dict[str, Any]:
    images = message.get("images", [])
    if not images:
        return {"role": message["role"], "content": message["content"]}
    parts = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": image}}
        for image in images
    ]
    return {"role": message["role"], "content": [*parts, {"type": "text", "text": message["content"]}]}


class _Block(BaseModel):
    type: str
    text: str | None = None


class _Usage(BaseModel):
    input_tokens: Count
    output_tokens: Count


class _Reply(BaseModel):
    """What is used of a message."""

    content: list[_Block]
    stop_reason: str | None = None
    usage: _Usage | None = None
