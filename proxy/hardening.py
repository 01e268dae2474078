"""Changes to mitmproxy that it has no option for, and that a proxy before real sites needs.

Its classes are extended in place.

* `body_size_limit` refuses by the announced length, before an addon can say that a body is only passed
  through. Here it counts what is really held: pages that may be rewritten, and what a client sends.
* Trailers of a chunked body are an error to mitmproxy. They are dropped, as any intermediary may
  (RFC 9110, section 6.5.1).
* A connection in which mitmproxy has failed is closed; it would stay open without ever being answered.
"""

import logging
from typing import Any, Final

from h11 import EndOfMessage
from h11._readers import ChunkedReader
from mitmproxy.proxy import layer, mode_servers
from mitmproxy.proxy.layers import http
from mitmproxy.proxy.layers.http import _http1

BODY_SIZE_LIMIT: Final = "64m"
TOO_LARGE: Final = "body exceeds mitmproxy's body_size_limit"
"""The text of mitmproxy's message about a body over the limit."""


class BoundedStream(http.HttpStream):
    """Carries one request and its answer; an answer of any length may pass."""

    def check_body_size(self, request: bool) -> layer.CommandGenerator[bool]:
        """Return whether the exchange was ended because of a body's size."""
        if request or self.response_body_buf:
            return (yield from super().check_body_size(request))
        return False


class TrailerlessReader(ChunkedReader):
    """Reads a chunked body and drops its trailers."""

    def __call__(self, buffer: Any) -> Any:
        """Return the next event, or None."""
        event = super().__call__(buffer)
        return EndOfMessage() if isinstance(event, EndOfMessage) else event


class ClosingHandler(mode_servers.ProxyConnectionHandler):
    """Carries one client's connection, and closes it when mitmproxy fails in it."""

    def log(self, message: str, level: int = logging.INFO, exc_info: Any = None) -> None:
        """Log a message, and close the connection where it reports an exception.

        mitmproxy calls this for every failure.
        """
        super().log(message, level, exc_info)
        transport = self.transports.get(self.client)
        if exc_info and transport and transport.handler:
            self.close_connection(self.client)


def install() -> None:
    """Put these classes in the place of mitmproxy's own."""
    http.HttpStream = BoundedStream  # type: ignore[misc]
    _http1.ChunkedReader = TrailerlessReader  # type: ignore[attr-defined]
    mode_servers.ProxyConnectionHandler = ClosingHandler  # type: ignore[misc]
