"""Answer requests of MCP's revision 2026-07-28 by the tools of a server of SDK 1, which does not know it."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final

import anyio
from mcp.server.fastmcp import FastMCP
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecurityMiddleware
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage, JSONRPCNotification, JSONRPCRequest
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from environments.protocol.mcp import WITH_HANDSHAKE, Json, McpMessage, McpTools, answer_http, answer_request
from environments.shop.calls import ProtocolError, read_body
from experiments.subjects.mcp_subject import Subject

NO_ADDRESS: Final = "hosts without a session need an address each: add a query of your own, such as ?a"
CALLER: Final[ContextVar[Subject | None]] = ContextVar("CALLER", default=None)
"""The host that calls, where no session says so."""


class ModernOverHttp:
    """Answers requests of 2026-07-28; `app` answers all others.

    The revision has no sessions: `caller` returns the host that asks with a query in the server's address.
    Without a query nothing tells hosts apart, and a session is needed.
    """

    def __init__(self, app: ASGIApp, server: FastMCP[Any], caller: Callable[[str], Subject]) -> None:
        self._app, self._server, self._caller = app, server, caller
        self._tools = _tools_of(server)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        version = Headers(scope=scope).get("mcp-protocol-version") if scope["type"] == "http" else None
        if version in (None, *WITH_HANDSHAKE) or scope["path"] != self._server.settings.streamable_http_path:
            await self._app(scope, receive, send)
        else:
            answer = await self._answer(Request(scope, receive))
            await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        security = TransportSecurityMiddleware(self._server.settings.transport_security)
        if refused := await security.validate_request(request, is_post=request.method == "POST"):
            return refused
        if request.method != "POST":
            return Response(status_code=405, headers={"Allow": "POST"})
        try:
            body = await read_body(request)
        except ProtocolError as error:
            return Response(str(error), error.status)
        tools = self._tools if request.url.query else replace(self._tools, needs_session=NO_ADDRESS)
        CALLER.set(self._caller(request.url.query))
        answer = Response(status_code=503)  # for nobody: the client has gone
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_with_client, request.receive, tasks.cancel_scope)
            answer = await answer_http(tools, body, request.headers)
            tasks.cancel_scope.cancel()
        return answer


async def _cancel_with_client(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def serve_stdio(server: FastMCP[Any]) -> None:
    """Serve one host over standard input and output, by any revision, until it has gone."""
    lowlevel = server._mcp_server
    calls: dict[int | str, anyio.CancelScope] = {}
    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:

        async def answer(message: McpMessage) -> None:
            with anyio.CancelScope() as calls[message.id]:
                said, _ = await answer_request(_tools_of(server), message)
                await write.send(SessionMessage(JSONRPCMessage.model_validate(said)))
            calls.pop(message.id, None)

        older, of_older = anyio.create_memory_object_stream[SessionMessage | Exception]()
        options = lowlevel.create_initialization_options()
        tasks.start_soon(lowlevel.run, of_older, write, options)
        async for given in read:
            said = given.message.root if isinstance(given, SessionMessage) else None
            if isinstance(said, JSONRPCRequest):
                message = McpMessage(jsonrpc="2.0", method=said.method, id=said.id, params=said.params or {})
                if message.version is not None:
                    tasks.start_soon(answer, message)
                    continue
            if isinstance(said, JSONRPCNotification) and said.method == "notifications/cancelled":
                for number, call in calls.items():
                    if number == (said.params or {}).get("requestId"):
                        call.cancel()
            await older.send(given)
        tasks.cancel_scope.cancel()


def _tools_of(server: FastMCP[Any]) -> McpTools:
    async def tools() -> list[Json]:
        return [_as_json(each) for each in await server.list_tools()]

    async def call(name: str, arguments: Json) -> Json:
        try:
            content: Any = await server.call_tool(name, arguments)
        except ToolError as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        return {"content": [_as_json(each) for each in content], "isError": False}

    options = server._mcp_server.create_initialization_options()
    about = {"name": options.server_name, "version": options.server_version}
    return McpTools(about, tools, call, options.instructions or "")


def _as_json(part: BaseModel) -> Json:
    return part.model_dump(mode="json", by_alias=True, exclude_none=True)
