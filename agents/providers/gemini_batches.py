"""Batches of Gemini: its requests and responses stand in the batch itself."""

import re
from collections.abc import Mapping
from typing import Any, Final

from google.genai import types
from pydantic import BaseModel, Field

from agents.providers.gemini_sdk import GeminiClient, as_sent, received
from agents.providers.model import Request
from agents.providers.network import UNREADABLE, Failure

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


class GeminiBatches:
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


class _Error(BaseModel):
    code: int = 0
    message: str = ""

    @property
    def failure(self) -> Failure:
        return Failure(self.message, _STATUS.get(self.code, self.code if self.code >= 400 else 500))


class _Inlined(BaseModel):
    metadata: dict[str, str] = Field(default_factory=dict)
    response: dict[str, Any] | None = None
    error: _Error | None = None

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
