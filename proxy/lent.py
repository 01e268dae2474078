"""What an episode leaves in a browser context that is lent to others, as far as the proxy sees it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # a run begins without it
    from mitmproxy import http

STATIC: Final = frozenset({"script", "style", "font", "image"})
FOR_ALL: Final = frozenset({"public", "max-age", "s-maxage", "immutable"})
FOR_ONE: Final = frozenset({"private", "no-store", "no-cache"})

LASTING: Final = frozenset(
    {
        *("accept-ch", "alt-svc", "nel", "report-to", "reporting-endpoints", "secure-session-registration"),
        *("strict-transport-security", "use-as-dictionary", "origin-agent-cluster", "www-authenticate"),
    }
)
"""The headers by which a shop leaves something in the browser that stays when storage is cleared."""


@dataclass(eq=False)
class Leftovers:
    """What one episode may leave in its context besides storage."""

    asked: set[str] = field(default_factory=set)
    """The requests that have no answer yet; its cookies would come after all are cleared."""
    lasts: bool = False
    """Whether an answer has left something that can't be cleared."""

    @property
    def are_there(self) -> bool:
        """Whether something is left or may still come."""
        return self.lasts or bool(self.asked)

    def note(self, request: "http.Request", response: "http.Response") -> None:
        """Note an answer, and let the browser's cache keep it only if it is a static file.

        A file loses its validators (RFC 9110, section 8.8): the next episode would send them to the shop.
        """
        # The browser remembers the answers to preflights too (Fetch, "CORS-preflight cache").
        self.lasts = self.lasts or request.method == "OPTIONS" or is_lasting(response.headers)
        if is_static(request, response):
            for name in ("etag", "last-modified"):
                response.headers.pop(name, None)
        else:
            response.headers["cache-control"] = "no-store"


def is_lasting(headers: Mapping[str, str]) -> bool:
    """Return whether a response with these headers leaves something that can't be cleared."""
    return any(name in headers for name in LASTING)


def is_static(request: "http.Request", response: "http.Response") -> bool:
    """Return whether a response is a file that looks the same to all who ask.

    Pages are drawn with it, and the shop says that a shared cache may keep it (RFC 9111, section 3).
    """
    headers = response.headers
    told = {each.strip().partition("=")[0].lower() for each in headers.get("cache-control", "").split(",")}
    return (
        request.headers.get("sec-fetch-dest") in STATIC
        and not told.isdisjoint(FOR_ALL)
        and told.isdisjoint(FOR_ONE)
        and "set-cookie" not in headers
        and not re.search(r"cookie|\*", headers.get("vary", ""), re.IGNORECASE)
    )
