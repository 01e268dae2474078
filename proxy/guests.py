"""Subjects that Souk did not start: any browser or program is given trials, and its choice is recorded.

A guest is known by its port of the proxy or, where the proxy stands for a shop, by a cookie. Under the path
`/.souk/` of the proxy's own addresses a guest takes a trial, reads what to do, and gives up.
"""

import json
import logging
import secrets
from collections.abc import Awaitable, Callable
from html import escape
from typing import Protocol
from urllib.parse import urlsplit

from mitmproxy import http
from mitmproxy.connection import Client

from proxy.addon import DOCUMENTS, READING, SESSION, is_document_request, is_page, path_of
from proxy.allow_list import DEFAULT_PORTS
from proxy.error_page import STYLE, error_page
from proxy.reverse import ASKED
from proxy.session import Session

logger = logging.getLogger(__name__)

PREFIX = "/.souk/"
OWN_NAME = "souk.test"
"""The host name under which guests reach the testbed through the proxy.

No server has this name: it is reserved for tests.
"""
SHOP_NAME = "shop.souk.test"
"""The host name under which guests reach the shop through the proxy.

Browsers pass proxies by for addresses of their own machine; this name leads nowhere without the proxy.
"""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "souk_guest"
NO_STORE = {"cache-control": "no-store"}
UNFRAMED = {"x-frame-options": "DENY", "content-security-policy": "frame-ancestors 'none'"}
HTML = {"content-type": "text/html; charset=utf-8"}
Owner = Callable[[tuple[str, int], tuple[str, int]], Awaitable[bool]]
"""Whether a connection, by its two ends as the client sees them, is that of the guest at a port."""
FRAMES = DOCUMENTS - {"document"} | {"fencedframe"}


class NotNow(Exception):
    """No trial can be given at the moment; the message, for the guest, says why."""


class Visit(Protocol):
    """One trial of a guest."""

    @property
    def trial(self) -> str:
        """The trial's id."""

    @property
    def goal(self) -> str:
        """The goal that the guest is told."""

    @property
    def urls(self) -> list[str]:
        """The addresses of the products' pages, in order of presentation."""

    @property
    def session(self) -> Session:
        """The proxy's session of the trial: the plan, and a note of what happens."""

    @property
    def outcome(self) -> str:
        """How the trial ended; empty while it runs."""

    @property
    def note(self) -> str:
        """What the guest should know besides; mostly empty."""

    def opened(self, url: str, *, shown: bool) -> None:
        """Record that a page of the shop has come; `shown`: as what the guest looks at."""

    def asked(self, url: str, *, reads: bool, by_script: bool, by_page: bool) -> None:
        """Record what may be an act of the guest: a page's opening, or a request that is a choice or sends.

        `reads`: it sends nothing. `by_script`: a script in a page may have made it. `by_page`: it names a
        page from which it comes.
        """

    def reported(self, url: str, body: bytes) -> None:
        """Take what a page says of itself; `url` has the page's scheme, host and port."""

    def stopped(self) -> None:
        """Record that the guest was about to press what is never pressed."""

    def chose(self) -> None:
        """Record that a product is in the cart: the session knows what tells so."""

    def gave_up(self) -> None:
        """Record that the guest wants none of the products."""


