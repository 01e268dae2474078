"""Messages of MCP to a server of tools, in every revision.

Revisions up to 2025-11-25 begin with a handshake (`initialize`). In 2026-07-28 each request is complete in
itself. Messages are JSON-RPC 2.0. MCP's SDK cannot read them all for every Python: SDK 1 does not know
2026-07-28; SDK 2 needs h11 0.16, but mitmproxy for Python 3.11 needs one up to 0.14.
"""

import base64
import binascii
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response

Json = dict[str, Any]

MODERN: Final = "2026-07-28"
WITH_HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
INVALID_PARAMS: Final = -32602
SERVER_ERROR: Final = -32000
_PARSE_ERROR, _INVALID_REQUEST, _NO_METHOD = -32700, -32600, -32601
_HEADER_MISMATCH, _OTHER_VERSION = -32020, -32022
_STATUS: Final = {_NO_METHOD: 404, SERVER_ERROR: 200}
"""The status of HTTP where it is not 400; with a handshake it is 200 for each request that could be read."""
_CAPABILITIES: Final = {"tools": {"listChanged": False}}
_META: Final = "io.modelcontextprotocol/"
_ENCODED: Final = ("=?base64?", "?=")
"""What stands around a name in a header that is not plain ASCII."""
_NO_CACHE: Final = {"ttlMs": 0, "cacheScope": "private"}
_NO_STORE: Final = {"Cache-Control": "no-store"}


class McpFailure(Exception):
    """A message that has no result."""

    def __init__(self, code: int, message: str, data: Json | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.form = {"code": code, "message": message} | ({"data": data} if data else {})


class McpMessage(BaseModel):
    """A request, or without `id` a notification."""

    model_config = ConfigDict(strict=True, extra="ignore")
    jsonrpc: Literal["2.0"]
    method: str
    id: int | str = ""
    params: Json = {}

    @property
    def meta(self) -> Json:
        """What a request says of itself."""
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}

    @property
    def version(self) -> object:
        """The revision that a request names; None with a handshake."""
        return self.meta.get(f"{_META}protocolVersion")


@dataclass(frozen=True)
class McpTools:
    """A server of tools: its name and version, its tools, and what returns the result of a call.

    `call` is given a tool's name and arguments. It raises McpFailure where there is no result.
    """

    about: Json
    tools: Callable[[], Awaitable[list[Json]]]
    call: Callable[[str, Json], Awaitable[Json]]
    instructions: str = ""
    needs_session: str = ""
    """Why a request without a session is refused; empty: it is not."""


async def answer_http(server: McpTools, body: bytes, headers: Headers) -> Response:
    """Answer one message that came over HTTP."""
    try:
        message = _read(body)
    except McpFailure as failure:
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": failure.form}, 400, _NO_STORE)
    if "id" not in message.model_fields_set:
        return Response(status_code=202)
    return JSONResponse(*await answer_request(server, message, headers), _NO_STORE)


async def answer_request(
    server: McpTools, message: McpMessage, headers: Headers | None = None
) -> tuple[Json, int]:
    """Return the answer to a request, and the status of HTTP; without headers it did not come over HTTP."""
    said: Json = {"jsonrpc": "2.0", "id": message.id}
    modern = True
    try:
        modern = _is_modern(message, headers)
        if modern and server.needs_session:
            only = {"supported": [*WITH_HANDSHAKE], "requested": message.version}
            raise McpFailure(_OTHER_VERSION, server.needs_session, only)
        return said | {"result": await _result(server, message, modern)}, 200
    except McpFailure as failure:
        return said | {"error": failure.form}, _STATUS.get(failure.code, 400) if modern else 200


def _read(body: bytes) -> McpMessage:
    try:
        return McpMessage.model_validate(from_json(body, allow_inf_nan=False))
    except ValidationError as found:
        mistake = found.errors()[0]
        where = ".".join(map(str, mistake["loc"]))
        raise McpFailure(_INVALID_REQUEST, f"no message of JSON-RPC: {where}: {mistake['msg']}") from None
    except ValueError as error:
        raise McpFailure(_PARSE_ERROR, f"the body is no JSON: {error}") from None


def _is_modern(message: McpMessage, headers: Headers | None) -> bool:
    """Whether a request is of 2026-07-28. Raises McpFailure: it contradicts itself, or is of another one."""
    meta, version = message.meta, message.version
    named = None if headers is None else headers.get("mcp-protocol-version")
    if version is None and named in (None, *WITH_HANDSHAKE):
        return False
    for name in ("protocolVersion", "clientCapabilities"):
        if f"{_META}{name}" not in meta:
            raise McpFailure(INVALID_PARAMS, f"params._meta has no {_META}{name}")
    if headers is not None:
        _compare(headers, message)
    if version != MODERN:
        supported = {"supported": [MODERN, *WITH_HANDSHAKE], "requested": version}
        raise McpFailure(_OTHER_VERSION, "unsupported protocol version", supported)
    return True


def _compare(headers: Headers, message: McpMessage) -> None:
    wanted = {"mcp-protocol-version": message.version, "mcp-method": message.method}
    if message.method == "tools/call":
        wanted["mcp-name"] = message.params.get("name")
    for header, value in wanted.items():
        if [_decoded(each) for each in headers.getlist(header)] != [value]:
            told = f"the header {header} is not what the body says: {value!r:.80}"
            raise McpFailure(_HEADER_MISMATCH, told)


def _decoded(header: str) -> str | None:
    begin, end = _ENCODED
    if not (header.startswith(begin) and header.endswith(end)):
        return header
    try:
        return base64.b64decode(header.removeprefix(begin).removesuffix(end), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None


async def _result(server: McpTools, message: McpMessage, modern: bool) -> Json:
    params, own, cached = message.params, {}, {}
    if modern:
        own = {"resultType": "complete", "_meta": {f"{_META}serverInfo": server.about}}
        cached = _NO_CACHE
    match message.method, modern:
        case "tools/list", _:
            result = {"tools": await server.tools(), **cached}
        case "tools/call", _:
            name, arguments = params.get("name"), params.get("arguments") or {}
            if not isinstance(name, str) or not isinstance(arguments, dict):
                raise McpFailure(INVALID_PARAMS, "a call has the name of a tool, and an object of arguments")
            result = await server.call(name, arguments)
        case "server/discover", True:
            result = {"supportedVersions": [MODERN], "capabilities": _CAPABILITIES, **cached}
            result |= {"instructions": server.instructions} if server.instructions else {}
        case "initialize", False:
            asked = params.get("protocolVersion")
            version = asked if asked in WITH_HANDSHAKE else WITH_HANDSHAKE[0]
            return {"protocolVersion": version, "capabilities": _CAPABILITIES, "serverInfo": server.about}
        case "ping", False:
            return {}
        case _:
            raise McpFailure(_NO_METHOD, f"there is no method {message.method:.80}")
    return {**result, **own}
