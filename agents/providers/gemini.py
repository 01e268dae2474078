"""Models of Google, through the Gemini API and the package `google-genai`."""

import json
import re
from typing import Any, Final, Self

from pydantic import BaseModel, Field, model_validator

from agents.base import ChatMessage
from agents.providers.gemini_batches import GeminiBatches
from agents.providers.gemini_sdk import GeminiClient, as_sent, received
from agents.providers.model import THINKING, Count, LanguageModel, Named, Request, Schema, TextAnswer, ended
from agents.providers.network import Failure, NetworkModel
from agents.providers.pricing import Tokens
from agents.providers.sdk import read
from interventions.cards.reply import Ending

_THINKS_NOT: Final = re.compile(r"gemini-(?:1|2\.0)")
_THINKS_IF_ASKED: Final = re.compile(r"gemini-2\.5-flash")
"""By the provider's documentation of 2026: which models do not think, and which may be told not to."""


class Gemini(NetworkModel, LanguageModel):
    """A model of Google, without thinking where the model allows that."""

    provider = "gemini"

    def connect(self, base_url: str, key: str) -> GeminiClient:
        """See `NetworkModel.connect`."""
        return GeminiClient(base_url, key)

    def request(
        self, messages: list[ChatMessage], temperature: float | None, max_tokens: int, schema: Schema | None
    ) -> Request:
        """See `LanguageModel.request`."""
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

    async def send(self, client: GeminiClient, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        body = await generate(client, request)
        return body if isinstance(body, Failure) else body.answer

    def batches(self, client: GeminiClient) -> GeminiBatches:
        """See `agents.providers.batches.Batchable`."""
        return GeminiBatches(client)

    def read(self, body: object) -> TextAnswer | Failure:
        """See `agents.providers.batches.Batchable`."""
        return read(body, GeminiReply)


async def generate(client: GeminiClient, request: Request) -> "GeminiReply | Failure":
    """Return the validated response of a request, or the failure."""
    return await received(client.models.generate_content(**as_sent(request)), GeminiReply)


def _to_wire(message: ChatMessage) -> dict[str, Any]:
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


class GeminiReply(BaseModel):
    """What is used of a response; one that was blocked has no candidates."""

    candidates: list[_Candidate] = Field(default_factory=list)
    prompt_feedback: dict[str, Any] | None = None
    usage_metadata: _Usage | None = None
    model_version: Named = ""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.candidates and not self.prompt_feedback:
            raise ValueError("neither an answer nor a reason")
        return self

    @property
    def ending(self) -> Ending:
        """How it ended; a prompt that was blocked has no candidates."""
        if not self.candidates:
            return ended(None, refusal=json.dumps(self.prompt_feedback))
        calls = [part["function_call"] for part in self.candidates[0].parts if part.get("function_call")]
        return ended(self.candidates[0].finish_reason, calls)

    @property
    def answer(self) -> TextAnswer:
        """The text, without thoughts, and all parts."""
        parts = [part for candidate in self.candidates[:1] for part in candidate.parts]
        return TextAnswer(
            "".join(part["text"] for part in parts if part.get("text") and not part.get("thought")),
            self.ending,
            tokens=self.usage_metadata.tokens if self.usage_metadata else None,
            model=self.model_version,
            parts=tuple(parts),
        )
