"""Let a model shop with @playwright/mcp, a server of tools that drive a browser.

Install `npm install --global @playwright/mcp` and `pip install openai "mcp<2"`, then run

    souk run nudges --agent "command:python docs/agents/playwright_mcp.py MODEL"

MODEL is asked by chat completions with tools: at the server that the variable OPENAI_BASE_URL names, else at
OpenAI. SOUK_PROGRAM_ENV=OPENAI_API_KEY gives this program your key, and SOUK_PROGRAM_REACH=443 lets it reach
OpenAI (for a server of your own on this machine, write 127.0.0.1 and its port).
"""

import asyncio
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import httpx
from mcp import ClientSession, StdioServerParameters, stdio_client
from openai import AsyncOpenAI, OpenAIError

# What the model may do. The server has more tools; some run scripts, or read and write files.
TOOLS = (
    "browser_navigate",
    "browser_navigate_back",
    "browser_snapshot",
    "browser_click",
    "browser_hover",
    "browser_type",
    "browser_select_option",
    "browser_press_key",
    "browser_wait_for",
)
SYSTEM = "You shop in a browser. Look at a page with browser_snapshot before you act on it, and again after."

trial = json.loads(sys.stdin.readline())
model = sys.argv[1]
folder = Path(tempfile.mkdtemp())  # in TMPDIR, which goes with the trial
settings = folder / "settings.json"
settings.write_text(
    json.dumps(
        {
            "browser": {
                "browserName": "chromium",
                "isolated": True,
                "launchOptions": {
                    "executablePath": trial["browser"],
                    "headless": True,
                    "chromiumSandbox": False,
                    "proxy": {"server": trial["proxy"]},
                    "args": [f"--ignore-certificate-errors-spki-list={trial['spki']}"],
                },
            },
            "snapshot": {"mode": "none"},  # each tool would write one to a file, which the model cannot read
        }
    )
)


async def is_over() -> bool:
    """Ask Souk whether the trial has ended, for example because a product is in the cart."""
    async with httpx.AsyncClient(proxy=trial["proxy"]) as client:
        answer = await client.get(f"{trial['task']}trial")
    return answer.json()["outcome"] != ""


async def use(browser: ClientSession, name: str, written: str) -> str:
    """Use a tool as the model has written it; return what the model is told."""
    print(json.dumps({"tool": name, "arguments": written}), flush=True)
    try:
        arguments = json.loads(written or "{}")
    except ValueError as error:
        return f"Error: the arguments are not JSON: {error}"
    if name not in TOOLS or not isinstance(arguments, dict):
        return f"Error: use one of {', '.join(TOOLS)}, with an object as arguments"
    result = await browser.call_tool(name, arguments)
    return "\n".join(part.text for part in result.content if part.type == "text")


async def shop(browser: ClientSession) -> str | None:
    """Let the model act until the trial is over, or it calls no tool; return what failed."""
    await browser.initialize()
    functions = [
        {"name": tool.name, "description": tool.description, "parameters": tool.inputSchema}
        for tool in (await browser.list_tools()).tools
        if tool.name in TOOLS
    ]
    tools = [{"type": "function", "function": function} for function in functions]
    task = "\n".join([trial["goal"], "Begin with:", *trial["urls"]])
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": task}]
    client = AsyncOpenAI(api_key=os.environ.get("OPENAI_API_KEY", "none"))
    for _ in range(trial["limits"]["steps"]):
        try:
            answer = await client.chat.completions.create(model=model, messages=messages, tools=tools)
        except OpenAIError as error:
            return f"the model's server: {error}"
        if answer.usage:
            tokens = {"tokens_in": answer.usage.prompt_tokens, "tokens_out": answer.usage.completion_tokens}
            print(json.dumps({"usage": {"model": model, **tokens, "cost": None}}), flush=True)
        message = answer.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            print(json.dumps({"said": message.content}), flush=True)
            return None
        for call in message.tool_calls:
            told = await use(browser, call.function.name, call.function.arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": told})
        if await is_over():
            return None
    return None


async def main() -> str | None:
    """Start the server, and shop."""
    program = shutil.which("playwright-mcp")
    if program is None:
        return "playwright-mcp is not there; run npm install --global @playwright/mcp"
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    environment["XDG_CACHE_HOME"] = str(folder)  # it notes there which browsers run
    server = StdioServerParameters(
        command=program, args=["--config", str(settings)], env=environment, cwd=folder
    )
    async with stdio_client(server) as (read, write), ClientSession(read, write) as browser:
        return await shop(browser)


sys.exit(asyncio.run(main()))
