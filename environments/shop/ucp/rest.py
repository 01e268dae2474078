"""UCP over REST, and its discovery."""

import re
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from environments.shop.calls import LONGEST_KEY, Json, ProtocolError, read_body, read_json
from environments.shop.purchases import Purchases
from environments.shop.storefront import NO_STORE, Storefront
from environments.shop.ucp.answers import HANDLERS, VERSION, UcpCall, refusal
from environments.shop.ucp.operations import UcpDesk, UcpOperation
from environments.shop.ucp.tools import answer_mcp
from environments.shop.variants import VariantIds

_PROFILE: Final = re.compile(r'(?:^|[,;]\s*)\s*profile="([^"]{1,2048})"')
_SITE: Final = f"https://ucp.dev/{VERSION}"
_TRANSPORTS: Final = {"rest": ("ucp", "rest.openapi.json"), "mcp": ("ucp/mcp", "mcp.openrpc.json")}
"""The address and the schema of each."""
_CAPABILITIES: Final = ("catalog.search", "catalog.lookup", "cart", "checkout", "fulfillment", "order")


def ucp_routes(shop: Storefront, ids: VariantIds, purchases: Purchases) -> list[BaseRoute]:
    """Return the addresses of UCP: `/.well-known/ucp`, and all below `/ucp`."""
    desk = UcpDesk(shop, ids, purchases)

    async def discovery(request: Request) -> Response:
        base = shop.visit(request).base
        return JSONResponse(_profile(base), headers={"Cache-Control": "public, max-age=60"})

    async def mcp(request: Request) -> Response:
        try:
            body = await read_body(request)
        except ProtocolError as error:
            return _refusal(error)
        return await answer_mcp(desk, request, body)

    return [
        Route("/.well-known/ucp", discovery),
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
            if len(key) > LONGEST_KEY:
                raise ProtocolError(400, "invalid_request", "the header Idempotency-Key is too long")
            base, target = desk.shop.visit(request).base, request.path_params.get("id", "")
            call = UcpCall(desk.shop, base, platform[1], target)
            answer = desk.perform(operation, call, read_json(await read_body(request)), key)
        except ProtocolError as error:
            return _refusal(error)
        creates = operation.verb == "POST" and not operation.has_id and "id" in answer
        return JSONResponse(answer, 201 if creates else 200, NO_STORE)

    return Route("/ucp" + operation.path, endpoint, methods=[operation.verb])


def _refusal(error: ProtocolError) -> Response:
    return JSONResponse(refusal(error), error.status, NO_STORE)


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
