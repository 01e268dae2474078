"""OpenAI's Agents SDK: what its tools give to a model, by its default and as it can be set."""

import asyncio
import json
from functools import partial
from typing import Any

from agents.mcp import MCPServerStreamableHttp, MCPUtil
from host_reading import ADDRESS, say, shop

from agents import RunContextWrapper


async def call(server: MCPServerStreamableHttp, name: str, arguments: dict[str, Any]) -> Any:
    (tool,) = (each for each in await server.list_tools() if each.name == name)
    said = await MCPUtil.invoke_mcp_tool(server, tool, RunContextWrapper(None), json.dumps(arguments))
    return said if isinstance(said, str) else said["text"]


async def main() -> None:
    for structured in (False, True):
        async with MCPServerStreamableHttp({"url": ADDRESS}, use_structured_content=structured) as server:
            read = await shop(partial(call, server))
            channel = "structure" if structured else "text"
            say("openai-agents", server.session.protocol_version, channel, read)


asyncio.run(main())
