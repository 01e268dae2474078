"""Serve a shop at the proxy's own address, for browsers that cannot be told to use a proxy.

Requests are turned to the shop's origin, so that plans, site maps, allow lists and recordings see its real
addresses. In the answers, the shop's addresses become the proxy's, so that the browser's next requests come
to the proxy as well.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from mitmproxy import http

from interventions.errors import UserError
from proxy.addon import CSP, MAX_DOCUMENT_BYTES, media_type, replace_body
from proxy.allow_list import WEB_PORTS
from proxy.decoding import Undecodable, decode

MAPPING = "souk_mapping"
ASKED = "souk_asked"
"""The metadata key for the host and port that the client asked for."""
ADDRESSES = ("location", "content-location", "refresh", "link", "access-control-allow-origin", "sourcemap")
"""Response headers that hold addresses."""
ELSEWHERE = ("alt-svc", "strict-transport-security")
"""Response headers that would lead a browser away from the proxy's port."""
ENFORCED = (CSP, "content-security-policy-report-only")
TEXT = re.compile(r"text/(?!event-stream)|application/(.+\+)?(json|xml|javascript|ecmascript)|image/svg\+xml")
"""Content types in which addresses are mapped."""
BEFORE_HOST = re.compile(rb"(?:(?P<kind>http|ws)s?:|(?<!:))(?P<slashes>(?:\\?/|\\u002f){2})\Z")
"""What stands before a host, in lower case: a scheme or none, and two slashes, also as scripts escape them.

HTTP, HTTPS and their WebSockets alike.
"""
LONGEST_BEFORE = len(rb"https:\u002f\u002f")
AUTHORITY = re.compile(r"[\w.\-]+(:\d+)?|\[[0-9a-fA-F:]+\](:\d+)?")


