"""UCP over REST, its discovery, and the way from a cart or checkout to the shop's pages."""

import re
from dataclasses import replace
from typing import Final

from pydantic_core import from_json
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from environments.shop.storefront import NO_STORE, Storefront
from environments.shop.ucp.answers import HANDLERS, VERSION, Json, ProtocolError, UcpCall
from environments.shop.ucp.operations import UcpDesk, UcpOperation
from environments.shop.ucp.tools import answer_mcp

_PROFILE: Final = re.compile(r'(?:^|[,;]\s*)\s*profile="([^"]{1,2048})"')
_LONGEST_KEY: Final = 255
_LARGEST_BODY: Final = 256 * 1024
"""In bytes; a cart of a hundred lines takes about ten thousand."""
_SITE: Final = f"https://ucp.dev/{VERSION}"
_TRANSPORTS: Final = {"rest": ("ucp", "rest.openapi.json"), "mcp": ("ucp/mcp", "mcp.openrpc.json")}
"""The address and the schema of each."""
_CAPABILITIES: Final = ("catalog.search", "catalog.lookup", "cart", "checkout", "fulfillment", "order")


def ucp_routes(shop: Storefront) -> list[BaseRoute]:
    """Return the addresses of UCP: `/.well-known/ucp`, and all below `/ucp`."""
    desk = UcpDesk(shop)

    async def discovery(request: Request) -> Response:
        base = shop.visit(request).base
        return JSONResponse(_profile(base), headers={"Cache-Control": "public, max-age=60"})

    async def mcp(request: Request) -> Response:
        try:
            body = await _read_body(request)
        except ProtocolError as error:
            return _refusal(error)
        return answer_mcp(desk, request, body)

    async def on_the_pages(request: Request) -> Response:
        visit = shop.visit(request)
        purchase_id = request.path_params["id"]
        session = desk.purchases.session(purchase_id)
        if session is None:
            return RedirectResponse(f"{visit.base}checkout/cart/", status_code=302)
        page = "checkout/onepage/success/" if session.order else "checkout/"
        response = RedirectResponse(f"{visit.base}{page}", status_code=302)
        form_key = shop.sessions.form_key(purchase_id)
        shop.introduce(replace(visit, visitor_id=purchase_id, form_key=form_key), response)
        return response

    return [
        Route("/.well-known/ucp", discovery),
        Route("/ucp/continue/{id}", on_the_pages),
        *(_route(desk, operation) for operation in desk.operations),
        Route("/ucp/mcp", mcp, methods=["POST"]),
    ]


def _route(desk: UcpDesk, operation: UcpOperation) -> Route:
    async def endpoint(request: Request) -> Response:
        try:
            platform = _PROFILE.search(request.headers.get("ucp-agent", ""))
            if platform is None:
                raise ProtocolError(400, "invalid_request", 'the header UCP-Agent: profile="..." is missing')
            key = request.headers.get("idempotency-key", "")
            if len(key) > _LONGEST_KEY:
                raise ProtocolError(400, "invalid_request", "the header Idempotency-Key is too long")
            base, target = desk.shop.visit(request).base, request.path_params.get("id", "")
            call = UcpCall(desk.shop, base, platform[1], target)
            answer = desk.perform(operation, call, _sent(await _read_body(request)), key)
        except ProtocolError as error:
            return _refusal(error)
        creates = operation.verb == "POST" and not operation.has_id and "id" in answer
        return JSONResponse(answer, 201 if creates else 200, NO_STORE)

    return Route("/ucp" + operation.path, endpoint, methods=[operation.verb])


def _refusal(error: ProtocolError) -> Response:
    return JSONResponse(error.form, error.status, NO_STORE)


async def _read_body(request: Request) -> bytes:
    """Return the body of a request. Raises ProtocolError: it is too large."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST_BODY:
            raise ProtocolError(413, "request_too_large", f"a request may have {_LARGEST_BODY} bytes")
    return bytes(body)


def _sent(body: bytes) -> object:
    try:
        return from_json(body, allow_inf_nan=False) if body.strip() else {}
    except ValueError as error:
        raise ProtocolError(400, "invalid_request", f"the body is no JSON: {error}") from None


def _profile(base: str) -> Json:
    """The business profile: the transports, what the shop can do, and how is paid."""
    services = []
    for name, (path, schema) in _TRANSPORTS.items():
        more = {"endpoint": base + path, "schema": f"{_SITE}/services/shopping/{schema}"}
        services.append({"version": VERSION, "transport": name} | more)
    capabilities: Json = {}
    for name in _CAPABILITIES:
        schema = f"{_SITE}/schemas/shopping/{name.replace('.', '_')}.json"
        capabilities[f"dev.ucp.shopping.{name}"] = [{"version": VERSION, "schema": schema}]
    capabilities["dev.ucp.shopping.fulfillment"][0]["extends"] = "dev.ucp.shopping.checkout"
    offered = {"capabilities": capabilities, "payment_handlers": HANDLERS}
    return {"ucp": {"version": VERSION, "services": {"dev.ucp.shopping": services}} | offered}
