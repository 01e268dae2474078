"""MCP's own SDK 1: both channels of a result; its first releases know the text alone."""

import asyncio

from host_reading import ADDRESS, say, shop
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def main() -> None:
    async with streamablehttp_client(ADDRESS) as (read, write, _), ClientSession(read, write) as session:
        revision = str((await session.initialize()).protocolVersion)
        results = await shop(session.call_tool)
        say("mcp", revision, "text", [each.content[0].text for each in results])
        if revision >= "2025-06-18":
            say("mcp", revision, "structure", [each.structuredContent for each in results])


asyncio.run(main())
