"""Batches of Anthropic's messages."""

import re
from collections.abc import Mapping
from typing import Any, Final

import anthropic
import httpx
from anthropic import AsyncAnthropic
from pydantic import BaseModel, ValidationError

from agents.providers.model import Request
from agents.providers.network import UNREADABLE, Failure
from agents.providers.sdk import receive, received

_NAME: Final = re.compile(r"[\w.-]{1,200}", re.ASCII)
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


class AnthropicBatches:
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
        content = await received(anthropic, self._client.get(path, cast_to=httpx.Response))
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
