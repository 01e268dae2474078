"""Batches of OpenAI: a file of requests, a batch, a file of answers and one of errors."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, ValidationError

from agents.providers.model import Request
from agents.providers.network import UNREADABLE, Failure
from agents.providers.sdk import receive, received

_OVER: Final = ("completed", "expired", "cancelled")
_NAME: Final = re.compile(r"[\w.-]{1,200}", re.ASCII)


class OpenAIBatches:
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


class _Response(BaseModel):
    status_code: int
    body: Any = None


class _Result(BaseModel):
    """What is used of a line of results; a request that expired has an error and no response."""

    custom_id: str
    response: _Response | None = None
    error: _Error | None = None
