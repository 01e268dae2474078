"""UCP over MCP: each operation is a tool.

One address serves clients of every revision of MCP: those with a handshake (`initialize`), and 2026-07-28,
where each request is complete in itself. Messages are JSON-RPC 2.0; no session is kept. MCP's SDK cannot do
this for every Python: SDK 1 does not know 2026-07-28; SDK 2 needs h11 0.16, but mitmproxy for Python 3.11
needs one up to 0.14.
"""

import base64
import binascii
import json
from functools import cache
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from environments.shop.calls import Json, ProtocolError, first_mistake
from environments.shop.storefront import NO_STORE
from environments.shop.ucp.answers import VERSION, UcpCall, refusal
from environments.shop.ucp.operations import UcpDesk, UcpOperation
from environments.shop.ucp.requests import CallMeta

MODERN: Final = "2026-07-28"
WITH_HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
_META: Final = "io.modelcontextprotocol/"
_SERVER: Final = {"name": "souk-shop", "version": VERSION}
_CAPABILITIES: Final = {"tools": {"listChanged": False}}
_ENCODED: Final = ("=?base64?", "?=")
"""What stands around a name in a header that is not plain ASCII."""
_NO_CACHE: Final = {"ttlMs": 0, "cacheScope": "private"}
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS = -32700, -32600, -32601, -32602
_SERVER_ERROR, _HEADER_MISMATCH, _OTHER_VERSION = -32000, -32020, -32022
_STATUS: Final = {_NO_METHOD: 404, _SERVER_ERROR: 200}
"""The status of HTTP where it is not 400; with a handshake it is 200 for each request that could be read."""


class _McpError(Exception):
    """A message that has no result."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.form = {"code": code, "message": message} | ({"data": data} if data else {})


class _Message(BaseModel):
    """A request, or without `id` a notification."""

    model_config = ConfigDict(strict=True, extra="ignore")
    jsonrpc: Literal["2.0"]
    method: str
    id: int | str = ""
    params: Json = {}


def answer_mcp(desk: UcpDesk, request: Request, body: bytes) -> Response:
    """Answer one message of a client."""
    headers, base = request.headers, desk.shop.visit(request).base
    if headers.get("origin", base.rstrip("/")) != base.rstrip("/"):
        return Response(status_code=403)
    said: Json = {"jsonrpc": "2.0", "id": None}
    modern = True
    try:
        message = _read(body)
        if "id" not in message.model_fields_set:
            return Response(status_code=202)
        said["id"] = message.id
        modern = _is_modern(headers, message)
        said["result"] = _result(desk, base, message, modern)
    except _McpError as error:
        said["error"] = error.form
        return JSONResponse(said, _STATUS.get(error.code, 400) if modern else 200, NO_STORE)
    return JSONResponse(said, headers=NO_STORE)


def _read(body: bytes) -> _Message:
    try:
        return _Message.model_validate(from_json(body, allow_inf_nan=False))
    except ValidationError as found:
        raise _McpError(_INVALID_REQUEST, f"no message of JSON-RPC: {first_mistake(found)}") from None
    except ValueError as error:
        raise _McpError(_PARSE_ERROR, f"the body is no JSON: {error}") from None


def _is_modern(headers: Headers, message: _Message) -> bool:
    """Whether a request is of 2026-07-28. Raises _McpError: it contradicts itself, or is of another one."""
    meta = message.params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    version, named = meta.get(f"{_META}protocolVersion"), headers.get("mcp-protocol-version")
    if version is None and named in (None, *WITH_HANDSHAKE):
        return False
    for name in ("protocolVersion", "clientCapabilities"):
        if f"{_META}{name}" not in meta:
            raise _McpError(_INVALID_PARAMS, f"params._meta has no {_META}{name}")
    wanted = {"mcp-protocol-version": version, "mcp-method": message.method}
    if message.method == "tools/call":
        wanted["mcp-name"] = message.params.get("name")
    for header, value in wanted.items():
        if [_decoded(each) for each in headers.getlist(header)] != [value]:
            raise _McpError(_HEADER_MISMATCH, f"the header {header} is not what the body says: {value!r:.80}")
    if version != MODERN:
        supported = {"supported": [MODERN, *WITH_HANDSHAKE], "requested": version}
        raise _McpError(_OTHER_VERSION, "unsupported protocol version", supported)
    return True


def _decoded(header: str) -> str | None:
    begin, end = _ENCODED
    if not (header.startswith(begin) and header.endswith(end)):
        return header
    try:
        return base64.b64decode(header.removeprefix(begin).removesuffix(end), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _result(desk: UcpDesk, base: str, message: _Message, modern: bool) -> Json:
    match message.method, modern:
        case "tools/list", _:
            result: Json = {"tools": [_tool(each) for each in desk.operations]}
            result |= _NO_CACHE if modern else {}
        case "tools/call", _:
            result = _call(desk, base, message.params)
        case "server/discover", True:
            result = {"supportedVersions": [MODERN], "capabilities": _CAPABILITIES, **_NO_CACHE}
        case "initialize", False:
            asked = message.params.get("protocolVersion")
            version = asked if asked in WITH_HANDSHAKE else WITH_HANDSHAKE[0]
            return {"protocolVersion": version, "capabilities": _CAPABILITIES, "serverInfo": _SERVER}
        case "ping", False:
            return {}
        case _:
            raise _McpError(_NO_METHOD, f"there is no method {message.method:.80}")
    return result | ({"resultType": "complete", "_meta": {f"{_META}serverInfo": _SERVER}} if modern else {})


def _call(desk: UcpDesk, base: str, params: Json) -> Json:
    try:
        answer = _perform(desk, base, params.get("name"), params.get("arguments") or {})
    except ProtocolError as error:
        code = _INVALID_PARAMS if error.status == 400 else _SERVER_ERROR
        raise _McpError(code, str(error), refusal(error)) from None
    # The same twice: models read the text, programs the structure.
    text = {"type": "text", "text": json.dumps(answer, ensure_ascii=False)}
    return {"content": [text], "structuredContent": answer, "isError": False}


def _perform(desk: UcpDesk, base: str, tool: object, arguments: Any) -> Json:
    operation = next((each for each in desk.operations if each.name == tool), None)
    if operation is None:
        raise ProtocolError(400, "invalid_request", f"unknown tool: {tool!s:.80}")
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
