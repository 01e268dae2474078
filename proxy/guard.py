"""Put a script into every page, the same in every condition, before the page's own.

A piece of HTML that a page's script fetches is no page: it becomes part of one that has the script. What is
the same in all pages, the observer, they load from an address of the proxy's, so that it is sent only once.
"""

import gzip
import re
from base64 import b64encode
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Final
from urllib.parse import urljoin

import brotli  # type: ignore[import-untyped]
from mitmproxy import http

from interventions.apply.engine import Receipt, page_hash
from interventions.html import charset
from interventions.html.csp import Inline, allow
from proxy import keys
from proxy.addon import (
    CSP,
    SESSION,
    content_type,
    fail,
    is_document_request,
    is_page,
    replace_body,
    whole_body,
)
from proxy.decoding import Undecodable
from proxy.session import Session

_BOM: Final = "(?:\ufeff|\u00ef\u00bb\u00bf)?"
PROLOGUE: Final = re.compile(
    _BOM + r"(?:[\t\n\f\r ]|<!--(?:-?>|[^\x1b]*?--!?>)|<\?[^>\x1b]*>|<!doctype\b[^>\x1b]*>)*", re.I
)
"""What may stand before the first element. A script after it comes first, and leaves the page in its mode.

Ends are those of the HTML standard. An escape (of ISO-2022-JP) could give other signs to what follows.
"""
_BESIDE: Final = r"(?:\s|<!--(?:(?!--)[^\x1b])*-->|<\?(?:(?!\?>)[^\x1b])*\?>)*"
_ATTRIBUTES: Final = r"""(?:[^<>"'\x1b]|"[^"<\x1b]*"|'[^'<\x1b]*')*"""
HEAD: Final = re.compile(
    rf"{_BOM}{_BESIDE}(?:<!DOCTYPE\s{_ATTRIBUTES}>{_BESIDE})?<html\b{_ATTRIBUTES}>{_BESIDE}<head\b{_ATTRIBUTES}>"
)
"""What stands before what is in the head of a page in XML; its document type has nothing of its own."""
XHTML: Final = "application/xhtml+xml"
WHOLE: Final = re.compile(rb"<(?:!doctype|html|head|body)\b", re.I)
"""What a page has that is more than a piece of one."""
LABELS: Final = {
    "cp932": "shift_jis",
    "cp949": "euc-kr",
    "cp874": "windows-874",
    "big5hkscs": "big5",
    "mac-roman": "macintosh",
    "mac-cyrillic": "x-mac-cyrillic",
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
}
"""The names of encodings for browsers, where Python's are others."""


CODINGS: Final = ("br", "gzip")
"""How the observer can be packed, the smallest first."""
KEEP: Final = {
    "content-type": "text/javascript; charset=utf-8",
    "cache-control": "public, max-age=31536000, immutable",
    "vary": "accept-encoding",
}
"""How the observer is sent: its address changes with it, so that a browser never has to ask again."""


