"""Note what a subject puts into the cart, by the requests and pages that pass the proxy.

The site map says what a choice is (`choice`): a request that the shop does not refuse, a product that a page
or an answer shows in the cart, an address that is reached. What the shop says is read where the page is
shown. Of the browsers of guests nothing is known: there it is read from the pages that they are sent.
"""

import json
import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from mitmproxy import http

from interventions.apply.mapped_page import MappedPage
from interventions.apply.product_json import Document
from interventions.errors import CannotEdit
from interventions.html import charset
from interventions.html.marking import hints
from interventions.yaml.choice import CartRequest
from interventions.yaml.limited import find, match_path, one_page, search
from interventions.yaml.sitemap import SiteMap
from proxy.addon import (
    ABORTS,
    HOLD,
    MAX_DOCUMENT_BYTES,
    SESSION,
    content_type,
    is_document_request,
    is_page,
    is_treatable,
    path_of,
    whole_body,
)
from proxy.decoding import Undecodable, decode
from proxy.session import CartAddition, Session
from proxy.shown_page import ShownPage

logger = logging.getLogger(__name__)


class ChoiceWatch:
    """The mitmproxy addon that notes choices in sessions; it comes before the addon that rewrites.

    `reads_messages`: whether what the shop says is looked for in a page.
    """

    def __init__(self, *, reads_messages: Callable[[http.HTTPFlow], bool]) -> None:
        self._reads_messages = reads_messages

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        """Hold back what has to be read whole: pages, what is in the cart, and the answer to a choice."""
        session: Session | None = flow.metadata.get(SESSION)
        if session and session.cards is None and flow.response and session.site.knows_choices:
            flow.metadata[HOLD] = (
                self._may_add(flow.request, session)
                or is_page(flow.response)
                or any(data.cart or data.names_ids for data in session.site.data_at(flow.request.url))
            )

    @staticmethod
    def _may_add(request: http.Request, session: Session) -> bool:
        """Whether a request may add to the cart; `response` says so where this takes too long to find out."""
        try:
            return rule_of(request, session.site) is not None
        except CannotEdit:
            return True

    def response(self, flow: http.HTTPFlow) -> None:
        """Note a choice, and keep the pages that nobody else keeps for the ids that they hold."""
        session: Session | None = flow.metadata.get(SESSION)
        if session is None or flow.response is None or not flow.metadata.get(HOLD):
            return
        try:
            with one_page():
                self._note(flow, flow.request, flow.response, session)
        except CannotEdit as error:
            session.note_failure(f"{flow.request.url}: {error}")
        except Exception as error:  # a choice that is not noticed would be taken for none
            logger.exception("looking for a choice in %s failed", flow.request.url)
            session.note_failure(f"{flow.request.url}: {type(error).__name__}: {error}")

    def error(self, flow: http.HTTPFlow) -> None:
        """Note a choice that the shop has not answered; a client that hangs up is no error.

        The subject would have to choose once more, for no fault of its own.
        """
        session: Session | None = flow.metadata.get(SESSION)
        if session is None or session.cards is not None or flow.error is None:
            return
        if flow.error.msg.startswith(ABORTS) or not flow.client_conn.connected:
            return
        if not is_document_request(flow.request) and self._may_add(flow.request, session):
            session.note_upstream_error(f"{flow.request.url}: {flow.error.msg}")

    def _note(
        self, flow: http.HTTPFlow, request: http.Request, response: http.Response, session: Session
    ) -> None:
        if rule := rule_of(request, session.site):
            if not is_refused(request, response, rule):
                session.note_added([_asked_for(request, rule, session)])
            return
        if not 200 <= response.status_code < 300:
            return
        if is_document_request(request):
            session.reached(request.url)
        choice, kept = session.site.choice, is_treatable(flow, session)
        reads_messages = self._reads_messages(flow)
        reads = choice.cart or session.added or (reads_messages and choice.message)
        if is_page(response) and kept and not reads:
            return
        page = ShownPage(request.url, content_type(response), _readable_body(request, response), None)
        if not kept:
            session.keep(replace(page, sent=page.body, cart=None))
        if not is_page(response):
            session.note_added(in_data(page, session))
            return
        shown = [*in_cart(page, session)]
        session.note_added(shown or emptied(page, session))
        if reads_messages:
            session.note_added(_said_on(page, session))


