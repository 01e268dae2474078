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
from interventions.html.inline_script import UNDISTURBED, called, with_functions
from interventions.yaml.sitemap import SiteMap
from proxy import keys
from proxy.addon import SESSION, respond
from proxy.choices import in_cart
from proxy.error_page import NOT_TREATED
from proxy.session import Session
from proxy.shown_page import ShownPage

logger = logging.getLogger(__name__)

PATIENCE_MS: Final = 5_000
"""How long a page may lack what has to be edited, once it no longer changes at the places of the site map."""

UNCHANGED: Final[dict[str, Any]] = {"changes": [], "waits": False, "failed": False}
FAILED: Final = UNCHANGED | {"failed": True}
"""Answers to the script."""

KIND: Final = "text/html; charset=utf-8"
_DRAWN: Final = Path(__file__).with_name("drawn.js").read_text(encoding="utf-8")
_SOURCE: Final = with_functions(_DRAWN, undisturbed=UNDISTURBED)
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
            key, message = keys.split(flow.request.get_content() or b"")
            if key in ("", session.key):
                answer = edited(json.loads(message), flow.request.url, session, proves=bool(key))
            else:  # a tab that was left open by an earlier session
                answer = UNCHANGED
        except Exception as error:  # fail closed, whatever broke
            logger.exception("editing what scripts have drawn failed")
            session.note_failure(f"{flow.request.url}: {type(error).__name__}: {error}")
            answer = FAILED
        headers = {"content-type": "application/json", "cache-control": "no-store"}
        flow.response = http.Response.make(200, json.dumps(answer), headers)


def edited(sent: dict[str, Any], base: str, session: Session, *, proves: bool = True) -> dict[str, Any]:
    """Edit a page as its scripts have drawn it, and note the receipts.

    `sent` is what `drawn.js` sends: `at` and `came`, the page's address now and when it came; `html`; `late`
    and `undone`, whether the page has lacked something for long, or takes back what is edited; `spoilt`,
    whether its scripts write into what was put in; `replaced`, a function of the browser's that they have
    replaced. `proves`: whether it was surely the script that has sent it; else nothing is noted but failures.

    Returns the `changes` to be made (see `differences`); `waits`: the page lacks something yet; `failed`: it
    cannot be shown.
    """
    url, body = urljoin(base, sent["at"]), sent["html"].encode(errors="replace")
    if sent["replaced"] or sent["spoilt"]:
        done = f"replaced {sent['replaced']}" if sent["replaced"] else "written into what an edit has put in"
        session.note_failure(f"{url}: the page's scripts have {done}")
        return FAILED
    product, came, earlier = session.product_at(url), urljoin(base, sent["came"]), dict(session.earlier)
    try:
        result = rewrite(
            body,
            content_type=KIND,
            url=url,
            plan=session.plan,
            site=session.site,
            known=session.known,
            came=came,
            partly=True,
            earlier=earlier,
        )
    except EditFailed as failure:
        return lacking(failure, product, [], session, late=sent["late"])
    changes = differences(body, result.body) if result.body is not body else []
    if sent["undone"] and changes:
        session.note_failure(f"{url}: the page's scripts take back each edit")
        return FAILED
    if result.lacks:
        return lacking(result.lacks, product, changes, session, late=sent["late"])
    answer = UNCHANGED | {"changes": changes}
    if not proves:
        return answer
    for shown in (product, result.product or ""):
        (session.awaited or {}).pop(shown, None)
    cart = None if session.changing else session.changes
    made = _NUMBERS.sub(b"", result.body)
    page = ShownPage(url, KIND, made, result.product, drawn=True, cart=cart, links=result.links)
    if session.plan.treatments:
        session.note_page(page)
    else:
        session.keep(page)
    session.note_replaced(result)
    if session.note_drawn(result.receipts):
        session.note_sent(url, KIND, body, result, came, earlier)
    session.note_added(in_cart(page, session))
    if sent["at"] != sent["came"]:
        session.reached(url)
    return answer


def lacking(
    failure: EditFailed, product: str, changes: list[dict[str, Any]], session: Session, *, late: bool
) -> dict[str, Any]:
    """Answer a page that lacks something: the edits that it can have are made, but have no receipts yet."""
    if session.awaited is not None:
        session.awaited[failure.product if isinstance(failure, OtherPage) else product] = str(failure)
    # A wall may lead to the product in the end; whoever looks meanwhile is not shown what is planned.
    if late and (session.awaited is None or not isinstance(failure, OtherPage)):
        session.note_failure(str(failure))
        return FAILED
    return UNCHANGED | {"waits": True, "changes": changes}


@lru_cache(maxsize=256)
def _script(site: SiteMap, planned: frozenset[str], path: str) -> str:
    """The script; `planned` are the roles of edits, which may be selectors."""
    named = {f"{name}": site.role(name) for name in (*site.roles, *planned)}
    whole = {place.css for name in (*site.cards, "page.body") for place in site.role(name)}
    parts = {place.css for places in named.values() for place in places} - whole
    parts |= {test.css or "title" for test in site.pages.values()}
    told = {
        "key": keys.PLACE,
        "path": path,
        "parts": sorted(parts),
        "whole": sorted(whole),
        "number": NUMBER,
        "patience": PATIENCE_MS,
    }
    return called(_SOURCE, told)
