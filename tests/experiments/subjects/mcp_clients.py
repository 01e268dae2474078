"""Hosts of MCP, by a session of the SDK or by requests of the revision 2026-07-28, and what they call."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import CallToolResult, ImageContent, TextContent

from experiments.subjects.mcp_server import make_app
from experiments.subjects.mcp_subject import Reception
from tests.support import serve


class Caller(Protocol):
    """What calls tools, with a session or without."""

    async def call_tool(self, name: str, arguments: dict[str, Any], /) -> CallToolResult: ...


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def call(session: Caller, tool: str, **arguments: Any) -> str:
    """What a tool that works says."""
    result = await session.call_tool(tool, arguments)
    assert not result.isError, text_of(result)
    return text_of(result)


async def refused(session: Caller, tool: str, **arguments: Any) -> str:
    result = await session.call_tool(tool, arguments)
    assert result.isError, text_of(result)
    return text_of(result)


@asynccontextmanager
async def over_http(url: str) -> AsyncIterator[ClientSession]:
    async with (
        streamablehttp_client(url) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        await session.initialize()
        yield session


NEW = "2026-07-28"


def message(method: str, tool: str = "", number: int = 1, **arguments: object) -> dict[str, Any]:
    """A request of the revision 2026-07-28: what httpx needs to send it."""
    own = {"protocolVersion": NEW, "clientCapabilities": {}}
    params: dict[str, Any] = {"_meta": {f"io.modelcontextprotocol/{name}": own[name] for name in own}}
    headers = {"MCP-Protocol-Version": NEW, "Mcp-Method": method}
    if tool:
        params |= {"name": tool, "arguments": arguments}
        headers["Mcp-Name"] = tool
    said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return {"json": said, "headers": headers}


class Modern:
    """A host that sends requests of 2026-07-28 to an address, as `ClientSession` does with a session."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self.client, self.url = client, url

    async def ask(self, method: str, tool: str = "", **arguments: object) -> dict[str, Any]:
        said = await self.client.post(self.url, **message(method, tool, **arguments))
        assert said.status_code == 200, said.text
        result: dict[str, Any] = said.json()["result"]
        assert result.pop("resultType") == "complete"
        assert result.pop("_meta")["io.modelcontextprotocol/serverInfo"]["name"] == "souk"
        return result

    async def call_tool(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        return CallToolResult.model_validate(await self.ask("tools/call", tool, **arguments))


@asynccontextmanager
async def of_each_revision(reception: Reception) -> AsyncIterator[str]:
    """The address of a server of HTTP in this process."""
    app = make_app(reception)
    async with app.router.lifespan_context(app), serve(app) as url:
        yield f"{url}mcp?a"


STRANGE = [
    ("Accept-Language", "en", 200),  # the request is what a host sends
    ("Host", "shop.example", 421),
    ("Host", "127.0.0.1.shop.example:80", 421),
    ("Origin", "http://shop.example", 403),
    ("Origin", "http://127.0.0.1:80", 403),
    ("Origin", "null", 403),
]


def picture_of(result: CallToolResult) -> bytes:
    assert not result.isError, text_of(result)
    return base64.b64decode(next(block.data for block in result.content if isinstance(block, ImageContent)))
