"""Models of Google, through the Gemini API and the package `google-genai`."""

import json
import re
from typing import Any, Final

import httpx
from google import genai
from google.genai import errors, types
from pydantic import BaseModel, Field, ValidationError

from agents.base import Message
from agents.providers.bounded import CLIENT, TooLong
from agents.providers.model import THINKING, Answer, Count, Model, Request, Schema
from agents.providers.network import NO_CONNECTION, UNREADABLE, Failure, NetworkModel, retry_after
from agents.providers.pricing import Tokens

_THINKS_NOT: Final = re.compile(r"gemini-(?:1|2\.0)")
_THINKS_IF_ASKED: Final = re.compile(r"gemini-2\.5-flash")
"""By the provider's documentation of 2026: which models do not think, and which may be told not to."""
_DELAY: Final = re.compile(r'"retryDelay": ?"(\d{1,6}(?:\.\d{1,9})?)s"')
_CLOSED: Final = ("API_KEY_INVALID", "API key not valid")


class GeminiClient:
    """A client of the SDK, with a connection of its own that can be closed."""

    def __init__(self, base_url: str, key: str) -> None:
        self._client = httpx.AsyncClient(**CLIENT, timeout=None)  # noqa: S113 (see `NetworkModel`)
        options = types.HttpOptions(base_url=base_url, httpx_async_client=self._client)
        self.models = genai.Client(api_key=key, vertexai=False, http_options=options).aio.models

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


class Gemini(NetworkModel, Model):
    """A model of Google, without thinking where the model allows that."""

    provider = "gemini"

    def connect(self, base_url: str, key: str) -> GeminiClient:
        """See `NetworkModel.connect`."""
        return GeminiClient(base_url, key)

    def request(
        self, messages: list[Message], temperature: float | None, max_tokens: int, schema: Schema | None
    ) -> Request:
        """See `Model.request`."""
        config: dict[str, Any] = {"maxOutputTokens": max_tokens}
        if system := "\n\n".join(message["content"] for message in messages if message["role"] == "system"):
            config["systemInstruction"] = {"parts": [{"text": system}]}
        if _THINKS_IF_ASKED.match(self.name):
            config["thinkingConfig"] = {"thinkingBudget": 0}
        elif not _THINKS_NOT.match(self.name):
            config["maxOutputTokens"] += THINKING
        if temperature is not None:
            config["temperature"] = temperature
        if schema is not None:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": dict(schema)}
        contents = [_to_wire(message) for message in messages if message["role"] != "system"]
        return {"model": self.name, "contents": contents, "config": config}

    async def send(self, client: GeminiClient, request: Request) -> Answer | Failure:
        """See `NetworkModel.send`."""
        body = await generate(client, request)
        if isinstance(body, Failure):
            return body
        parts = [part for candidate in body.candidates[:1] for part in candidate.parts]
        return Answer(
            "".join(part["text"] for part in parts if part.get("text") and not part.get("thought")),
            cut_off=body.cut_off,
            tokens=body.usage_metadata.tokens if body.usage_metadata else None,
        )


async def generate(client: GeminiClient, request: Request) -> "Reply | Failure":
    """Return the validated response of a request, or the failure."""
    try:
        # Bytes are read from base64 in JSON only, as they came.
        contents = [types.Content.model_validate_json(json.dumps(each)) for each in request["contents"]]
        found = await client.models.generate_content(**{**request, "contents": contents})
        body = Reply.model_validate(found.model_dump(mode="json", exclude_none=True))
        return body if body.candidates or body.prompt_feedback else UNREADABLE
    except errors.APIError as error:
        return _failure(error)
    except TooLong as error:
        return Failure(str(error), status=200)
    except (httpx.HTTPError, ConnectionError):
        return NO_CONNECTION
    except (ValidationError, ValueError, TypeError, KeyError, AttributeError):
        return UNREADABLE


def _failure(error: errors.APIError) -> Failure:
    said = str(error.message or error.status or "")
    if any(each in json.dumps(error.details, default=str) for each in _CLOSED):
        return Failure(said, 401)
    delay = _DELAY.search(json.dumps(error.details, default=str))
    asked = float(delay[1]) if delay else retry_after(getattr(error.response, "headers", None) or {})
    return Failure(said, error.code if isinstance(error.code, int) else 500, asked)


def _to_wire(message: Message) -> dict[str, Any]:
    pictures = [image_part(image) for image in message.get("images", [])]
    role = "model" if message["role"] == "assistant" else "user"
    return {"role": role, "parts": [{"text": message["content"]}, *pictures]}


def image_part(image: str) -> dict[str, Any]:
    """Return a PNG in base64 as a part of a message."""
    return {"inlineData": {"mimeType": "image/png", "data": image}}


class _Content(BaseModel):
    parts: list[dict[str, Any]] = Field(default_factory=list)


class _Candidate(BaseModel):
    content: _Content | None = None
    finish_reason: str | None = None

    @property
    def parts(self) -> list[dict[str, Any]]:
        return self.content.parts if self.content else []


class _Usage(BaseModel):
    prompt_token_count: Count = 0
    candidates_token_count: Count = 0
    thoughts_token_count: Count = 0
    cached_content_token_count: Count = 0

    @property
    def tokens(self) -> Tokens:
        written = self.candidates_token_count + self.thoughts_token_count
        return Tokens(self.prompt_token_count, written, self.cached_content_token_count)


class Reply(BaseModel):
    """What is used of a response; one that was blocked has no candidates."""

    candidates: list[_Candidate] = Field(default_factory=list)
    prompt_feedback: dict[str, Any] | None = None
    usage_metadata: _Usage | None = None

    @property
    def cut_off(self) -> bool:
        """Whether it reached the length limit."""
        return any(each.finish_reason == "MAX_TOKENS" for each in self.candidates[:1])
