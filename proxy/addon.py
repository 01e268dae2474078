"""The mitmproxy addon that rewrites documents as the episode's plan says, and fails closed.

A document that should carry an edit but cannot is replaced by an error page and noted as a failure in the
session; it never reaches the agent untreated. There is one exception. Where a product's address shows another
page, such as a wall that leads to the product, and the session awaits the product's own page, this other page
is passed on. Everything that no edit can touch is streamed through.
"""

import ipaddress
import json
import logging
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeGuard

from mitmproxy import http
from mitmproxy.connection import Address
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from interventions.apply.engine import EditFailed, OtherPage, PlaceMemory, rewrite
from interventions.html.content_type import is_data, is_html, is_in_pieces, is_json, is_plain
from interventions.html.csp import allow
from proxy.allow_list import DEFAULT_PORTS
from proxy.decoding import Undecodable, decode
from proxy.error_page import NOT_RECORDED, NOT_TREATED, error_page
from proxy.hardening import TOO_LARGE
from proxy.session import Session
from proxy.shown_page import ShownPage

logger = logging.getLogger(__name__)

SESSION = "souk_session"
OWN = "/.souk"
"""How the paths begin that pages ask the proxy for, not the shop."""
CHANGES = "souk_changes"
"""The metadata key of how often the cart may have changed when the request came."""
HOLD = "souk_hold"
"""The metadata key that another addon sets when it has to see an answer as a whole."""
MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
"""Largest document (decompressed) that is rewritten; a larger one is refused when edits are planned."""

DOCUMENTS = frozenset({"document", "iframe", "frame", "embed", "object"})
VALIDATORS = ("if-none-match", "if-modified-since")
RANGES = ("range", "if-range")
OUTDATED = (
    *("content-encoding", "transfer-encoding", "etag", "last-modified", "accept-ranges"),
    *("content-md5", "digest", "content-digest", "repr-digest"),
)
"""Headers that describe the body as it came."""
CSP = "content-security-policy"
MEDIA_TYPE = re.compile(r"\s*([!#-'*+.\w^`|~-]+/[!#-'*+.\w^`|~-]+)(?=[\s;(]|$)", re.ASCII)
UNKNOWN = frozenset({"unknown/unknown", "application/unknown", "*/*"})
"""Content types that browsers treat like a missing one."""
EMPTY_PAGE = b"\n"
READING = ("GET", "HEAD")
"""Methods that change nothing at the shop. Pages may ask in this way for what comes when it comes."""
QUERY: Final = re.compile(r"(?:[\s,\ufeff]|#[^\n\r]*)*(?:query\b|fragment\b|\{)")
"""How a GraphQL document begins that holds no mutation, where that word is nowhere in it."""
MOST_HELD: Final = 4 * 1024 * 1024
"""The largest answer that is held back without being a page or JSON, in bytes."""
LISTENING: Final = b"subscriptions/listen"
"""The method of MCP (2026-07-28) whose answer has no end."""
EVENT_FIELDS: Final = (b"", b"data", b"event", b"id", b"retry")
MOST_QUERY: Final = 2**18
"""The most bytes of a request in which a GraphQL query is looked for."""
Ends = tuple[tuple[str, int], tuple[str, int]]
ASSETS = ("script", "style")
ASSET_ENDINGS = (".js", ".mjs", ".css")
"""How the paths of scripts and style sheets end, for browsers that do not say what they ask for."""
ABORTS = ("Client disconnected", "stream reset by client (CANCEL)")
"""How mitmproxy's messages begin when a client gives up a request over HTTP/1 and HTTP/2."""