def _asked_for(request: http.Request, rule: CartRequest, session: Session) -> CartAddition:
    """Return what a request adds: the product whose id it names, as the pages that were sent tell."""
    named = added_id(request, rule)
    if product := session.product_with(named):
        return CartAddition("request", product, named)
    at = session.product_at(request.headers.get("referer", ""))
    if named and session.ids_of(at):
        at = ""  # the page's own product has another id
    return CartAddition("request", "", named, at)


def rule_of(request: http.Request, site: SiteMap) -> CartRequest | None:
    """Return the rule by which a request adds to the cart; None where there is none.

    Raises CannotEdit where this cannot be found out.
    """
    path = path_of(request)
    for rule in site.choice.request:
        if request.method == rule.method and match_path(rule.path, path):
            known = plain(request)
            if rule.operation is None and (rule.field is None or next(values(known, rule), None)):
                return rule
            if rule.operation and next(operations(known, rule.operation), None):
                return rule
    return None


def is_refused(request: http.Request, response: http.Response, rule: CartRequest) -> bool:
    """Return whether the shop refuses to add the product."""
    if response.status_code >= 400:
        return True
    if rule.refused_to and search(rule.refused_to, response.headers.get("location", "")):
        return True
    answer = ShownPage(request.url, content_type(response), _readable_body(request, response), None)
    if rule.operation and any(each.get("errors") for each in answers(answer.body)):
        return True
    return bool(rule.refused_by and search(rule.refused_by, answer.text))


def added_id(request: http.Request, rule: CartRequest) -> str:
    """Return the id of the product that is to be put into the cart; empty when the request does not tell."""
    match = match_path(rule.path, path_of(request))
    if match and match.groups():
        return match[1] or ""
    return next(values(plain(request), rule), "")


def plain(request: http.Request) -> http.Request:
    """Return a request whose body has no content coding. Raises CannotEdit where it cannot be undone."""
    if "content-encoding" not in request.headers:
        return request
    known, coding = request.copy(), request.headers["content-encoding"]
    try:
        known.raw_content = decode(request.raw_content or b"", coding, MAX_DOCUMENT_BYTES)
    except Undecodable as error:
        raise CannotEdit(f"the request cannot be read: {error}") from None
    del known.headers["content-encoding"]
    return known


def values(request: http.Request, rule: CartRequest) -> Iterator[str]:
    """Yield what the field of a rule holds in a request, or what its pattern finds there."""
    for value in _held(request, rule):
        if rule.id_pattern is None:
            yield value
        elif match := search(rule.id_pattern, value):
            yield match[1]


def _held(request: http.Request, rule: CartRequest) -> Iterator[str]:
    if rule.field is None:
        return
    if not rule.field.startswith("$"):
        if value := fields(request).get(rule.field):
            yield value
        return
    content = request.get_content(strict=False)
    is_whole = rule.field.startswith("$[")
    asked = operations(request, rule.operation) if rule.operation else objects(content, whole=is_whole)
    for each in asked:
        for match in find(rule.field, each):
            if isinstance(match.obj, str | int) and not isinstance(match.obj, bool):
                yield str(match.obj)


