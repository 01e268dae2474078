"""Note what is ordered, and what the forms of the checkout say of lines that edits have added.

The shop knows nothing of these lines. Their fields are taken out of what is sent to it, and a form with no
other fields is answered here: it leads back to its page. The session's plan says from then on how they are,
and what is shown next follows from the plan and the page alone.
"""

from mitmproxy import http

from interventions.errors import CannotEdit
from interventions.yaml.limited import match_path, one_page
from proxy.addon import (
    SESSION,
    content_type,
    is_document_request,
    is_page,
    path_of,
    whole_body,
)
from proxy.decoding import Undecodable
from proxy.session import Session
from proxy.shown_page import ShownPage


class OrderWatch:
    """The mitmproxy addon that notes orders in sessions; it comes after the addon that rewrites."""

    def request(self, flow: http.HTTPFlow) -> None:
        """Take the fields of edits out of a form, and keep what they say."""
        session: Session | None = flow.metadata.get(SESSION)
        request = flow.request
        if session is None or flow.response is not None or request.method != "POST":
            return
        if not (fields := session.plan.fields):
            return
        form = list(request.urlencoded_form.items(multi=True))
        said = dict(form)
        if said and said.keys() <= fields:  # no form of the shop's
            session.take_form(said)
            goes_on = is_document_request(request)
            headers = {"cache-control": "no-store"} | ({"location": request.path} if goes_on else {})
            flow.response = http.Response.make(303 if goes_on else 204, b"", headers)
        elif _is_at(request, session, placed=False):
            if "urlencoded" not in request.headers.get("content-type", ""):
                what = "its form is sent in another way than application/x-www-form-urlencoded"
                session.note_failure(f"{request.url}: {what}, so what was ticked cannot be read")
                return
            session.take_form({name: said.get(name, "") for name in fields})
            request.urlencoded_form = [each for each in form if each[0] not in fields]

    def response(self, flow: http.HTTPFlow) -> None:
        """Keep the page of a placed order, as it is shown."""
        session: Session | None = flow.metadata.get(SESSION)
        response = flow.response
        if session is None or response is None or session.ended or response.status_code != 200:
            return
        asked = is_page(response) and is_document_request(flow.request)
        if asked and session.order is None and _is_at(flow.request, session, placed=True):
            try:
                body = whole_body(flow.request, response)
            except Undecodable as error:
                session.note_failure(f"{flow.request.url}: the order cannot be read: {error}")
            else:
                session.order = ShownPage(flow.request.url, content_type(response), body, None)


def _is_at(request: http.Request, session: Session, *, placed: bool) -> bool:
    """Whether a request places an order, or asks for the page of one."""
    paths = session.site.order
    if paths is None:
        return False
    try:
        with one_page():
            return match_path(paths.placed if placed else paths.place, path_of(request)) is not None
    except CannotEdit as error:
        session.note_failure(f"{request.url}: {error}")
        return False
