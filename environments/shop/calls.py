"""What the shop's interfaces for programs share: how a request is read, refused, and carried out once."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json
from starlette.requests import Request

Json = dict[str, Any]

LONGEST_KEY: Final = 255
_LARGEST_BODY: Final = 256 * 1024
"""In bytes; a cart of a hundred lines takes about ten thousand."""
_MOST_REMEMBERED: Final = 1_000

ShortText = Annotated[str, Field(max_length=512)]


class RequestPart(BaseModel):
    """A part of a request. Types are those of JSON: "2" and 2.0 are no integers. Other fields are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


class EmptyRequest(RequestPart):
    """A request that says all in its address."""


class ProtocolError(Exception):
    """A request that is not answered: `status` is that of HTTP, `code` the protocol's word.

    `more`: what else the protocol's answer says.
    """

    def __init__(self, status: int, code: str, content: str, **more: Any) -> None:
        super().__init__(content)
        self.status = status
        self.code = code
        self.more = more


async def read_body(request: Request) -> bytes:
    """Return the body of a request. Raises ProtocolError: it is too large."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST_BODY:
            raise ProtocolError(413, "request_too_large", f"a request may have {_LARGEST_BODY} bytes")
    return bytes(body)


def read_json(body: bytes) -> object:
    """Return what a body says in JSON; an empty one says nothing. Raises ProtocolError."""
    try:
        return from_json(body, allow_inf_nan=False) if body.strip() else {}
    except ValueError as error:
        raise ProtocolError(400, "invalid_request", f"the body is no JSON: {error}") from None


def first_mistake(found: ValidationError) -> str:
    """Return the first mistake of a request in one line: where, and what."""
    mistake = found.errors()[0]
    where = ".".join(map(str, mistake["loc"]))
    return f"{where}: {mistake['msg']}" if where else mistake["msg"]


class IdempotencyKeys:
    """What requests with an idempotency key were answered; the oldest are forgotten."""

    def __init__(self, conflict: int) -> None:
        self._conflict = conflict
        self._answers: OrderedDict[tuple[str, str, str], tuple[bytes, Json]] = OrderedDict()

    def once(self, place: tuple[str, str, str], sent: object, run: Callable[[], Json]) -> tuple[Json, bool]:
        """Return the answer, and whether it was given before.

        `place`: who asks, for what, and the key; nothing is remembered where that is empty.

        Raises ProtocolError, with the status `conflict`: the key was used for something else.
        """
        if not place[-1]:
            return run(), False
        seal = hashlib.sha256(json.dumps(sent, sort_keys=True).encode()).digest()
        is_known = place in self._answers
        if not is_known:
            self._answers[place] = seal, run()
            if len(self._answers) > _MOST_REMEMBERED:
                self._answers.popitem(last=False)
        before, answer = self._answers[place]
        if before != seal:
            raise ProtocolError(
                self._conflict, "idempotency_conflict", "the key was used for another request"
            )
        return answer, is_known
