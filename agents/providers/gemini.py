"""Models of Google, through the Gemini API and the package `google-genai`, with their batches."""

import json
import re
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final, Self

import httpx
from google import genai
from google.genai import errors, types
from pydantic import BaseModel, Field, model_validator

from agents.base import ChatMessage, Tool, ToolCall, ToolResult
from agents.providers.bounded import TooLong, client_options
from agents.providers.capabilities import takes_temperature
from agents.providers.model import THINKING, Count, LanguageModel, Named, Request, Schema, TextAnswer, ended
from agents.providers.network import NO_CONNECTION, UNREAD, UNREADABLE, Failure, NetworkModel, retry_after
from agents.providers.pricing import Tokens
from agents.providers.sdk import Body, read
from agents.providers.tool_calls import called, functions
from interventions.cards.reply import Ending

_THINKS_NOT: Final = re.compile(r"gemini-(?:1|2\.0)")
_THINKS_IF_ASKED: Final = re.compile(r"gemini-2\.5-flash")
"""By the provider's documentation of 2026: which models do not think, and which may be told not to."""
_DELAY: Final = re.compile(r'"retryDelay": ?"(\d{1,6}(?:\.\d{1,9})?)s"')
_CLOSED: Final = ("API_KEY_INVALID", "API key not valid")
_BATCH: Final = re.compile(r"batches/[\w.-]{1,200}", re.ASCII)
_KEY: Final = "key"
_FAILED: Final = "JOB_STATE_FAILED"
_OVER: Final = (
    "JOB_STATE_SUCCEEDED",
    "JOB_STATE_PARTIALLY_SUCCEEDED",
    "JOB_STATE_CANCELLED",
    "JOB_STATE_EXPIRED",
    _FAILED,
)
_STATUS: Final = {3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 11: 400, 14: 503, 16: 401}
"""The status of HTTP that a code of gRPC has at Google (google/rpc/code.proto); any other is 500."""


class GeminiClient:
    """A client of the SDK, with a connection of its own that can be closed."""

    def __init__(self, base_url: str, key: str) -> None:
        self._client = httpx.AsyncClient(**client_options(), timeout=None)  # noqa: S113 (see `NetworkModel`)
        options = types.HttpOptions(base_url=base_url, httpx_async_client=self._client)
        asked = genai.Client(api_key=key, vertexai=False, http_options=options).aio
        self.models, self.batches = asked.models, asked.batches

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def as_sent(request: Request) -> dict[str, Any]:
    """Return a request as the SDK takes it: bytes are read from base64 in JSON only, as they came."""
    contents = [types.Content.model_validate_json(json.dumps(each)) for each in request["contents"]]
    return {**request, "contents": contents}


async def received(asked: Awaitable[BaseModel], kind: type[Body]) -> Body | Failure:
    """Return what is used of a response, validated, or the failure."""
    try:
        found = await asked
        return kind.model_validate(found.model_dump(mode="json", exclude_none=True))
    except errors.APIError as error:
        return _failure(error)
    except TooLong as error:
        return Failure(str(error), status=200)
    except (httpx.HTTPError, ConnectionError):
        return NO_CONNECTION
    except UNREAD:
        return UNREADABLE


