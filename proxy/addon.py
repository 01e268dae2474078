"""The mitmproxy addon: rewrites documents as the episode's plan says, and fails closed.

A document that should carry an edit but cannot is replaced by an error page and noted as a failure in the
session; it never reaches the agent untreated. Everything that no edit can touch is streamed through.
"""

import logging
from collections.abc import Callable

from mitmproxy import http

from interventions.engine import EditFailed, rewrite
from proxy.error_page import NOT_TREATED, error_page
from proxy.session import Session

logger = logging.getLogger(__name__)

SESSION = "souk_session"
MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
"""Largest document (decompressed) that is rewritten; a larger one is refused when edits are planned."""

DOCUMENTS = frozenset({"document", "iframe", "frame", "embed", "object"})
LOOPBACK = frozenset({"127.0.0.1", "localhost", "0.0.0.0", "::1"})  # noqa: S104 - nothing is bound
VALIDATORS = ("if-none-match", "if-modified-since")
OUTDATED = (
    *("content-encoding", "transfer-encoding", "etag", "last-modified"),
    *("content-md5", "digest", "content-digest", "repr-digest"),
)
"""Headers that describe the body as it came."""
ABORTS = ("Client disconnected", "stream reset by client (CANCEL)")
"""How mitmproxy's messages begin when a client gives up a request over HTTP/1 and HTTP/2."""


class Rewriter:
    """Applies each session's plan to the documents that pass through its port.

    `session_of(port)` gives the session bound to a listening port, or None between episodes.
    """

    def __init__(self, session_of: Callable[[int], Session | None]) -> None:
        self.session_of = session_of

    def http_connect(self, flow: http.HTTPFlow) -> None:
        self.requestheaders(flow)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Bind the flow to the session of its port, and refuse what the session may not reach."""
        session = self.session_of(flow.client_conn.sockname[1])
        request = flow.request
        if session is None:
            respond(flow, 503, "No episode", "This proxy port is not in use by an episode.")
            return
        # The flow keeps its session: a late response must never count for the next episode on this port.
        flow.metadata[SESSION] = session
        if session.allow is not None and (request.host, request.port) not in session.allow:
            explanation = f"{request.host}:{request.port} is not on the allow list of this experiment."
            respond(flow, 403, "Host not allowed", explanation)
        elif request.host in LOOPBACK and self.session_of(request.port) is not None:
            respond(flow, 403, "Host not allowed", "This address is the proxy itself.")
        elif request.headers.get("service-worker") == "script":
            # A service worker could answer later requests itself, behind the proxy's back.
            respond(flow, 403, "Service workers are blocked", "They could serve pages past the proxy.")
        else:
            # A 304 would revive a copy from before this episode, and part of a page cannot be rewritten.
            if request.headers.get("sec-fetch-dest", "empty") in DOCUMENTS | {"empty"}:
                for name in VALIDATORS:
                    request.headers.pop(name, None)
            if is_document_request(request):
                request.headers.pop("range", None)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Hold back only documents that the plan may touch; stream the rest."""
        session: Session | None = flow.metadata.get(SESSION)
        response = flow.response
        if session is None or response is None:
            return
        if response.status_code >= 500 and is_document_request(flow.request):
            session.broke(f"{flow.request.url}: HTTP {response.status_code}")
        if not is_treatable(response, session):
            response.stream = True

    def response(self, flow: http.HTTPFlow) -> None:
        """Rewrite a held document."""
        session: Session | None = flow.metadata.get(SESSION)
        response = flow.response
        if session is None or response is None or not is_treatable(response, session):
            return
        url = flow.request.url
        try:
            body = response.get_content(strict=True) or b""
            if len(body) > MAX_DOCUMENT_BYTES:
                fail(flow, session, f"{url}: the page is too large to be rewritten")
                return
            result = rewrite(
                body,
                content_type=content_type(response),
                url=url,
                plan=session.plan,
                site=session.site,
            )
        except EditFailed as failure:
            fail(flow, session, str(failure))
            return
        except Exception as error:  # fail closed, whatever broke
            logger.exception("rewriting %s failed", url)
            fail(flow, session, f"{url}: {type(error).__name__}: {error}")
            return
        if result.body is body:
            return
        session.received(result.receipts)
        headers = response.headers
        for name in OUTDATED:
            headers.pop(name, None)
        headers["cache-control"] = "no-store"
        headers["content-length"] = str(len(result.body))
        response.raw_content = result.body

    def error(self, flow: http.HTTPFlow) -> None:
        """Note documents that the shop did not deliver; the client's own hanging up is no error."""
        session: Session | None = flow.metadata.get(SESSION)
        if session is None or flow.error is None or flow.error.msg.startswith(ABORTS):
            return
        if flow.client_conn.connected and is_document_request(flow.request):
            session.broke(f"{flow.request.url}: {flow.error.msg}")


def fail(flow: http.HTTPFlow, session: Session, reason: str) -> None:
    """Replace the page by an error page and note the failure."""
    session.failed(reason)
    respond(flow, 502, NOT_TREATED, "The page cannot be shown. Please do not go on.")


def respond(flow: http.HTTPFlow, status: int, title: str, explanation: str) -> None:
    """Answer the request with an error page."""
    headers = {"content-type": "text/html; charset=utf-8", "cache-control": "no-store"}
    flow.response = http.Response.make(status, error_page(title, explanation), headers)


def is_document_request(request: http.Request) -> bool:
    """Whether this is the navigation of a tab or a frame rather than a page's own request."""
    destination = request.headers.get("sec-fetch-dest")
    if destination is not None:
        return destination in DOCUMENTS
    # Browsers leave the header out on plain HTTP; then only navigations ask for HTML by name.
    return "text/html" in request.headers.get("accept", "")


def is_treatable(response: http.Response, session: Session) -> bool:
    """Whether edits are planned and this is a page that may need one."""
    kind = content_type(response).partition(";")[0].strip().lower()
    is_html = kind in ("text/html", "application/xhtml+xml")
    return bool(session.plan.treatments) and is_html and 200 <= response.status_code < 300


def content_type(response: http.Response) -> str:
    """The type that a browser goes by: the last one given; HTML, as it would sniff, where there is none."""
    return response.headers.get("content-type", "").rpartition(",")[2].strip() or "text/html"
