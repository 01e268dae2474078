"""Answer only this machine's browser, and under a strict policy of content.

What changes something is taken only from the viewer's own pages.
"""

import re
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOCAL: Final = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)

HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-DNS-Prefetch-Control": "off",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


LARGEST: Final = 200_000
"""The most bytes of a form."""


class LocalOnly:
    """Middleware that refuses other hosts (a name that a stranger has pointed here), origins and methods."""

    def __init__(self, app: ASGIApp, policy: str) -> None:
        """Take the application and its Content-Security-Policy."""
        self._app, self._policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers["Content-Security-Policy"] = self._policy
            await send(message)

        refused = _refusal(scope["method"], Headers(scope=scope))
        await (refused or self._app)(scope, receive, with_headers)


def _refusal(method: str, headers: Headers) -> PlainTextResponse | None:
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not _LOCAL.fullmatch(hosts[0]):
        return PlainTextResponse("souk view answers as 127.0.0.1 and localhost only\n", 421)
    origin = headers.get("origin")
    if method == "POST":
        return _refused_change(hosts[0], headers)
    if method not in ("GET", "HEAD"):
        return PlainTextResponse("souk view knows no such method\n", 405, {"Allow": "GET, HEAD, POST"})
    if origin is not None and not _LOCAL.fullmatch(origin.partition("://")[2]):
        return PlainTextResponse("souk view answers no other site\n", 403)
    if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
        return PlainTextResponse("souk view answers no other site\n", 403)
    return None


def _refused_change(host: str, headers: Headers) -> PlainTextResponse | None:
    """Refuse what comes from no page of this very server: another port of this machine is a stranger."""
    origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
    if origins != [f"http://{host}"] or sites not in ([], ["same-origin"]):
        return PlainTextResponse("souk view takes changes from its own pages only\n", 403)
    if headers.get("content-type") != "application/x-www-form-urlencoded":
        return PlainTextResponse("souk view takes forms only\n", 415)
    length = headers.get("content-length", "")
    if not length.isdecimal() or len(length) > 9 or int(length) > LARGEST:
        return PlainTextResponse(f"souk view takes at most {LARGEST:,} bytes\n", 413)
    return None
