"""UCP over MCP: each operation is a tool.

One address serves clients of every revision of MCP; no session is kept.
"""

import json
from functools import cache, partial
from typing import Any, Final

from pydantic import BaseModel, ValidationError, create_model
from starlette.requests import Request
from starlette.responses import Response

from environments.protocol.mcp import INVALID_PARAMS, SERVER_ERROR, McpFailure, McpTools, answer_http
from environments.shop.calls import Json, ProtocolError, first_mistake
from environments.shop.ucp.answers import VERSION, UcpCall, refusal
from environments.shop.ucp.operations import UcpDesk, UcpOperation
from environments.shop.ucp.requests import CallMeta

_ABOUT: Final = {"name": "souk-shop", "version": VERSION}


async def answer_mcp(desk: UcpDesk, request: Request, body: bytes) -> Response:
    """Answer one message of a client."""
    base = desk.shop.visit(request).base
    if request.headers.get("origin", base.rstrip("/")) != base.rstrip("/"):
        return Response(status_code=403)
    server = McpTools(_ABOUT, partial(_tools, desk), partial(_call, desk, base))
    return await answer_http(server, body, request.headers)


async def _tools(desk: UcpDesk) -> list[Json]:
    return [_tool(each) for each in desk.operations]


async def _call(desk: UcpDesk, base: str, tool: str, arguments: Json) -> Json:
    try:
        answer = _perform(desk, base, tool, arguments)
    except ProtocolError as error:
        code = INVALID_PARAMS if error.status == 400 else SERVER_ERROR
        raise McpFailure(code, str(error), refusal(error)) from None
    # The same twice: models read the text, programs the structure.
    text = {"type": "text", "text": json.dumps(answer, ensure_ascii=False)}
    return {"content": [text], "structuredContent": answer, "isError": False}


def _perform(desk: UcpDesk, base: str, tool: str, arguments: Json) -> Json:
    operation = next((each for each in desk.operations if each.name == tool), None)
    if operation is None:
        raise ProtocolError(400, "invalid_request", f"unknown tool: {tool:.80}")
    try:
        _arguments(operation).model_validate(arguments)
        meta = CallMeta.model_validate(arguments["meta"])
    except ValidationError as found:
        raise ProtocolError(400, "invalid_request", first_mistake(found)) from None
    call = UcpCall(desk.shop, base, meta.agent.profile, arguments.get("id", ""))
    return desk.perform(operation, call, arguments.get(operation.argument, {}), meta.key)


@cache
def _tool(operation: UcpOperation) -> Json:
    return {
        "name": operation.name,
        "description": operation.about,
        "inputSchema": _arguments(operation).model_json_schema(),
        "annotations": {"readOnlyHint": operation.only_reads},
    }


@cache
def _arguments(operation: UcpOperation) -> type[BaseModel]:
    fields: dict[str, Any] = {"meta": (CallMeta, ...)}
    if operation.has_id:
        fields["id"] = (str, ...)
    if operation.argument:
        fields[operation.argument] = (operation.request, ...)
    return create_model(operation.name, **fields)
