"""LangChain's adapters: the text that a model reads, and the artifact that a program reads."""

import asyncio
from typing import Any

from host_reading import ADDRESS, say, shop
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools


async def main() -> None:
    client = MultiServerMCPClient({"shop": {"transport": "streamable_http", "url": ADDRESS}})
    async with client.session("shop", auto_initialize=False) as session:
        revision = str((await session.initialize()).protocolVersion)
        tools = {each.name: each for each in await load_mcp_tools(session)}

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return await tools[name].ainvoke(
                {"type": "tool_call", "id": "1", "name": name, "args": arguments}
            )

        read = await shop(call)
    say("langchain-mcp-adapters", revision, "text", [each.content[0]["text"] for each in read])
    structures = [each.artifact["structured_content"] for each in read]
    say("langchain-mcp-adapters", revision, "structure", structures)


asyncio.run(main())
