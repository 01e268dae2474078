"""The examples of docs/interfaces.md, as they stand, with the shop of the tests."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Final

import httpx
import pytest

PAGE: Final = (Path(__file__).parents[3] / "docs/interfaces.md").read_text(encoding="utf-8")
EXAMPLES: Final = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
async def test_the_examples_buy_and_search(base: str) -> None:
    said = []
    for example in EXAMPLES:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", example, base), stdout=asyncio.subprocess.PIPE
        )
        said.append((await process.communicate())[0].decode())
        assert process.returncode == 0
    *bought, found = said[0], said[2], said[1]
    assert all(re.fullmatch(r"completed \d{9} \[.*'total'.*\]\n", each) for each in bought)
    assert len(re.findall(r"^\d+ \S.+$", found, re.MULTILINE)) == 10


@pytest.mark.slow
async def test_without_the_package_mcp_the_shop_offers_rest_alone() -> None:
    program = (
        "import sys; sys.path[:] = [p for p in sys.path if p]; sys.path.insert(0, '.');"
        "from importlib.machinery import PathFinder;"
        "real = PathFinder.find_spec;"
        "PathFinder.find_spec = classmethod(lambda c, n, *a: None if n == 'mcp' else real(n, *a));"
        "from environments.shop.server import main; main([])"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, cwd=Path(__file__).parents[3], stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        base = (await process.stdout.readline()).decode().split()[-1]
        async with httpx.AsyncClient(base_url=base) as client:
            profile = (await client.get(".well-known/ucp")).json()["ucp"]
            assert [each["transport"] for each in profile["services"]["dev.ucp.shopping"]] == ["rest"]
            assert (await client.post("ucp/mcp", json={})).status_code == 404
    finally:
        process.terminate()
        await process.wait()
