"""ACP over REST: its discovery, the feed, and checkout sessions.

In the protocol the merchant pushes its feed to the agent's host. Here the shop plays the host too, and serves
the feed as it would stand there.
"""

from collections.abc import Callable
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from environments.shop.acp import sessions
from environments.shop.acp.answers import VERSION, AcpCall, refusal
from environments.shop.acp.requests import NewCheckoutSession, SessionPayment, SessionUpdate
from environments.shop.calls import (
    LONGEST_KEY,
    EmptyRequest,
    IdempotencyKeys,
    Json,
    ProtocolError,
    first_mistake,
    read_body,
    read_json,
)
from environments.shop.purchases import Purchases
from environments.shop.storefront import NO_STORE

FEED: Final = "shop"
"""The id of the one feed, the catalogue."""
_SESSIONS: Final = "/acp/checkout_sessions"
_SESSION: Final = _SESSIONS + "/{id}"
_OPERATIONS: Final[tuple[tuple[str, str, type[BaseModel], Callable[[AcpCall, Any], Json]], ...]] = (
    ("POST", _SESSIONS, NewCheckoutSession, sessions.create),
    ("GET", _SESSION, EmptyRequest, sessions.get),
    ("POST", _SESSION, SessionUpdate, sessions.update),
    ("POST", _SESSION + "/complete", SessionPayment, sessions.complete),
    ("POST", _SESSION + "/cancel", EmptyRequest, sessions.cancel),
)


def acp_routes(purchases: Purchases) -> list[BaseRoute]:
    """Return the addresses of ACP: `/.well-known/acp.json`, and all below `/acp`."""
    shop, keys = purchases.shop, IdempotencyKeys(conflict=422)

    def call(request: Request) -> AcpCall:
        owner, target = request.headers.get("authorization", ""), request.path_params.get("id", "")
        return AcpCall(purchases, shop.visit(request).base, owner, target)

    async def discovery(request: Request) -> Response:
        answer = _discovery(call(request).base, shop.catalogue.currency)
        return JSONResponse(answer, headers={"Cache-Control": "public, max-age=3600"})

    async def feed(request: Request) -> Response:
        asked = call(request)
        if asked.target != FEED:
            return _refuse(ProtocolError(404, "feed_not_found", "Feed not found", param="id"), {})
        if request.url.path.endswith("/products"):
            products = [asked.product(each) for each in shop.catalogue.products]
            return JSONResponse({"products": products}, headers=NO_STORE)
        return JSONResponse({"id": FEED}, headers=NO_STORE)

    def operation(verb: str, path: str, form: type[BaseModel], run: Callable[[AcpCall, Any], Json]) -> Route:
        async def endpoint(request: Request) -> Response:
            echoed = ((name, request.headers.get(name)) for name in ("Request-Id", "Idempotency-Key"))
            headers = {name: value for name, value in echoed if value}
            try:
                key = _key(request)
                sent = read_json(await read_body(request))
                asked, meant = _asked(form, sent), call(request)
                place = meant.owner, request.url.path, key
                answer, is_known = keys.once(place, sent, lambda: run(meant, asked))
            except ProtocolError as error:
                return _refuse(error, headers)
            replayed = {"Idempotent-Replayed": "true"} if is_known else {}
            return JSONResponse(answer, 201 if path == _SESSIONS else 200, headers | replayed | NO_STORE)

        return Route(path, endpoint, methods=[verb])

    return [
        Route("/.well-known/acp.json", discovery),
        Route("/acp/feeds/{id}", feed),
        Route("/acp/feeds/{id}/products", feed),
        *(operation(*row) for row in _OPERATIONS),
    ]


def _discovery(base: str, currency: str) -> Json:
    protocol = {"name": "acp", "version": VERSION, "supported_versions": [VERSION]}
    offered = {"services": ["checkout"], "supported_currencies": [currency.lower()]}
    return {
        "protocol": protocol,
        "api_base_url": f"{base}acp",
        "transports": ["rest"],
        "capabilities": offered,
    }


def _key(request: Request) -> str:
    """Check the headers, and return the idempotency key; only requests that change something need one."""
    version = request.headers.get("api-version")
    if version != VERSION:
        code, said = ("unsupported", f"not {version}") if version else ("missing", "which is missing")
        said = f"the header API-Version must be {VERSION}, {said}"
        raise ProtocolError(400, f"{code}_api_version", said, supported_versions=[VERSION])
    if request.method != "POST":
        return ""
    key = request.headers.get("idempotency-key", "")
    if not key:
        raise ProtocolError(400, "idempotency_key_required", "the header Idempotency-Key is missing")
    if len(key) > LONGEST_KEY:
        raise ProtocolError(400, "invalid_request", "the header Idempotency-Key is too long")
    return key


def _asked(form: type[BaseModel], sent: object) -> BaseModel:
    try:
        return form.model_validate(sent)
    except ValidationError as found:
        steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in found.errors()[0]["loc"])
        param = "".join(["$", *steps])
        raise ProtocolError(400, "invalid_request", first_mistake(found), param=param) from None


def _refuse(error: ProtocolError, headers: dict[str, str]) -> Response:
    allowed = {"Allow": "GET"} if error.status == 405 else {}
    return JSONResponse(refusal(error), error.status, headers | allowed | NO_STORE)
