"""Connect to a shop's tools by MCP, with the official client."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import httpx
from mcp import ClientSession, McpError, types
from mcp.client.streamable_http import streamable_http_client

from environments.interfaces.episode import TIMEOUT_S, CallTool, Json, ShopFailure
from environments.protocol.observation import ShopTool

_NO_ANSWER: Final = 408
"""The code of the client's own error where a server has not answered in time."""


@asynccontextmanager
async def connected(url: str, client: httpx.AsyncClient) -> AsyncIterator[tuple[list[ShopTool], CallTool]]:
    """Yield the tools of a shop, and a function that calls one: it returns the text, and whether it failed.

    What belongs to the host alone (`meta`) is left out of the arguments that the tools name.

    Raises:
        ShopFailure: the shop does not answer as it should.
    """
    try:
        async with (
            streamable_http_client(url, http_client=client) as (read, write, _),
            ClientSession(read, write, read_timeout_seconds=timedelta(seconds=TIMEOUT_S)) as session,
        ):
            await session.initialize()
            listed = (await session.list_tools()).tools

            async def call(name: str, arguments: Json) -> tuple[str, bool]:
                try:
                    answer = await session.call_tool(name, arguments)
                except McpError as error:
                    if error.error.code == _NO_ANSWER:
                        raise ShopFailure(f"{url}: {name}: {error}") from None
                    return str(error), True
                texts = [each.text for each in answer.content if isinstance(each, types.TextContent)]
                return "\n".join(texts), bool(answer.isError)

            yield [_tool(each) for each in listed], call
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, httpx.HTTPError | McpError | ValueError):
            raise ShopFailure(f"{url}: {type(error).__name__}: {error}") from None
        raise error from None
    except (httpx.HTTPError, McpError) as failure:
        raise ShopFailure(f"{url}: {type(failure).__name__}: {failure}") from None


def _tool(tool: types.Tool) -> ShopTool:
    schema: dict[str, Any] = dict(tool.inputSchema)
    schema["properties"] = {
        name: each for name, each in schema.get("properties", {}).items() if name != "meta"
    }
    schema["required"] = [name for name in schema.get("required", ()) if name != "meta"]
    return ShopTool(tool.name, tool.description or "", json.dumps(schema, separators=(",", ":")))
