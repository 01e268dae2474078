"""Send requests through Google's SDK."""

import json
import re
from collections.abc import Awaitable
from typing import Any, Final

import httpx
from google import genai
from google.genai import errors, types
from pydantic import BaseModel

from agents.providers.bounded import TooLong, client_options
from agents.providers.model import Request
from agents.providers.network import NO_CONNECTION, UNREAD, UNREADABLE, Failure, retry_after
from agents.providers.sdk import Body

_DELAY: Final = re.compile(r'"retryDelay": ?"(\d{1,6}(?:\.\d{1,9})?)s"')
_CLOSED: Final = ("API_KEY_INVALID", "API key not valid")


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