class Rewriter:
    """Applies each session's plan to the documents that pass through the proxy.

    `session_of(flow)` gives the session that a request belongs to, or None when there is none.
    """

    def __init__(self, session_of: Callable[[http.HTTPFlow], Session | None]) -> None:
        self.session_of = session_of
        self._outgoing: set[Ends] = set()
        self._places = PlaceMemory()

    def server_connected(self, data: ServerConnectionHookData) -> None:
        """Remember a connection, to recognise it if it leads back to this proxy."""
        self._outgoing.add(ends(data.server.sockname, data.server.peername))

    def server_disconnected(self, data: ServerConnectionHookData) -> None:
        """Forget a connection that has ended."""
        self._outgoing.discard(ends(data.server.sockname, data.server.peername))

    def http_connect(self, flow: http.HTTPFlow) -> None:
        """Check a tunnel like a request; the requests inside it are then checked themselves."""
        self.requestheaders(flow)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Bind the flow to its session, and refuse what the session may not reach."""
        if flow.response is not None:
            return
        try:
            self._bind(flow)
        except Exception:  # mitmproxy would go on with a flow that nobody looks at
            logger.exception("%s: cannot be bound to an episode", flow.request.url)
            respond(flow, 500, "Not possible", "The proxy has failed.")

    def _bind(self, flow: http.HTTPFlow) -> None:
        if ends(flow.client_conn.peername, flow.client_conn.sockname) in self._outgoing:
            respond(flow, 403, "Host not allowed", "This address is the proxy itself.")
            return
        session = self.session_of(flow)
        request = flow.request
        if session is None:
            respond(flow, 503, "No episode", "This proxy port is not in use by an episode.")
            return
        # The flow keeps its session: a late response must never count for the next episode on this port.
        flow.metadata[SESSION] = session
        if session.allow is not None and (request.host, request.port) not in session.allow:
            explanation = f"{request.host}:{request.port} is not on the allow list of this experiment."
            respond(flow, 403, "Host not allowed", explanation)
        elif request.headers.get("service-worker") == "script":
            # A service worker could answer later requests itself, behind the proxy's back.
            respond(flow, 403, "Service workers are blocked", "They could serve pages past the proxy.")
        elif "prefetch" in request.headers.get("sec-purpose", ""):
            # Nobody has gone there, and nobody may: it must not count as seen, nor put anything into a cart.
            respond(flow, 403, "Not fetched beforehand", "The page is fetched when somebody goes there.")
        else:
            _ask_for_whole_pages(request, session)
            if request.method == "CONNECT":  # a tunnel asks the shop for nothing
                return
            if session.lent:
                session.lent.asked.add(flow.id)
            _name_its_host(request)
            if is_document_request(request) or request.method not in READING:
                session.asked[flow.id] = time.monotonic()
            if may_change(request) and not request.path.startswith(OWN):
                session.changing.add(flow.id)
                session.changes += 1
            flow.metadata[CHANGES] = session.changes

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Hold back only documents that the plan may touch; stream the rest."""
        session: Session | None = flow.metadata.get(SESSION)
        response = flow.response
        if session is None or response is None:
            return
        if session.lent:
            session.lent.note(flow.request, response)
        treated = is_treatable(flow, session)
        if not treated:
            session.asked.pop(flow.id, None)
        is_bad = response.status_code >= 500 and _makes_the_page(flow.request)
        # All trials lack alike a script that a recording does not have.
        if is_bad and (response.reason != NOT_RECORDED or is_document_request(flow.request)):
            told = f"{flow.request.url}: HTTP {response.status_code} {response.reason}"
            session.note_upstream_error(told.rstrip())
        if _is_untreatable(flow, session):
            kind = content_type(response).partition(";")[0]
            session.note_failure(f"{flow.request.url}: data that come in pieces ({kind}) cannot be edited")
        if flow.request.method == "GET" and 300 <= response.status_code < 400:
            session.redirected(flow.request.url, response.headers.get("location", ""))
        if treated:
            response.stream = False
            if flow.request.method == "HEAD":
                for name in (*OUTDATED, "content-length"):
                    response.headers.pop(name, None)
        elif flow.metadata.get(HOLD) or _may_hold_html(flow, session):
            response.stream = False
        elif _is_fetched(flow, session) and is_in_pieces(content_type(response)):
            session.keep(ShownPage(flow.request.url, content_type(response), b"", None))
            response.stream = True
        else:
            response.stream = response.stream or True

    def response(self, flow: http.HTTPFlow) -> None:
        """Rewrite a document that was held back."""
        session: Session | None = flow.metadata.get(SESSION)
        if session is None or flow.response is None:
            return
        _answered(flow, session)
        cart = session.cart_at(flow.id, flow.metadata.get(CHANGES, -1))
        try:
            if is_treatable(flow, session):
                edit = treat_events if _is_events(flow.response) else treat
                edit(flow.request, flow.response, session, self._places, cart)
            elif _may_hold_html(flow, session):
                kind, body = content_type(flow.response), whole_body(flow.request, flow.response)
                session.keep(ShownPage(flow.request.url, kind, body, None))
        except Undecodable as error:
            if not (is_page(flow.response) or session.site.loads(flow.request.url)):
                return  # no page, and nothing that the site map knows
            fail(flow, session, f"{flow.request.url}: the page cannot be rewritten: {error}")
        except EditFailed as failure:
            fail(flow, session, str(failure))
        except Exception as error:  # fail closed, whatever broke
            logger.exception("rewriting %s failed", flow.request.url)
            fail(flow, session, f"{flow.request.url}: {type(error).__name__}: {error}")

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        """Forget messages that have passed.

        mitmproxy would keep them all for as long as the connection lasts.
        """
        if flow.websocket:
            flow.websocket.messages.clear()

    def error(self, flow: http.HTTPFlow) -> None:
        """Note what the shop did not deliver and a page needs; a client that hangs up is no error."""
        session: Session | None = flow.metadata.get(SESSION)
        if session is not None:
            _answered(flow, session)
            session.answered(flow.id)
        if session is None or flow.error is None or flow.error.msg.startswith(ABORTS):
            return
        if flow.response is not None and TOO_LARGE in flow.error.msg:
            session.note_failure(f"{flow.request.url}: the page cannot be rewritten: too large")
            return
        is_data = flow.response is None and _is_data_request(flow.request)
        if flow.client_conn.connected and (is_data or _makes_the_page(flow.request)):
            session.note_upstream_error(f"{flow.request.url}: {flow.error.msg}")


