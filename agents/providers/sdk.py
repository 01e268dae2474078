"""Send requests through the SDKs of OpenAI and Anthropic, which fail in the same ways."""

from collections.abc import Awaitable
from types import ModuleType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agents.providers.bounded import TooLong
from agents.providers.network import NO_CONNECTION, UNREADABLE, Failure, retry_after

Body = TypeVar("Body", bound=BaseModel)


async def receive(sdk: ModuleType, response: Awaitable[Any], body: type[Body]) -> Body | Failure:
    """Return the validated response of `with_raw_response`, or the failure.

    The SDKs do not validate what they receive.
    """
    try:
        content = (await response).http_response.content
    except sdk.APIStatusError as error:
        return Failure(str(error.message), error.status_code, retry_after(error.response.headers))
    except sdk.APIError as error:
        too_long = isinstance(error.__cause__, TooLong)
        return Failure(str(error.__cause__), status=200) if too_long else NO_CONNECTION
    try:
        return body.model_validate_json(content)
    except ValidationError:
        return UNREADABLE