@dataclass(frozen=True)
class Origin:
    """The scheme, host and port of a shop."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> "Origin":
        """Return the origin of a URL. Raises UserError where it has none, or where a path follows."""
        try:
            parts = urlsplit(url)
            port = parts.port or WEB_PORTS[parts.scheme]
        except (ValueError, KeyError):
            parts, port = urlsplit(""), 0
        if not parts.hostname or parts.path not in ("", "/") or parts.query or parts.username:
            raise UserError(f"{url}: not the origin of a shop; write it like https://shop.example")
        return cls(parts.scheme, parts.hostname, port)

    @property
    def url(self) -> str:
        """The origin as a URL without path."""
        default = WEB_PORTS[self.scheme] == self.port
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if default else f":{self.port}")


@dataclass(frozen=True)
class Mapping:
    """Translates between a shop's origin and `own`, the origin under which the client reaches the proxy."""

    origin: Origin
    own: str

    def outward(self, text: bytes) -> bytes:
        """Replace the shop's addresses in a text by the proxy's.

        An address that leaves out the scheme stays without one.
        """
        scheme, _, authority = (part.encode() for part in self.own.partition("://"))
        parts, done, lower = [], 0, text.lower()
        # Hosts are rare, and found faster than what stands before them.
        for host in _hosts(self.origin).finditer(lower):
            before = BEFORE_HOST.search(lower, max(done, host.start() - LONGEST_BEFORE), host.start())
            if before:
                parts.append(text[done : before.start()])
                if kind := before["kind"]:
                    parts.append(scheme.replace(b"http", kind) + b":")
                parts += text[before.start("slashes") : before.end()], authority
                done = host.end()
        return b"".join((*parts, text[done:]))

    def header(self, value: str) -> str:
        """Return a header's value with the proxy's addresses."""
        return self.outward(value.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def policy(self, value: str) -> str:
        """Return a content security policy in which the proxy's address stands for the shop's."""
        host = self.own.partition("://")[2]

        def mapped(directive: str) -> str | None:
            name, *sources = directive.split()
            if name.lower() in ("upgrade-insecure-requests", "block-all-mixed-content"):
                return None
            words = [self.header(source) for source in sources]
            words = [host if word.lower() == self.origin.host else word for word in words]
            if "https:" in words and not self.own.startswith("https:"):
                words.append(self.own)  # the shop's own are not over HTTPS here
            return " ".join([name, *words])

        policies = []
        for policy in value.split(","):
            directives = (mapped(part) for part in policy.split(";") if part.strip())
            policies.append("; ".join(directive for directive in directives if directive))
        return ", ".join(policies)

    def cookie(self, value: str) -> str:
        """Return a Set-Cookie value for the proxy's own host, which may be reached without TLS."""
        pair, *attributes = value.split(";")
        dropped = {"domain"}
        # Names with these prefixes are refused without the attribute.
        if not self.own.startswith("https:") and not pair.lstrip().startswith(("__Secure-", "__Host-")):
            dropped |= {"secure", "partitioned", "samesite=none"}
        plain = {each: "".join(each.split()).lower() for each in attributes}
        kept = [each for each in attributes if not dropped & {plain[each], plain[each].partition("=")[0]}]
        return ";".join([pair, *kept])


class Inbound:
    """Turns requests to the shop; it comes before the addons that look at them.

    `reverse_of(flow)` is the origin that the flow's port stands for, or None where it is a usual proxy;
    `public_of(flow)` the one under which a front server brings the browser here, or None.
    """

    def __init__(
        self,
        reverse_of: Callable[[http.HTTPFlow], Origin | None],
        public_of: Callable[[http.HTTPFlow], str | None] = lambda _: None,
    ) -> None:
        self.reverse_of, self.public_of = reverse_of, public_of

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Address the request to the shop, with headers as the shop's own pages would send them."""
        origin = self.reverse_of(flow)
        if origin is None:
            return
        request = flow.request
        authority = request.authority or request.host_header or ""
        if not AUTHORITY.fullmatch(authority):
            authority = f"127.0.0.1:{flow.client_conn.sockname[1]}"
        own = f"{'https' if flow.client_conn.tls else 'http'}://{authority}"
        public = self.public_of(flow)
        mapping = Mapping(origin, public if public and authority == public.partition("://")[2] else own)
        flow.metadata[MAPPING], flow.metadata[ASKED] = mapping, (request.host, request.port)
        request.scheme, request.host, request.port = origin.scheme, origin.host, origin.port
        for name in ("origin", "referer"):
            value = request.headers.get(name)
            if value is not None and (value == mapping.own or value.startswith(f"{mapping.own}/")):
                request.headers[name] = origin.url + value[len(mapping.own) :]


class Outbound:
    """Maps the shop's addresses in answers to the client; it comes after the addons that look at them."""

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Map the addresses in headers, and hold back texts."""
        mapping: Mapping | None = flow.metadata.get(MAPPING)
        response = flow.response
        if mapping is None or response is None:
            return
        headers = response.headers
        for name in ELSEWHERE:
            headers.pop(name, None)
        for name in ADDRESSES:
            if name in headers:
                headers.set_all(name, [mapping.header(value) for value in headers.get_all(name)])
        for name in ENFORCED:
            if name in headers:
                headers.set_all(name, [mapping.policy(value) for value in headers.get_all(name)])
        if "set-cookie" in headers:
            headers.set_all("set-cookie", [mapping.cookie(value) for value in headers.get_all("set-cookie")])
        if TEXT.match(media_type(response)):
            response.stream = False
            if flow.request.method == "HEAD":
                headers.pop("content-length", None)

    def response(self, flow: http.HTTPFlow) -> None:
        """Map the addresses in a text, and remove the body from our own answers to HEAD."""
        mapping: Mapping | None = flow.metadata.get(MAPPING)
        response = flow.response
        if response is not None and flow.request.method == "HEAD" and response.raw_content:
            response.raw_content = b""
        if mapping is None or response is None or response.stream or not response.raw_content:
            return
        try:
            coding = response.headers.get("content-encoding", "")
            body = decode(response.raw_content, coding, MAX_DOCUMENT_BYTES)
        except Undecodable:
            return
        mapped = mapping.outward(body)
        if mapped != body:
            replace_body(response, mapped)


@lru_cache(maxsize=16)
def _hosts(origin: Origin) -> re.Pattern[bytes]:
    """The origin's host and port in a text in lower case."""
    host = re.escape(f"[{origin.host}]" if ":" in origin.host else origin.host)
    port = r"(?::(?:80|443))?" if WEB_PORTS[origin.scheme] == origin.port else f":{origin.port}"
    return re.compile(rf"{host}{port}(?![\w-]|\.\w|:\d)".encode())