def operations(request: http.Request, name: str) -> Iterator[dict[str, Any]]:
    """Yield the GraphQL operations of a request that have a name, or ask for a field of that name.

    They come as JSON, alone or in a list, or in the address ("persisted queries").
    """
    asked = list(objects(request.get_content(strict=False)))
    if not asked and request.query:
        variables: Any = next(objects((request.query.get("variables") or "").encode()), {})
        asked = [{**dict(reversed(request.query.fields)), "variables": variables}]
    field = re.compile(rf"[{{\s:]{re.escape(name)}\b\s*[({{@\s}}]")
    for each in asked:
        query = each.get("query")
        if each.get("operationName") == name or (isinstance(query, str) and field.search(query)):
            yield each


def objects(body: bytes | None, *, whole: bool = False) -> Iterator[Any]:
    """Yield the JSON object that a body is, or those of the list that it is; `whole`: the document itself."""
    try:
        data = json.loads(body or b"")
    except (ValueError, RecursionError):
        return
    several = data if isinstance(data, list) and not whole else [data]
    yield from (each for each in several if whole or isinstance(each, dict))


def answers(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of an answer, which may come in pieces (multipart, events), each on a line."""
    whole = list(objects(body))
    pieces = () if whole else body.splitlines()
    yield from (*whole, *(each for piece in pieces for each in objects(piece.removeprefix(b"data:"))))


def fields(request: http.Request) -> dict[str, str]:
    """Return the fields of the request's query, form or JSON object."""
    # Of fields with one name the first counts. `items` would parse the body anew for each field.
    found: dict[str, str] = dict(reversed(request.query.fields))
    found.update(reversed(request.urlencoded_form.fields))
    for name, value in reversed(request.multipart_form.fields):
        found[name.decode("utf-8", "replace")] = value.decode("utf-8", "replace")
    for data in objects(request.get_content(strict=False)):  # whatever type it says that it has
        found.update({name: str(value) for name, value in data.items()})
    return found


def _readable_body(request: http.Request, response: http.Response) -> bytes:
    """Return the decoded body; empty where it cannot be decoded within the limit of pages."""
    try:
        return whole_body(request, response)
    except Undecodable:
        return b""


def in_cart(page: ShownPage, session: Session) -> Iterator[CartAddition]:
    """Yield the products that a page shows in the cart."""
    site = session.site
    places = [place.css for card in site.choice.cart for place in site.role(card)]
    if not places or not any(hint in page.body for hint in hints(places)) or page.parsed is None:
        return
    view = MappedPage(page.parsed, site, session.plan.by_product, session.known)
    for key, showing in view.showings():
        if showing.group in site.choice.cart and key:
            yield CartAddition("cart", key)


def emptied(page: ShownPage, session: Session) -> Iterator[CartAddition]:
    """Yield that nothing is left of what was put into the cart, where a page of the cart shows none of it."""
    test = session.site.pages.get("cart")
    if not (session.added and test and test.css) or not any(hint in page.body for hint in hints([test.css])):
        return
    if page.parsed is None or (view := MappedPage(page.parsed, session.site)).page_type != "cart":
        return
    if not any(showing.group in ("row", *session.site.choice.cart) for _, showing in view.showings()):
        yield CartAddition("emptied")


def in_data(page: ShownPage, session: Session) -> Iterator[CartAddition]:
    """Yield the products that an answer in JSON shows in the cart."""
    rules = [data for data in session.site.data_at(page.url) if data.cart]
    try:
        document = Document(page.body.decode(charset.detect(page.body, page.content_type)[0]))
    except (CannotEdit, UnicodeError):
        return
    for data in rules:
        for key, _ in document.entries(data, page.url, query=session.site.query):
            if key:
                yield CartAddition("cart", session.known.get(key, key))


def _said_on(page: ShownPage, session: Session) -> Iterator[CartAddition]:
    """Yield what the shop says of its cart on a page."""
    for message in session.site.choice.message:
        if not any(hint in page.body for hint in hints([message.css])):
            continue
        parsed = page.parsed
        for node in parsed.find(message.css) if parsed else ():
            text = " ".join(node.text(separator=" ").split())
            if message.words.casefold() in text.casefold():
                yield CartAddition("message", named=text)
