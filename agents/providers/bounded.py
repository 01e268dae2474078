"""The same for all HTTP clients of providers: no redirect is followed, and no answer goes on for ever."""

import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any, Final, cast

import httpx

try:  # SDKs of the major for Python 3.12 and later bring a client of their own, with streams of its own
    import httpx2
except ImportError:
    _STREAMS: tuple[type, ...] = (httpx.AsyncByteStream,)
else:
    _STREAMS = (httpx.AsyncByteStream, httpx2.AsyncByteStream)

LONGEST: Final = 16 * 2**20
"""The most bytes of an answer."""


class TooLong(httpx.HTTPError):
    """An answer has too many bytes, or may have: it is packed, which nobody asked for."""

    def __init__(self) -> None:
        super().__init__(f"the provider's answer is packed, or longer than {LONGEST >> 20} MB")


class _Bounded(*_STREAMS):  # type: ignore[misc]
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > LONGEST:
                raise TooLong
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


ANSWERED: Final[ContextVar[Callable[[Mapping[str, str]], None]]] = ContextVar("answered")
"""A function of the request under way, which is called with the headers of each response to it."""


async def _bound(response: httpx.Response) -> None:
    if told := ANSWERED.get(None):
        told(response.headers)
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise TooLong
    response.stream = _Bounded(cast(httpx.AsyncByteStream, response.stream))


def client_options() -> dict[str, Any]:
    """Return what a client is made with; how many connections it has is for `Connection.client` to say."""
    return {
        "follow_redirects": False,
        "headers": {"accept-encoding": "identity"},
        "event_hooks": {"response": [_bound]},
        "limits": httpx.Limits(),
        "verify": _trusting(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
    }


@cache
def _trusting(*_: str | None) -> ssl.SSLContext:
    """What httpx trusts, read once: it takes longer than a short answer."""
    return httpx.create_ssl_context()
