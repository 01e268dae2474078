"""MCP's own SDK 2 buys in a trial, by each of its modes and transports."""

import asyncio
import json
import re
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

ADDRESS, FOLDER, *COMMAND = sys.argv[1:]


def at(transport: str, mode: str) -> Any:
    if transport == "http":
        return f"{ADDRESS}?a" if mode == "2026-07-28" else ADDRESS
    return stdio_client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], cwd=FOLDER))


async def buy(transport: str, mode: str) -> None:
    async with Client(at(transport, mode), mode=mode) as client:
        tools = [each.name for each in (await client.list_tools()).tools]
        page = (await client.call_tool("next_trial")).content[0].text
        tag = next(tag for tag in re.findall(r"<button[^>]*>", page) if "Add to Cart" in tag)
        bid = re.search(r'bid="(\w+)"', tag)[1]
        said = await client.call_tool("act", {"action": f"click('{bid}')"})
        ended = said.content[0].text.split(". ")[0]
        sys.stdout.write(json.dumps([transport, client.protocol_version, tools, ended]) + "\n")


async def main() -> None:
    try:
        async with Client(ADDRESS, mode="2026-07-28") as client:
            await client.list_tools()
    except* Exception as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        sys.stdout.write(json.dumps([str(error)]) + "\n")
    for transport in ("http", "stdio"):
        for mode in ("2026-07-28", "auto", "legacy"):
            await buy(transport, mode)


asyncio.run(main())
