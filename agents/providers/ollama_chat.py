"""Models that an Ollama server runs."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx
import ollama
from pydantic import BaseModel

from agents.base import ChatMessage, Tool, ToolCall
from agents.providers.bounded import TooLong, client_options
from agents.providers.model import THINKING, Count, LanguageModel, Named, Request, Schema, TextAnswer, ended
from agents.providers.network import NO_CONNECTION, UNREAD, UNREADABLE, Failure, NetworkModel, retry_after
from agents.providers.pricing import Tokens
from agents.providers.tokens import estimate_tokens
from agents.providers.tool_calls import called, functions

_SMALLEST_WINDOW: Final = 4_096
_IMAGE_TOKENS: Final = 2_000  # a bound, not a count


class _Client(ollama.AsyncClient):
    """The SDK's client; of a tool's schema the SDK's own types would leave out what is nested."""

    async def chat_as_is(self, request: Request) -> ollama.ChatResponse:
        return await self._request(ollama.ChatResponse, "POST", "/api/chat", json=request)


class OllamaChat(NetworkModel, LanguageModel):
    """A model of Ollama, without thinking where the model allows that."""

    provider = "ollama"

    def connect(self, base_url: str, key: str) -> _Client:
        """See `NetworkModel.connect`."""
        options = client_options()
        headers = options["headers"] | ({"authorization": f"Bearer {key}"} if key else {})
        return _Client(base_url, **options | {"headers": headers})

    def request(
        self, messages: list[ChatMessage], temperature: float | None, max_tokens: int, schema: Schema | None
    ) -> Request:
        """See `LanguageModel.request`."""
        thinks = re.match(r"gpt-oss", self.name.rpartition("/")[2]) is not None
        limit = max_tokens + THINKING if thinks else max_tokens
        sent = [each for message in messages for each in _to_wire(message)]
        options: dict[str, Any] = {"num_predict": limit, "num_ctx": _window(sent, limit)}
        if temperature is not None:
            options["temperature"] = temperature
        options |= self.settings.sent(top_p="top_p", top_k="top_k", seed="seed")
        request: Request = {"model": self.name, "messages": sent}
        request |= {"stream": False, "options": options}
        if not thinks:
            request["think"] = False
        elif self.settings.effort is not None:
            request["think"] = self.settings.effort
        if schema is not None:
            request["format"] = dict(schema)
        return request

    def with_tools(self, request: Request, tools: Sequence[Tool]) -> Request:
        """See `LanguageModel.with_tools`."""
        declared = [{"type": "function", "function": each} for each in functions(tools)]
        options = request["options"]
        window = _window([*request["messages"], *declared], options["num_predict"])
        return request | {"tools": declared, "options": options | {"num_ctx": window}}

    def tool_calls(self, parts: Sequence[dict[str, Any]]) -> tuple[ToolCall, ...]:
        """See `LanguageModel.tool_calls`."""
        asked = [each for part in parts for each in part.get("tool_calls") or ()]
        return tuple(called(None, each.get("function")) for each in asked)

    async def send(self, client: _Client, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        messages = [_with_bytes(message) for message in request["messages"]]
        try:
            if "tools" in request:
                response = await client.chat_as_is(request)
            else:
                response = await client.chat(**{**request, "messages": messages})
            body = _Chat.model_validate_json(response.model_dump_json())
        except ollama.ResponseError as error:
            # The SDK keeps the response, and so the headers, only in the exception that it replaces.
            refused = getattr(error.__context__, "response", None)
            headers = refused.headers if isinstance(refused, httpx.Response) else {}
            return Failure(str(error.error), error.status_code, retry_after(headers))
        except TooLong as error:
            return Failure(str(error), status=200)
        except (ConnectionError, httpx.HTTPError):
            return NO_CONNECTION
        except UNREAD:
            return UNREADABLE
        counts = body.prompt_eval_count, body.eval_count
        return TextAnswer(
            body.message.content or "",
            ended(body.done_reason, body.message.tool_calls),
            tokens=None if counts[0] is None or counts[1] is None else Tokens(counts[0], counts[1]),
            parts=({"role": "assistant", **body.message.model_dump(exclude_none=True)},),
            model=body.model,
        )

    def not_found(self) -> str:
        """See `NetworkModel.not_found`."""
        return f"fetch it: ollama pull {self.name}"


def _to_wire(message: ChatMessage) -> list[dict[str, Any]]:
    if "parts" in message:
        return message["parts"]
    if "results" in message:
        told = message["results"]
        return [{"role": "tool", "tool_name": each.call.name, "content": each.text} for each in told]
    return [dict(message)]


def _window(sent: Sequence[Mapping[str, Any]], limit: int) -> int:
    """A window that holds the prompt and the answer, in tokens: without one, the server drops words silently.

    Powers of two, because the server loads the model anew for each size.
    """
    needed = limit + sum(_IMAGE_TOKENS * len(each.get("images", [])) for each in sent)
    for each in sent:
        more = {key: value for key, value in each.items() if key not in ("role", "content", "images")}
        needed += estimate_tokens(each.get("content", ""))
        needed += estimate_tokens(json.dumps(more)) if more else 0
    window = _SMALLEST_WINDOW
    while window < needed:
        window *= 2
    return window


def _with_bytes(message: Mapping[str, Any]) -> dict[str, Any]:
    """The SDK takes text for a file's path before it takes it for an image."""
    images = [base64.b64decode(image) for image in message.get("images", [])]
    return {**message, "images": images} if images else dict(message)


class _Message(BaseModel):
    content: str | None = None
    thinking: str | None = None
    tool_calls: list[dict[str, Any]] | None = None


class _Chat(BaseModel):
    """What is used of a chat response."""

    message: _Message
    done_reason: str | None = None
    prompt_eval_count: Count | None = None
    eval_count: Count | None = None
    model: Named = ""
