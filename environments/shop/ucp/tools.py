"""UCP over MCP: each operation is a tool.

Imported with the first call, because the SDK takes a second to load.
"""

import json
from functools import cache
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import McpError
from pydantic import BaseModel, ValidationError, create_model
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from environments.shop.calls import Json, ProtocolError, first_mistake
from environments.shop.ucp.answers import VERSION, UcpCall, refusal
from environments.shop.ucp.operations import UcpDesk, UcpOperation
from environments.shop.ucp.requests import CallMeta

_SERVER_ERROR = -32000


async def serve(desk: UcpDesk, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one message of a client. No session is kept: each message has a server of its own."""
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body}

    base = desk.shop.visit(Request(scope)).base
    manager = StreamableHTTPSessionManager(_server(desk, base), json_response=True, stateless=True)
    async with manager.run():
        await manager.handle_request(scope, replay, send)


def _server(desk: UcpDesk, base: str) -> "Server[Any, Any]":
    server: Server[Any, Any] = Server("souk-shop", version=VERSION)

    async def list_tools() -> list[types.Tool]:
        return [_tool(operation) for operation in desk.operations]

    async def call_tool(request: types.CallToolRequest) -> types.ServerResult:
        try:
            answer = _perform(desk, base, request.params.name, request.params.arguments or {})
        except ProtocolError as error:
            code = types.INVALID_PARAMS if error.status == 400 else _SERVER_ERROR
            raise McpError(types.ErrorData(code=code, message=str(error), data=refusal(error))) from None
        # The same twice: models read the text, programs the structure.
        text = types.TextContent(type="text", text=json.dumps(answer, ensure_ascii=False))
        return types.ServerResult(types.CallToolResult(content=[text], structuredContent=answer))

    server.list_tools()(list_tools)  # type: ignore[no-untyped-call]
    # Not by the decorator `call_tool`, which makes a result of each error of the protocol.
    server.request_handlers[types.CallToolRequest] = call_tool
    return server


def _perform(desk: UcpDesk, base: str, tool: str, arguments: Json) -> Json:
    operation = next((each for each in desk.operations if each.name == tool), None)
    if operation is None:
        raise ProtocolError(400, "invalid_request", f"unknown tool: {tool}")
    try:
        _arguments(operation).model_validate(arguments)
        meta = CallMeta.model_validate(arguments["meta"])
    except ValidationError as found:
        raise ProtocolError(400, "invalid_request", first_mistake(found)) from None
    call = UcpCall(desk.shop, base, meta.agent.profile, arguments.get("id", ""))
    return desk.perform(operation, call, arguments.get(operation.argument, {}), meta.key)


def _tool(operation: UcpOperation) -> types.Tool:
    return types.Tool(
        name=operation.name,
        description=operation.about,
        inputSchema=_arguments(operation).model_json_schema(),
        annotations=types.ToolAnnotations(readOnlyHint=operation.only_reads),
    )


@cache
def _arguments(operation: UcpOperation) -> type[BaseModel]:
    fields: dict[str, Any] = {"meta": (CallMeta, ...)}
    if operation.has_id:
        fields["id"] = (str, ...)
    if operation.argument:
        fields[operation.argument] = (operation.request, ...)
    return create_model(operation.name, **fields)
