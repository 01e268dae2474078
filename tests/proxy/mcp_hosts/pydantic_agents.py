"""Pydantic AI: what its tools give to a model, which is the structure."""

import asyncio

from host_reading import ADDRESS, say, shop
from pydantic_ai.mcp import MCPToolset


async def main() -> None:
    async with MCPToolset(ADDRESS) as tools:
        read = await shop(tools.direct_call_tool)
        say("pydantic-ai-slim", tools.client.protocol_version, "structure", read)


asyncio.run(main())