def _answered(flow: http.HTTPFlow, session: Session) -> None:
    session.asked.pop(flow.id, None)
    if session.lent:
        session.lent.asked.discard(flow.id)


def treat(
    request: http.Request,
    response: http.Response,
    session: Session,
    places: PlaceMemory,
    cart: int | None = None,
) -> None:
    """Make the session's edits in an answer, and note the receipts. Raises Undecodable, EditFailed.

    `cart`: how often the cart may have changed before (see `ShownPage`).
    """
    body, totals = whole_body(request, response), session.totals_at(cart)
    earlier = {key: replace(each, names=frozenset()) for key, each in session.earlier.items()}
    try:
        result = rewrite(
            body,
            content_type=content_type(response),
            url=request.url,
            plan=session.plan,
            site=session.site,
            known=session.known,
            places=places,
            earlier=earlier,
            totals=totals,
        )
    except OtherPage as failure:
        if session.awaited is None or not is_document_request(request):
            raise
        session.awaited[failure.product] = str(failure)
        session.note_page(ShownPage(request.url, content_type(response), body, None, sent=body, cart=cart))
        response.headers["cache-control"] = "no-store"
        return
    if session.awaited and result.product:
        session.awaited.pop(result.product, None)
    shown = request.url, content_type(response), result.body, result.product
    page = ShownPage(*shown, sent=body, cart=cart, drift=result.drift, links=result.links)
    shows = result.receipts or is_page(response) or session.site.loads(request.url)
    (session.note_page if shows else session.keep)(page)
    session.note_replaced(result)
    session.note_sent(request.url, content_type(response), body, result, earlier=earlier, totals=totals)
    if any(receipt.role.startswith("row.") for receipt in result.receipts):
        session.totals = (cart, page.moved_totals(session.site))
    headers = response.headers
    if result.inline and (policies := headers.get_all(CSP)):
        headers.set_all(CSP, [allow(policy, result.inline) for policy in policies])
    if result.body is not body:
        headers["cache-control"] = "no-store"
        replace_body(response, result.body)
    session.note_receipts(result.receipts)
    if result.page_type == "data":
        session.carried()
    elif session.site.drawn:
        session.await_drawn(request.url)


def treat_events(
    request: http.Request,
    response: http.Response,
    session: Session,
    places: PlaceMemory,
    cart: int | None = None,
) -> None:
    """Make the session's edits in each message of an answer as events. Raises Undecodable, EditFailed."""
    body = whole_body(request, response)
    lines = body.splitlines(keepends=True)
    for number, line in enumerate(lines):
        name, _, value = line.partition(b":")
        if name.strip() not in EVENT_FIELDS:
            raise Undecodable("a line of it is no field of an event")
        if name == b"data" and (text := value.strip()):
            if not is_data(text):
                raise Undecodable("an event has no JSON on one line")
            message = http.Response.make(response.status_code, text, {"content-type": "application/json"})
            treat(request, message, session, places, cart)
            lines[number] = line.replace(text, message.raw_content or b"")
    if (edited := b"".join(lines)) != body:
        response.headers["cache-control"] = "no-store"
        replace_body(response, edited)