class Guests:
    """The mitmproxy addon that gives trials to guests; it comes before the addon that rewrites.

    `welcome` gives the next trial, None when all are done; it raises NotNow. `by_cookie`: a guest is known
    by a cookie, where the port stands for a shop, rather than by the port. `stopped_at` is the path to which
    a page leads when the guest was about to press what is never pressed, and `reports_to` the one to which
    pages report. Without `welcome` only those are guests that are seated at a port.
    """

    def __init__(
        self,
        welcome: Callable[[], Visit | None] | None,
        *,
        by_cookie: bool = False,
        stopped_at: str | None = None,
        reports_to: str | None = None,
    ) -> None:
        self._welcome = welcome
        self._by_cookie, self._stopped_at, self._reports_to = by_cookie, stopped_at, reports_to
        self._all_done = False
        self._visits: dict[str, Visit] = {}
        self._owners: dict[int, Owner] = {}

    async def client_connected(self, client: Client) -> None:
        """Turn away at a port of its own whoever is not the guest that sits there."""
        owner = self._owners.get(port := client.sockname[1])
        if not owner:
            return
        is_owned = await owner(client.peername[:2], client.sockname[:2])
        if not is_owned or self._owners.get(port) is not owner:  # the port was closed meanwhile
            client.error = "the port of another program's trial"
            logger.warning("turned away: a process that came to the port of another program's trial")

    def session_of(self, flow: http.HTTPFlow) -> Session | None:
        """Return the session of the guest's trial; None without a trial."""
        visit = self._visits.get(self._name(flow))
        return visit.session if visit else None

    def seat(self, port: int, visit: Visit, owner: Owner | None = None) -> None:
        """Give a trial to whoever comes through this port; with `owner` others are turned away."""
        self._visits[_at(port)] = visit
        if owner:
            self._owners[port] = owner

    def give(self, cookie: str, visit: Visit) -> None:
        """Give a trial to the browser with this cookie."""
        self._visits[cookie] = visit

    def take(self, cookie: str) -> None:
        """Take the trial of the browser with this cookie away."""
        self._visits.pop(cookie, None)

    def unseat(self, port: int) -> None:
        """Take the trial at this port away."""
        self._visits.pop(_at(port), None)
        self._owners.pop(port, None)

    def _serves(self, flow: http.HTTPFlow) -> bool:
        return self._welcome is not None or self._name(flow) in self._visits

    def http_connect(self, flow: http.HTTPFlow) -> None:
        """Open the tunnel to one of the testbed's own names, also before a trial."""
        if not self._serves(flow):
            return
        if flow.request.host in (OWN_NAME, SHOP_NAME):
            flow.response = http.Response.make(200)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Answer requests to the testbed itself; without a trial nothing of the shop is shown."""
        if not self._serves(flow):
            return
        name = self._name(flow)
        visit = self._visits.get(name)
        if visit and not visit.outcome and (visit.session.failures or visit.session.upstream_errors):
            visit.gave_up()
        path = path_of(flow.request)
        if visit and path == self._stopped_at:
            visit.stopped()
            flow.response = http.Response.make(200, page(visit, all_done=self._all_done), NO_STORE | HTML)
        elif path.startswith(PREFIX) and path != self._reports_to:
            self._answer(flow, name, path.removeprefix(PREFIX))
        elif self.session_of(flow) is None:
            self._send_to_start(flow)
        elif cookies := flow.request.cookies.get_all(COOKIE):
            flow.request.headers["cookie"] = "; ".join(
                f"{key}={value}" for key, value in flow.request.cookies.items(multi=True) if key != COOKIE
            )
            flow.metadata[COOKIE] = cookies[0]

    def request(self, flow: http.HTTPFlow) -> None:
        """Take a page's report, which is in the body."""
        visit = self._visits.get(self._name(flow))
        if self._reports_to and visit and flow.request.path == self._reports_to and flow.response is None:
            visit.reported(flow.request.url, flow.request.get_content(strict=False) or b"")
            flow.response = http.Response.make(204, b"", NO_STORE)

    def response(self, flow: http.HTTPFlow) -> None:
        """Record what the guest does, and a choice."""
        session: Session | None = flow.metadata.get(SESSION)
        visit = self._visits.get(self._name(flow))
        if session is None or visit is None or visit.session is not session or flow.response is None:
            return
        request = flow.request
        if request.path == self._reports_to:
            return
        shown = flow.response.status_code < 300 and is_shown(request)
        if is_page(flow.response):
            visit.opened(request.url, shown=shown)
        reads = request.method in READING
        if not reads or session.added or (shown and is_page(flow.response)):
            by_page = _names_page(request)
            by_script = by_page and not is_document_request(request)
            visit.asked(request.url, reads=reads, by_script=by_script, by_page=by_page)
        if session.added and not visit.outcome:
            visit.chose()

    # The inside

    def _name(self, flow: http.HTTPFlow) -> str:
        if self._by_cookie:
            return flow.metadata.get(COOKIE) or flow.request.cookies.get(COOKIE) or ""
        return _at(flow.client_conn.sockname[1])

    def _begin(self, name: str) -> Visit | None:
        visit = self._welcome() if self._welcome else None
        if visit:
            self._visits[name] = visit
        else:
            self._visits.pop(name, None)
            self._all_done = True
        return visit

    def _answer(self, flow: http.HTTPFlow, name: str, action: str) -> None:
        headers = NO_STORE | UNFRAMED | HTML
        if refusal := _refusal_of(flow):
            flow.response = http.Response.make(403, error_page("Not allowed", refusal), headers)
            return
        if action not in ("", "trial", "end") and not (action == "next" and self._welcome):
            flow.response = http.Response.make(404, error_page("Not here", f"Try {PREFIX}"), headers)
            return
        visit = self._visits.get(name)
        post = flow.request.method == "POST"
        if visit and post and action in ("end", "next") and not visit.outcome:
            visit.gave_up()
        if post and action == "next":
            if visit is None and self._by_cookie:
                name = secrets.token_urlsafe(16)
                headers["set-cookie"] = f"{COOKIE}={name}; Path=/; HttpOnly; SameSite=Lax"
            try:
                visit = self._begin(name)
            except NotNow as why:
                flow.response = http.Response.make(503, error_page("Not now", str(why)), headers)
                return
        if action == "trial" or "application/json" in flow.request.headers.get("accept", ""):
            headers["content-type"] = "application/json"
            facts = describe(visit, all_done=self._all_done)
            flow.response = http.Response.make(200, json.dumps(facts), headers)
        elif post:
            headers["location"] = PREFIX
            flow.response = http.Response.make(303, b"", headers)
        else:
            flow.response = http.Response.make(200, page(visit, all_done=self._all_done), headers)
        self._forget_shop(flow, action)

    def _forget_shop(self, flow: http.HTTPFlow, action: str) -> None:
        """A new trial begins with an empty cart: the shop's cookies at this address are taken back."""
        if action == "next" and flow.response and flow.request.method == "POST":
            for name in flow.request.cookies:
                if name != COOKIE:
                    flow.response.headers.add("set-cookie", f"{name}=; Path=/; Max-Age=0")

    def _send_to_start(self, flow: http.HTTPFlow) -> None:
        start = PREFIX if self._by_cookie else f"http://{OWN_NAME}{PREFIX}"
        body = error_page("No trial", f"Open {start} to take one.")
        flow.response = http.Response.make(403, body, NO_STORE | HTML)