def _failure(error: errors.APIError) -> Failure:
    said = str(error.message or error.status or "")
    if any(each in json.dumps(error.details, default=str) for each in _CLOSED):
        return Failure(said, 401)
    delay = _DELAY.search(json.dumps(error.details, default=str))
    asked = float(delay[1]) if delay else retry_after(getattr(error.response, "headers", None) or {})
    return Failure(said, error.code if isinstance(error.code, int) else 500, asked)


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
        if self.settings.thinking is not None:
            config["thinkingConfig"] = {"thinkingBudget": self.settings.thinking}
            config["maxOutputTokens"] += self.settings.thinking
        elif _THINKS_IF_ASKED.match(self.name):
            config["thinkingConfig"] = {"thinkingBudget": 0}
        elif not _THINKS_NOT.match(self.name):
            config["maxOutputTokens"] += THINKING
        if self.settings.effort is not None:
            config["thinkingConfig"] = {"thinkingLevel": self.settings.effort}
        if temperature is not None and takes_temperature(self.label):
            config["temperature"] = temperature
        config |= self.settings.sent(top_p="topP", top_k="topK", seed="seed")
        if schema is not None:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": dict(schema)}
        contents = [_to_wire(message) for message in messages if message["role"] != "system"]
        return {"model": self.name, "contents": contents, "config": config}

    def with_tools(self, request: Request, tools: Sequence[Tool]) -> Request:
        """See `LanguageModel.with_tools`."""
        declared = [{"functionDeclarations": functions(tools, "parametersJsonSchema")}]
        return request | {"config": request["config"] | {"tools": declared}}

    def tool_calls(self, parts: Sequence[dict[str, Any]]) -> tuple[ToolCall, ...]:
        """See `LanguageModel.tool_calls`."""
        asked = [part["function_call"] for part in parts if part.get("function_call")]
        return tuple(called(each.get("id"), each, "args") for each in asked)

    async def send(self, client: GeminiClient, request: Request) -> TextAnswer | Failure:
        """See `NetworkModel.send`."""
        body = await generate(client, request)
        return body if isinstance(body, Failure) else body.answer

    def batches(self, client: GeminiClient) -> "_GeminiBatches":
        """See `agents.providers.batches.Batchable`."""
        return _GeminiBatches(client)

    def read(self, body: object) -> TextAnswer | Failure:
        """See `agents.providers.batches.Batchable`."""
        return read(body, _GeminiReply)


async def generate(client: GeminiClient, request: Request) -> "_GeminiReply | Failure":
    """Return the validated response of a request, or the failure."""
    return await received(client.models.generate_content(**as_sent(request)), _GeminiReply)


def _to_wire(message: ChatMessage) -> dict[str, Any]:
    if "parts" in message:  # they go back as they came, as their signatures need it
        return {"role": "model", "parts": message["parts"]}
    if "results" in message:
        return {"role": "user", "parts": [_result_part(each) for each in message["results"]]}
    pictures = [image_part(image) for image in message.get("images", [])]
    role = "model" if message["role"] == "assistant" else "user"
    return {"role": role, "parts": [{"text": message["content"]}, *pictures]}


def _result_part(told: ToolResult) -> dict[str, Any]:
    named = {"name": told.call.name} | ({"id": told.call.id} if told.call.id else {})
    return {"functionResponse": named | {"response": {"error" if told.failed else "output": told.text}}}


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


class _GeminiReply(BaseModel):
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


class _GeminiBatches:
    """The batches of a key."""

    def __init__(self, client: GeminiClient) -> None:
        self._client = client

    async def submit(self, requests: Mapping[str, Request]) -> str | Failure:
        """See `BatchService.submit`."""
        model = next(iter(requests.values()))["model"]
        asked = [
            types.InlinedRequest(**as_sent(request), metadata={_KEY: name})
            for name, request in requests.items()
        ]
        job = await received(self._client.batches.create(model=model, src=asked), _Batch)
        return job if isinstance(job, Failure) else job.name if _BATCH.fullmatch(job.name) else UNREADABLE

    async def results(self, batch: str) -> Mapping[str, object] | Failure | None:
        """See `BatchService.results`."""
        job = await received(self._client.batches.get(name=batch), _Batch)
        if isinstance(job, Failure):
            return job
        if job.state not in _OVER:
            return None
        told = [each.result for each in (job.dest.inlined_responses if job.dest else [])]
        over = {"": Failure("the batch has failed", status=200)} if job.state == _FAILED else {}
        return {**over, **{name: result for name, result in told if name}}


class _BatchError(BaseModel):
    code: int = 0
    message: str = ""

    @property
    def failure(self) -> Failure:
        return Failure(self.message, _STATUS.get(self.code, self.code if self.code >= 400 else 500))


class _Inlined(BaseModel):
    metadata: dict[str, str] = Field(default_factory=dict)
    response: dict[str, Any] | None = None
    error: _BatchError | None = None

    @property
    def result(self) -> tuple[str, object]:
        """The name of a request with its response, or with its failure."""
        failure = self.error.failure if self.error else Failure("the request was not answered")
        return self.metadata.get(_KEY, ""), failure if self.response is None else self.response


class _Inlineds(BaseModel):
    inlined_responses: list[_Inlined] = Field(default_factory=list)


class _Batch(BaseModel):
    """What is used of a batch."""

    name: str
    state: str | None = None
    dest: _Inlineds | None = None