def fail(flow: http.HTTPFlow, session: Session, reason: str) -> None:
    """Replace the page by an error page and note the failure."""
    respond(flow, 502, NOT_TREATED, "The page cannot be shown. Please do not go on.")
    session.note_failure(reason)  # comes last: whoever listens may have gone


def respond(flow: http.HTTPFlow, status: int, title: str, explanation: str) -> http.Response:
    """Answer the request with an error page."""
    headers = {"content-type": "text/html; charset=utf-8", "cache-control": "no-store"}
    flow.response = http.Response.make(status, error_page(title, explanation), headers)
    return flow.response


def may_change(request: http.Request) -> bool:
    """Return whether a request may change the cart: none that only reads, and no GraphQL query."""
    if request.method in READING:
        return False
    body = request.get_content(strict=False) or b""
    if len(body) > MOST_QUERY or b"mutation" in body or b'"query"' not in body:
        return True
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        return True
    operations = sent if isinstance(sent, list) else [sent]
    asked = [each.get("query") if isinstance(each, dict) else None for each in operations]
    return not asked or not all(isinstance(query, str) and QUERY.match(query) for query in asked)


def _name_its_host(request: http.Request) -> None:
    """Send the host of the address, whatever the client's header says (RFC 9112, section 3.2.2).

    A server with several shops answers by that header; which hosts may be reached is checked by the address.
    mitmproxy's own function (`hostport`) writes no brackets around an IPv6 address.
    """
    host = f"[{request.host}]" if ":" in request.host else request.host
    named = host if DEFAULT_PORTS.get(request.scheme) == request.port else f"{host}:{request.port}"
    if request.host and request.headers.get("host", named) != named:
        request.headers["host"] = named
    if request.host and request.authority:
        request.authority = named


def _ask_for_whole_pages(request: http.Request, session: Session) -> None:
    """Remove request headers that allow an answer with part of a page, or one that cannot be decoded."""
    headers = request.headers
    # A 304 would revive a copy from before this episode.
    if headers.get("sec-fetch-dest", "empty") in DOCUMENTS | {"empty"}:
        for name in VALIDATORS:
            headers.pop(name, None)
    # Part of a page cannot be rewritten. Media that scripts load piece by piece may still be.
    if "range" in headers and (is_document_request(request) or session.site.loads(request.url)):
        for name in RANGES:
            headers.pop(name, None)
    # Without it nothing is compressed with a dictionary that only the browser has.
    headers.pop("available-dictionary", None)
    if "h2c" in headers.get("upgrade", ""):
        # An upgraded connection could not be read; the client has to be content with HTTP/1.
        for name in ("upgrade", "connection", "http2-settings"):
            headers.pop(name, None)


def whole_body(request: http.Request, response: http.Response) -> bytes:
    """Return the decoded body. Raises Undecodable, also where it is only a part of one."""
    if response.status_code == 206:
        raise Undecodable("only a part of it was delivered")
    if response.headers.get("transfer-encoding", "chunked").lower() not in ("chunked", "identity"):
        raise Undecodable("it is compressed for the transfer")
    raw = response.raw_content or b""
    body = decode(raw, response.headers.get("content-encoding", ""), MAX_DOCUMENT_BYTES)
    if not body and request.method == "GET" and response.status_code == 200 and is_page(response):
        # An empty page is a page; whether it should have shown something is not for us to say.
        return EMPTY_PAGE
    return body


def replace_body(response: http.Response, body: bytes) -> None:
    """Replace the body by another one, without content coding."""
    for name in OUTDATED:
        response.headers.pop(name, None)
    response.headers["content-length"] = str(len(body))
    response.raw_content = body


def path_of(request: http.Request) -> str:
    """Return the path of a request, without its query. Any text may stand there, also what is no URL."""
    return re.split(r"[?#]", request.path, maxsplit=1)[0]


def is_document_request(request: http.Request) -> bool:
    """Return whether a tab or a frame navigates, rather than a page making its own request."""
    destination = request.headers.get("sec-fetch-dest")
    if destination is not None:
        return destination in DOCUMENTS
    # Browsers leave the header out on plain HTTP; then only navigations, and libraries that say so, ask for
    # HTML by name.
    return "text/html" in request.headers.get("accept", "") and "x-requested-with" not in request.headers


