"""MCP's own SDK 2: both channels of a result, in the newest revision, as it chooses, and with a handshake."""

import asyncio

from host_reading import ADDRESS, say, shop
from mcp import Client


async def main() -> None:
    for mode in ("2026-07-28", "auto", "legacy"):
        async with Client(ADDRESS, mode=mode) as client:
            assert len((await client.list_tools()).tools) == 13
            results = await shop(client.call_tool)
            say("mcp", client.protocol_version, "text", [each.content[0].text for each in results])
            say("mcp", client.protocol_version, "structure", [each.structured_content for each in results])


asyncio.run(main())
