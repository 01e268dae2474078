"""Send requests through the SDKs of OpenAI and Anthropic, which fail in the same ways."""

from collections.abc import Awaitable
from types import ModuleType
from typing import Any, Protocol, Self, TypeVar

from pydantic import BaseModel, ValidationError

from agents.providers.bounded import TooLong
from agents.providers.model import TextAnswer
from agents.providers.network import NO_CONNECTION, UNREADABLE, Failure, retry_after

Body = TypeVar("Body", bound=BaseModel)


class _Answering(Protocol):
    """The protocol of bodies that tell an answer."""

    @property
    def answer(self) -> TextAnswer | Failure: ...

    @classmethod
    def model_validate(cls, obj: Any, /) -> Self: ...


def read(body: object, kind: type[_Answering]) -> TextAnswer | Failure:
    """Return the answer of a body that has come with others."""
    try:
        return kind.model_validate(body).answer
    except ValidationError:
        return UNREADABLE


async def receive(sdk: ModuleType, response: Awaitable[Any], body: type[Body]) -> Body | Failure:
    """Return the validated response of `with_raw_response`, or the failure.

    The SDKs do not validate what they receive.
    """
    content = await received(sdk, response)
    if isinstance(content, Failure):
        return content
    try:
        return body.model_validate_json(content)
    except ValidationError:
        return UNREADABLE


async def received(sdk: ModuleType, response: Awaitable[Any]) -> bytes | Failure:
    """Return the bytes of a response, or the failure."""
    try:
        found = await response
    except sdk.APIStatusError as error:
        return Failure(str(error.message), error.status_code, retry_after(error.response.headers))
    except sdk.APIError as error:
        too_long = isinstance(error.__cause__, TooLong)
        return Failure(str(error.__cause__), status=200) if too_long else NO_CONNECTION
    http = getattr(found, "http_response", found)
    return bytes(http.content)
