"""Ask choice cards: show them in place of pages, or have them put into pages, and take the answers."""

import logging
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from mitmproxy import http

from interventions.apply.engine import Receipt
from interventions.cards.page import ANSWER_PATH, CONTENT_TYPE, render_page, thanks_page
from proxy.addon import SESSION, fail, is_document_request, path_of, respond
from proxy.card_run import CardRun as CardRun  # noqa: PLC0414 - part of what others use
from proxy.guests import NO_STORE, is_of_another_site, origin_of
from proxy.session import Session
from proxy.shown_page import ShownPage

logger = logging.getLogger(__name__)

MAX_FORM_BYTES: Final = 16 * 1024
HEADERS: Final = NO_STORE | {
    "content-type": CONTENT_TYPE,
    "content-security-policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; base-uri 'none'"
    ),
}


class CardsAddon:
    """The mitmproxy addon that shows cards and takes answers.

    It answers when a request is complete: by then the rewriter has bound the request to a session. It has to
    come before an addon that records what goes to the shop.
    """

    def request(self, flow: http.HTTPFlow) -> None:
        """Answer a request that concerns the session's cards."""
        session: Session | None = flow.metadata.get(SESSION)
        if session is None or session.cards is None or flow.response is not None:
            return
        try:
            _answer(flow, session, session.cards)
        except Exception as error:  # fail closed, whatever broke
            logger.exception("the card for %s failed", flow.request.url)
            fail(flow, session, f"{flow.request.url}: {type(error).__name__}: {error}")
        if flow.response is not None:
            # Nothing is to be rewritten in it.
            del flow.metadata[SESSION]


def _answer(flow: http.HTTPFlow, session: Session, run: CardRun) -> None:
    request = flow.request
    if path_of(request) == ANSWER_PATH:
        _take(flow, run)
    elif request.method == "GET" and is_document_request(request) and (run.done or not run.plans):
        _show(flow, session, run)
    elif not run.plans:
        flow.response = http.Response.make(404 if request.method in ("GET", "HEAD") else 405, b"", NO_STORE)
    if run.plans and not run.done:
        session.plan = run.plan


def _show(flow: http.HTTPFlow, session: Session, run: CardRun) -> None:
    """The current card's page, or the last page."""
    if run.done:
        body = thanks_page()
    else:
        card = run.cards[run.current]
        body = render_page(card, action=ANSWER_PATH, number=run.current, problem=run.problem)
        after = card.question if len(card.question) <= 200 else card.question[:199] + "…"
        digest = sha256(body).hexdigest()[:32]
        receipt = Receipt(card.id, "card", "page.body", "card", "", 1, "", after, "", digest)
        session.note_receipts([receipt])
    flow.response = http.Response.make(200, body, HEADERS)
    session.note_page(ShownPage(flow.request.url, CONTENT_TYPE, body, None))


def _take(flow: http.HTTPFlow, run: CardRun) -> None:
    """Take an answer, and send the client back to the page where it was asked."""
    request = flow.request
    if request.method != "POST":
        respond(flow, 405, "Not possible", "Answers are posted to this address.")
    elif is_of_another_site(request):
        respond(flow, 403, "Not allowed", "Another site cannot answer.")
    elif len(request.raw_content or b"") > MAX_FORM_BYTES:
        respond(flow, 413, "Not possible", "The answer is too long.")
    else:
        form = request.urlencoded_form
        number = form.get("card", "")
        if not (number.isascii() and number.isdigit() and len(number) < 10 and "answer" in form):
            respond(flow, 400, "Not possible", "This is no answer to a card.")
            return
        run.answer(int(number), form["answer"])
        flow.response = http.Response.make(303, b"", NO_STORE | {"location": _page_before(request)})


def _page_before(request: http.Request) -> str:
    """The path of the page that posted; never another host."""
    referrer = request.headers.get("referer", "")
    if origin_of(referrer) != (request.scheme, request.host, request.port):
        return "/"
    parts = urlsplit(referrer)
    path: str = "/" + parts.path.lstrip("/\\")
    return path + (f"?{parts.query}" if parts.query else "")