class PageScript:
    """The mitmproxy addon that puts a script into pages; it comes after the addon that rewrites.

    `script_of(session)` is in ASCII and holds no `</script`; empty: the session's pages have none. It may
    hold a place for the session's key (`proxy.keys`). Only a page that is opened gets the key: not what a
    script fetches, nor a page in a frame, into which the page around it can reach.
    """

    def __init__(self, script_of: Callable[[Session], str]) -> None:
        self._script_of = script_of

    def request(self, flow: http.HTTPFlow) -> None:
        """Send the observer."""
        session: Session | None = flow.metadata.get(SESSION)
        if session is None or not session.observer or flow.response is not None:
            return
        if flow.request.path == _path(session.observer):
            accepted = flow.request.headers.get("accept-encoding", "")
            coding = next((each for each in CODINGS if re.search(rf"\b{each}\b(?!;q=0\b)", accepted)), "")
            flow.response = http.Response.make(200, b"", KEEP)
            replace_body(flow.response, _packed(session.observer, coding))
            if coding:
                flow.response.headers["content-encoding"] = coding

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Hold back every page."""
        session: Session | None = flow.metadata.get(SESSION)
        if session and flow.response and is_page(flow.response) and self._script_of(session):
            flow.response.stream = False

    def response(self, flow: http.HTTPFlow) -> None:
        """Put the script into a page that was held back; a page that cannot hold it is not shown."""
        session: Session | None = flow.metadata.get(SESSION)
        response = flow.response
        request = flow.request
        if session is None or response is None or not is_page(response) or not response.raw_content:
            return
        if not (script := self._script_of(session)):
            return
        opened = request.headers.get("sec-fetch-dest", "document") == "document"
        keyed = script.replace(keys.PLACE, session.key if opened else "")
        try:
            kind = content_type(response)
            body = whole_body(request, response)
            if not is_document_request(request) and not WHOLE.search(body.replace(b"\0", b"")):
                return
            codec, stated = charset.detect(body, kind)
            guarded = _with_script(keyed, session.observer, body, codec, kind)
        except (Undecodable, UnicodeError) as error:
            fail(flow, session, f"{request.url}: the page cannot be guarded: {error}")
            return
        headers = response.headers
        if stated and "charset" not in kind:  # its <meta> now stands too late to be found
            label = LABELS.get(codec, codec.replace("iso8859", "iso-8859").replace("_", "-"))
            headers["content-type"] = f"{kind.partition(';')[0]}; charset={label}"
        if policies := headers.get_all(CSP):
            reports = frozenset({"'self'"} if session.observer or session.site.drawn else ())
            loaded = {urljoin(request.url, _path(session.observer))} if session.observer else ()
            scripts = frozenset({keyed, session.observer} - {""})
            inline = Inline(scripts=scripts, loaded=frozenset(loaded), connects=reports)
            headers.set_all(CSP, [allow(policy, inline) for policy in policies])
        if keyed != script:  # another session must not be shown it
            headers["cache-control"] = "no-store"
        replace_body(response, guarded)
        if session.observer:
            ours = session.observer + script
            session.note_receipts([_receipt(ours, body, guarded, request.url, session)])


def _receipt(script: str, body: bytes, guarded: bytes, url: str, session: Session) -> Receipt:
    """The receipt of the script in a page; it is of no intervention."""
    hashes = (page_hash(script.encode()), page_hash(body, url), page_hash(guarded, url))
    return Receipt("", "observer", "page.head", "", session.product_at(url), 1, "", *hashes)


def _with_script(script: str, observer: str, body: bytes, codec: str, kind: str) -> bytes:
    """Raises Undecodable, UnicodeError."""
    loaded = f'<script src="{_path(observer)}" integrity="{_hash(observer)}"></script>' if observer else ""
    # Bytes as characters: what is not touched stays as it is, also where it is not valid.
    codec, errors = (codec, "surrogatepass") if codec.startswith("utf-16") else ("latin-1", "strict")
    page = body.decode(codec, errors)
    element = f"{loaded}<script>{script}</script>"
    if kind.startswith(XHTML):
        if (head := HEAD.match(page)) is None:
            raise Undecodable("it does not begin with html and head, as a page in XML should")
        start, element = head.end(), f"{loaded}<script><![CDATA[{script}]]></script>"
    else:
        prologue = PROLOGUE.match(page)
        start = prologue.end() if prologue else 0
    return (page[:start] + element + page[start:]).encode(codec, errors)


@lru_cache(maxsize=8)
def _packed(script: str, coding: str) -> bytes:
    body = script.encode()
    return brotli.compress(body) if coding == "br" else gzip.compress(body) if coding else body


@lru_cache(maxsize=8)
def _hash(script: str) -> str:
    """A script's hash, as integrity and policies write it."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"


def _path(script: str) -> str:
    """The address of a script at each host."""
    return f"/.souk-{sha256(_hash(script).encode()).hexdigest()[:16]}.js"
