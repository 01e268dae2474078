"""Hosts of others read the price that was planned, in each revision of MCP and channel of a result.

Each is installed into an environment of its own, and meets the shop through the proxy.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Final

import pytest

from environments.shop.catalogue import generate
from environments.shop.server import shop
from interventions.apply.plan import Plan, Treatment
from interventions.edits.registry import edit_from_dict
from interventions.yaml.sitemap import load_site_map
from proxy.allow_list import AllowList
from proxy.server import Slot
from proxy.session import Session

pytestmark = [pytest.mark.thorough, pytest.mark.slow]

SCRIPTS: Final = Path(__file__).parent / "mcp_hosts"
PRODUCT: Final = next(each for each in generate().products if each.in_stock and not each.options)
NEW, OLD = "2026-07-28", "2025-11-25"
HOSTS: Final = {
    # the script and its packages: the revisions and channels that it reads, in their order
    ("sdk_1.py", "mcp==1.9.4", "pydantic==2.11.10"): [("2025-03-26", "text")],
    ("sdk_1.py", "mcp==1.30.0"): [(OLD, "text"), (OLD, "structure")],
    ("sdk_2.py", "mcp==2.3.0"): [
        (revision, channel) for revision in (NEW, NEW, OLD) for channel in ("text", "structure")
    ],
    ("openai_agents.py", "openai-agents==0.24.0"): [(NEW, "text"), (NEW, "structure")],
    ("pydantic_agents.py", "pydantic-ai-slim[mcp]==2.68.0"): [(NEW, "structure")],
    ("langchain_agents.py", "langchain-mcp-adapters==0.3.2"): [(OLD, "text"), (OLD, "structure")],
}


async def output(*command: str | Path, **named: str) -> tuple[int | None, str]:
    """Run a program that sees nothing of Souk; return its status and what it has printed."""
    environment = {
        name: os.environ[name] for name in os.environ.keys() - {"PYTHONPATH", "NO_PROXY", "no_proxy"}
    }
    process = await asyncio.create_subprocess_exec(
        *command, env=environment | named, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await process.communicate()
    return process.returncode, printed.decode()


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host[1])
async def test_a_host_reads_what_was_planned(host: tuple[str, ...], slot: Slot, tmp_path: Path) -> None:
    python = tmp_path / "bin/python"
    await output(sys.executable, "-m", "venv", tmp_path)
    status, told = await output(python, "-m", "pip", "install", "--quiet", *host[1:])
    if status:
        pytest.skip(f"pip cannot install {', '.join(host[1:])}: {told.splitlines()[-1]}")
    treatment = Treatment("made", PRODUCT.key, (edit_from_dict({"set_price": 12.34}),))
    async with shop(interfaces=True) as base:
        slot.session = session = Session(Plan((treatment,)), load_site_map("ucp"), AllowList.of(base))
        asked = f"{base}ucp/mcp", PRODUCT.sku, PRODUCT.name
        through = {"HTTP_PROXY": slot.url, "http_proxy": slot.url}
        status, told = await output(python, SCRIPTS / host[0], *asked, **through)
    assert status == 0, told
    said = [json.loads(line) for line in told.splitlines()]
    assert [(each["revision"], each["channel"]) for each in said] == HOSTS[host]
    assert [each["prices"] for each in said] == [[1234, 1234, 2 * 1234]] * len(said)
    assert session.failures == []
    # The search and the cart, each in both channels, whichever the host reads
    assert {receipt.edit for receipt in session.receipts} == {"set_price"}
    assert {receipt.matches for receipt in session.receipts} >= {1}
