"""Make edits in pages that scripts draw: a script in the page sends what was drawn and makes the changes.

The page as drawn is edited like any page (`interventions.apply.engine`), with the same receipts. The script
only makes what differs, before anybody can look. It sends to a secret path at the shop's own address.
"""

import json
import logging
import re
import secrets
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

from mitmproxy import http

from interventions.apply.engine import EditFailed, OtherPage, rewrite
from interventions.html.differences import NUMBER, differences
from interventions.html.inline_script import called
from interventions.yaml.sitemap import SiteMap
from proxy.addon import SESSION, respond
from proxy.error_page import NOT_TREATED
from proxy.session import Session, ShownPage

logger = logging.getLogger(__name__)

PATIENCE_MS: Final = 5_000
"""How long a page may lack what has to be edited, once it no longer changes at the places of the site map."""

KIND: Final = "text/html; charset=utf-8"
_SOURCE: Final = Path(__file__).with_name("drawn.js").read_text(encoding="utf-8")
_NUMBERS: Final = re.compile(rb' %b="\d+"' % NUMBER.encode())


class Drawing:
    """The mitmproxy addon that answers the scripts; it comes before the addons that look at requests."""

    def __init__(self) -> None:
        self._path = f"/.souk-{secrets.token_hex(8)}"

    def script_of(self, session: Session) -> str:
        """Return the script for the pages of a session; empty where no scripts draw them."""
        if not session.site.drawn or session.cards is not None:
            return ""
        return _script(session.site, session.plan.roles, self._path)

    def request(self, flow: http.HTTPFlow) -> None:
        """Answer a page's script, or show the error page to which it leads."""
        session: Session | None = flow.metadata.get(SESSION)
        if session is None or flow.response is not None or flow.request.path != self._path:
            return
        if flow.request.method != "POST":
            respond(flow, 502, NOT_TREATED, "The page cannot be shown. Please do not go on.")
            return
        try:
            answer = edited(json.loads(flow.request.get_content() or b""), flow.request.url, session)
        except Exception as error:  # fail closed, whatever broke
            logger.exception("editing what scripts have drawn failed")
            session.note_failure(f"{flow.request.url}: {type(error).__name__}: {error}")
            answer = {"failed": True}
        headers = {"content-type": "application/json", "cache-control": "no-store"}
        flow.response = http.Response.make(200, json.dumps(answer), headers)


def edited(sent: dict[str, Any], base: str, session: Session) -> dict[str, Any]:
    """Edit a page as its scripts have drawn it, and note the receipts.

    `sent` is what `drawn.js` sends: `at` and `came`, the page's address now and when it came; `html`; `late`
    and `undone`, whether the page has lacked something for long, or takes back what is edited. Returns the
    `changes` to be made (see `differences`); `waits`: the page lacks something yet; `failed`: for too long.
    """
    url, body = urljoin(base, sent["at"]), sent["html"].encode(errors="replace")
    product = session.product_at(url)
    try:
        result = rewrite(
            body,
            content_type=KIND,
            url=url,
            plan=session.plan,
            site=session.site,
            known=session.known,
            came=urljoin(base, sent["came"]),
        )
    except EditFailed as failure:
        if session.awaited is not None:
            session.awaited[failure.product if isinstance(failure, OtherPage) else product] = str(failure)
        # A wall may lead to the product in the end; whoever looks meanwhile is not shown what is planned.
        if sent["late"] and (session.awaited is None or not isinstance(failure, OtherPage)):
            session.note_failure(str(failure))
            return {"failed": True}
        return {"waits": True, "changes": []}
    if sent["undone"]:
        session.note_failure(f"{url}: the page's scripts take back each edit")
        return {"failed": True}
    for shown in (product, result.product or ""):
        (session.awaited or {}).pop(shown, None)
    page = ShownPage(url, KIND, _NUMBERS.sub(b"", result.body), result.product, drawn=True)
    if session.plan.treatments:
        session.note_page(page)
    else:
        session.keep(page)
    session.note_drawn(result.receipts)
    return {"changes": differences(body, result.body) if result.receipts else []}


@lru_cache(maxsize=256)
def _script(site: SiteMap, planned: frozenset[str], path: str) -> str:
    """The script; `planned` are the roles of edits, which may be selectors."""
    named = {f"{name}": site.role(name) for name in (*site.roles, *planned)}
    whole = {place.css for name in (*site.cards, "page.body") for place in site.role(name)}
    parts = {place.css for places in named.values() for place in places} - whole
    parts |= {test.css or "title" for test in site.pages.values()}
    told = {
        "path": path,
        "parts": sorted(parts),
        "whole": sorted(whole),
        "number": NUMBER,
        "patience": PATIENCE_MS,
    }
    return called(_SOURCE, told)
