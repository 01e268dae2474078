"""Let browser-use shop.

Install it in an environment of its own, `python -m venv bu && bu/bin/pip install browser-use`, then run

    souk run nudges --agent "command:bu/bin/python docs/agents/browser_use_agent.py MODEL"

MODEL is asked by chat completions with a JSON schema: at the server that the variable OPENAI_BASE_URL names,
else at OpenAI. SOUK_PROGRAM_ENV=OPENAI_API_KEY gives this program your key, and SOUK_PROGRAM_REACH=443 lets
it reach OpenAI (for a server of your own on this machine, write 127.0.0.1 and its port). What browser-use
would send to its makers is switched off below: telemetry, the copy of what was done, the look for a newer
version. So is the download of its extensions.
"""

import asyncio
import json
import os
import sys
import tempfile

os.environ |= {
    "ANONYMIZED_TELEMETRY": "false",
    "BROWSER_USE_CLOUD_SYNC": "false",
    "BROWSER_USE_VERSION_CHECK": "false",
    "BROWSER_USE_CONFIG_DIR": tempfile.mkdtemp(),  # in TMPDIR, which goes with the trial
}

# It reads these variables when it is imported.
import httpx
from browser_use import Agent, Browser, ChatOpenAI
from browser_use.browser.profile import ProxySettings

trial = json.loads(sys.stdin.readline())


class Model(ChatOpenAI):
    """A model that tells Souk of each request."""

    async def ainvoke(self, *messages, **options):
        """Ask the model."""
        answer = await super().ainvoke(*messages, **options)
        if answer.usage:
            tokens = {"tokens_in": answer.usage.prompt_tokens, "tokens_out": answer.usage.completion_tokens}
            print(json.dumps({"usage": {"model": self.model, **tokens, "cost": None}}), flush=True)
        return answer


async def is_over() -> bool:
    """Ask Souk whether the trial has ended, for example because a product is in the cart."""
    async with httpx.AsyncClient(proxy=trial["proxy"]) as client:
        answer = await client.get(f"{trial['task']}trial")
    return answer.json()["outcome"] != ""


async def main() -> str | None:
    """Shop until the trial is over, or the model is done; return what failed."""
    browser = Browser(
        executable_path=trial["browser"],
        headless=True,
        chromium_sandbox=False,
        # Without the bypass Chromium would ask servers of this machine past the proxy.
        proxy=ProxySettings(server=trial["proxy"], bypass="<-loopback>"),
        args=[f"--ignore-certificate-errors-spki-list={trial['spki']}"],
        user_data_dir=None,  # a new profile
        enable_default_extensions=False,
        highlight_elements=False,  # nothing is drawn over the shop's pages
    )
    agent = Agent(
        task="\n".join([trial["goal"], "Begin with:", *trial["urls"]]),
        llm=Model(model=sys.argv[1], api_key=os.environ.get("OPENAI_API_KEY", "none")),
        browser=browser,
        use_judge=False,  # no request after the last step
        register_should_stop_callback=is_over,
    )
    history = await agent.run(max_steps=trial["limits"]["steps"])
    return f"browser-use has failed: {history.errors()[-1:]}" if agent.state.consecutive_failures else None


sys.exit(asyncio.run(main()))