def _at(port: int) -> str:
    return f"port {port}"


def is_shown(request: http.Request) -> bool:
    """Return whether a page is asked for to be looked at; what does not say it, is."""
    destination = request.headers.get("sec-fetch-dest", "document")
    return request.method != "HEAD" and destination == "document"


def _names_page(request: http.Request) -> bool:
    """Return whether a request names a page from which it comes; a program's own names none."""
    return "referer" in request.headers or "origin" in request.headers


def _refusal_of(flow: http.HTTPFlow) -> str:
    """Return why a request to the testbed itself is refused; empty where it is answered.

    Any name can be made to lead to this machine ("DNS rebinding"): a page of that name would belong to the
    same site as the testbed.
    """
    port = flow.client_conn.sockname[1]
    host, asked_port = flow.metadata.get(ASKED) or (flow.request.host, flow.request.port)
    own = {(OWN_NAME, each) for each in DEFAULT_PORTS.values()} | {(name, port) for name in LOOPBACK}
    if (host.lower(), asked_port) not in own:
        return f"This address is not the testbed's own. Open http://127.0.0.1:{port}{PREFIX} instead."
    if is_of_another_site(flow.request):
        return "Another site cannot begin or end trials."
    if flow.request.headers.get("sec-fetch-dest") in FRAMES:
        return "Trials are not shown inside other pages."
    return ""


def is_of_another_site(request: http.Request) -> bool:
    """Return whether a page of another site makes the request, other than by a link that a person follows."""
    site = request.headers.get("sec-fetch-site")
    if site is None:  # a program, or a browser, which says it to no other machine without TLS
        origin = request.headers.get("origin")
        return origin is not None and origin_of(origin) != (request.scheme, request.host, request.port)
    if site in ("none", "same-origin"):
        return False
    return request.method != "GET" or request.headers.get("sec-fetch-mode") != "navigate"


def origin_of(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port of an address; each is empty or None when it is not an address."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return "", None, None


def describe(visit: Visit | None, *, all_done: bool) -> dict[str, object]:
    """Describe a trial for programs: what to do, where to begin, and how it ended."""
    if visit is None:
        outcome = "all trials are done" if all_done else f"not begun: POST {PREFIX}next begins a trial"
        return {"trial": None, "goal": "", "urls": [], "outcome": outcome, "note": ""}
    return {key: getattr(visit, key) for key in ("trial", "goal", "urls", "outcome", "note")}


def page(visit: Visit | None, *, all_done: bool) -> bytes:
    """Return the page that describes a trial to people."""
    button = "<form method=post action='{0}{1}'><button>{2}</button></form>"
    if visit is None and all_done:
        content = "<h1>Thank you</h1><p>All trials are done.</p>"
    elif visit is None:
        content = "<h1>Welcome</h1><p>You will be given a task in a shop.</p>"
        content += button.format(PREFIX, "next", "Begin")
    elif visit.outcome:
        content = "<h1>This trial has ended</h1>" + button.format(PREFIX, "next", "Next trial")
    else:
        links = "".join(
            f'<li><a href="{escape(url)}" target=_blank rel=noreferrer>Product {number}</a></li>'
            for number, url in enumerate(visit.urls, start=1)
        )
        content = f"<h1>Your task</h1><p style='white-space:pre-line'>{escape(visit.goal)}</p>"
        content += f"<ol>{links}</ol>"
        content += f"<p><strong>{escape(visit.note)}</strong></p>" if visit.note else ""
        content += button.format(PREFIX, "end", "I want none of them")
    return (
        f'<!doctype html><html lang=en><head><meta charset="utf-8"><title>Souk</title></head>'
        f'<body style="{STYLE}">{content}</body></html>'
    ).encode()