def _makes_the_page(request: http.Request) -> bool:
    """Return whether a document is asked for, or a script or style sheet, without which it is another one."""
    destination = request.headers.get("sec-fetch-dest")
    if is_document_request(request) or destination in ASSETS:
        return True
    return destination is None and path_of(request).endswith(ASSET_ENDINGS)


def _is_data_request(request: http.Request) -> bool:
    """Return whether a script asks for data, and not only tells something."""
    if "x-requested-with" in request.headers:
        return True
    told = (request.headers.get("sec-fetch-dest"), request.headers.get("sec-fetch-mode"))
    return told in (("empty", "cors"), ("empty", "same-origin"))


def is_planned(response: http.Response | None, session: Session) -> TypeGuard[http.Response]:
    """Return whether edits are planned and the shop has given what was asked for."""
    return response is not None and bool(session.plan.treatments) and 200 <= response.status_code < 300


def is_treatable(flow: http.HTTPFlow, session: Session) -> bool:
    """Return whether edits are planned and this is a page, or data for one, that may need some."""
    response = flow.response
    if not is_planned(response, session):
        return False
    kind = content_type(response)
    if is_page(response) or (is_json(kind) and session.site.loads(flow.request.url)):
        return True
    if _is_events(response) and session.site.loads(flow.request.url):
        # Of a request of its own (MCP): such an answer has an end.
        return flow.request.method == "POST" and LISTENING not in (
            flow.request.get_content(strict=False) or b""
        )
    return (is_json(kind) or (is_plain(kind) and is_short(response))) and _is_fetched(flow, session)


def _is_fetched(flow: http.HTTPFlow, session: Session) -> bool:
    """Return whether edits are planned and a script may put the answer into a page."""
    if not is_planned(flow.response, session) or is_document_request(flow.request):
        return False
    return bool(flow.request.headers.get("sec-fetch-dest", "empty") == "empty")


def _may_hold_html(flow: http.HTTPFlow, session: Session) -> bool:
    """Return whether a script may have fetched parts of a page in a form in which no edit is made."""
    response = flow.response
    if response is None or not _is_fetched(flow, session) or not is_short(response):
        return False
    kind = media_type(response)
    return kind.startswith("text/") or kind.endswith(("xml", "javascript"))


def is_short(response: http.Response) -> bool:
    """Return whether the answer says its length, which is small: it may be held back."""
    length = response.headers.get("content-length", "")
    return length.isdigit() and len(length) < 8 and int(length) <= MOST_HELD


def _is_untreatable(flow: http.HTTPFlow, session: Session) -> bool:
    """Return whether edits are planned, and this is data for a page that no edit can be made in."""
    response = flow.response
    in_pieces = is_planned(response, session) and is_in_pieces(content_type(response))
    return in_pieces and session.site.loads(flow.request.url) and not is_treatable(flow, session)


def _is_events(response: http.Response) -> bool:
    return media_type(response) == "text/event-stream"


def is_page(response: http.Response) -> bool:
    """Return whether a browser would show the response as a page."""
    return is_html(content_type(response))


def media_type(response: http.Response) -> str:
    """Return the content type without parameters, in lower case."""
    return content_type(response).partition(";")[0]


def content_type(response: http.Response) -> str:
    """Return the content type that a browser uses: the last valid one (Fetch, "extract a MIME type").

    Without one, this is HTML, as a browser would find by looking.
    """
    for part in reversed(response.headers.get("content-type", "").split(",")):
        match = MEDIA_TYPE.match(part)
        if match and match[1].lower() not in UNKNOWN:
            _, semicolon, parameters = part.partition(";")
            return f"{match[1].lower()}{semicolon}{parameters}"
    return "text/html"


def ends(begun: Address | None, met: Address | None) -> Ends:
    """Return what identifies a connection, seen from either side: where it begins and where it ends.

    Both are needed: a local port serves for several connections at once, to different ends.
    """
    return _plain_address(begun), _plain_address(met)


def _plain_address(address: Address | None) -> tuple[str, int]:
    """Return address and port of one end, with IPv4 written the same on every kind of socket."""
    if address is None:
        return "", 0
    host, port = address[:2]
    if ":" in host:
        mapped = ipaddress.IPv6Address(host.partition("%")[0]).ipv4_mapped
        host = str(mapped) if mapped else host
    return host, port
