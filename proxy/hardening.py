"""Changes to mitmproxy that it has no option for, and that a proxy before real sites needs.

Its classes are extended in place.

* `body_size_limit` refuses by the announced length, before an addon can say that a body is only passed
  through. Here it counts what is really held: pages that may be rewritten, and what a client sends.
* Trailers of a chunked body are an error to mitmproxy. They are dropped, as any intermediary may
  (RFC 9110, section 6.5.1).
* Interim responses of a server (1xx) are passed over: the final one is the response (RFC 9110, section 15.2).
* A connection in which mitmproxy has failed is closed; it would stay open without ever being answered.
* At the limit of descriptors asyncio writes a traceback a hundred times a second. Here it is a line a minute.
* A server may close an idle connection at the moment in which the next request is sent on it. Such a request
  is sent once more on a connection of its own, where that cannot do anything twice (RFC 9110, section 9.2.2);
  what cannot be sent twice is not sent on a connection that has been idle for long.
"""

import logging
import math
import re
import time
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

from h11 import EndOfMessage
from h11._readers import ChunkedReader
from mitmproxy.connection import Connection
from mitmproxy.proxy import layer, mode_servers
from mitmproxy.proxy.events import ConnectionEvent
from mitmproxy.proxy.layers import http
from mitmproxy.proxy.layers.http import _events, _http1
from mitmproxy.proxy.layers.http._events import (
    RequestEndOfMessage,
    RequestHeaders,
    RequestProtocolError,
    ResponseProtocolError,
)

BODY_SIZE_LIMIT: Final = "64m"
TOO_LARGE: Final = "body exceeds mitmproxy's body_size_limit"
"""The text of mitmproxy's message about a body over the limit."""


SENT_AGAIN: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods of requests that are sent once more where a server has closed the connection."""
IDLE_SECONDS: Final = 1.0
"""How long after its last request other requests still use a connection; servers keep most for 5 or more."""

REPEATED_SECONDS: Final = 60.0
_LISTENS_LATE: Final = "Exception in callback BaseSelectorEventLoop._start_serving"
"""How asyncio's message begins where it wants to take connections again at a listener closed meanwhile."""
_NO_DESCRIPTORS: Final = "connections wait: this process has no more descriptors; allow more (ulimit -n)"

_INTERIM: Final = re.compile(rb"HTTP/1\.\d 1(?!01)\d\d\b")  # 101 is final: another protocol follows

_CODES: Final = getattr(_events, "ErrorCode", None)
_NOT_REACHED: Final = (_CODES.CONNECT_FAILED,) if _CODES else ()
"""What mitmproxy from 12 on wants to know of an error besides its text."""

_last_used: WeakKeyDictionary[Connection, float] = WeakKeyDictionary()


@dataclass(eq=False)
class _GetFreshConnection(http.GetHttpConnection):
    """Asks for a connection on which a request was sent in the last `idle` seconds, or for a new one."""

    idle: float = math.inf

    def connection_spec_matches(self, connection: Connection) -> bool:
        """Return whether a connection is one to where this request goes, and fresh enough."""
        now = time.monotonic()
        is_fresh = now - _last_used.get(connection, now) < self.idle
        return is_fresh and super().connection_spec_matches(connection)


class Stream(http.HttpStream):
    """Carries one request and its answer; an answer of any length may pass."""

    _uses_an_old_connection = False
    _was_sent_again = False

    def check_body_size(self, request: bool) -> layer.CommandGenerator[bool]:
        """Return whether the exchange was ended because of a body's size."""
        if request or self.response_body_buf:
            return (yield from super().check_body_size(request))
        return False

    def make_server_connection(self) -> layer.CommandGenerator[bool]:
        """Take or make a connection to the server, and return whether there is one."""
        request, server = self.flow.request, self.flow.server_conn
        place = (request.host, request.port), request.scheme == "https", server.via, server.transport_protocol
        idle = math.inf if request.method in SENT_AGAIN else IDLE_SECONDS
        connection, error = yield _GetFreshConnection(*place, idle=0 if self._was_sent_again else idle)
        if error:
            yield from self.handle_protocol_error(ResponseProtocolError(self.stream_id, error, *_NOT_REACHED))
            return False
        self._uses_an_old_connection = connection in _last_used
        _last_used[connection] = time.monotonic()
        self.context.server = self.flow.server_conn = connection
        return True

    def handle_protocol_error(
        self, event: RequestProtocolError | ResponseProtocolError
    ) -> layer.CommandGenerator[None]:
        """End the exchange with an error, or send its request once more."""
        if not (isinstance(event, ResponseProtocolError) and self._can_be_sent_again()):
            yield from super().handle_protocol_error(event)
            return
        self._was_sent_again = True
        if (yield from self.make_server_connection()):
            head = RequestHeaders(self.stream_id, self.flow.request, end_stream=True)
            yield http.SendHttp(head, self.context.server)
            yield http.SendHttp(RequestEndOfMessage(self.stream_id), self.context.server)

    def _can_be_sent_again(self) -> bool:
        request = self.flow.request
        return (
            self._uses_an_old_connection
            and not self._was_sent_again
            and self.flow.response is None
            and self.client_state == self.state_done
            and request.method in SENT_AGAIN
            and not (request.raw_content or request.trailers)
        )


class _TrailerlessReader(ChunkedReader):
    """Reads a chunked body and drops its trailers."""

    def __call__(self, buffer: Any) -> Any:
        """Return the next event, or None."""
        event = super().__call__(buffer)
        return EndOfMessage() if isinstance(event, EndOfMessage) else event


class _FinalResponseClient(_http1.Http1Client):
    """Reads the responses of a server to the end, and none that is an interim one."""

    def read_headers(self, event: ConnectionEvent) -> layer.CommandGenerator[None]:
        """Take in what the server has sent of a response's head."""
        while self.request and _INTERIM.match(bytes(self.buf)) and self.buf.maybe_extract_lines():
            pass
        yield from super().read_headers(event)


class _ClosingHandler(mode_servers.ProxyConnectionHandler):
    """Carries one client's connection, and closes it when mitmproxy fails in it."""

    def log(self, message: str, level: int = logging.INFO, exc_info: Any = None) -> None:
        """Log a message, and close the connection where it reports an exception.

        mitmproxy calls this for every failure.
        """
        super().log(message, level, exc_info)
        transport = self.transports.get(self.client)
        if exc_info and transport and transport.handler:
            self.close_connection(self.client)


class _NoDescriptors(logging.Filter):
    """Makes one line a minute of asyncio's tracebacks about connections that cannot be taken."""

    _next = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record is to be logged."""
        said = record.getMessage()
        if said.startswith(_LISTENS_LATE):
            return False
        if not said.startswith("socket.accept() out of system resource"):
            return True
        if (now := time.monotonic()) < self._next:
            return False
        self._next = now + REPEATED_SECONDS
        record.msg, record.args, record.exc_info = _NO_DESCRIPTORS, None, None
        return True


_no_descriptors = _NoDescriptors()


def install() -> None:
    """Put these classes in the place of mitmproxy's own."""
    logging.getLogger("asyncio").addFilter(_no_descriptors)
    http.Http1Client = _FinalResponseClient  # type: ignore[attr-defined]
    http.HttpStream = Stream  # type: ignore[misc]
    _http1.ChunkedReader = _TrailerlessReader  # type: ignore[attr-defined]
    mode_servers.ProxyConnectionHandler = _ClosingHandler  # type: ignore[misc]
