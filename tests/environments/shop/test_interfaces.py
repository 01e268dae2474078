"""The examples of docs/interfaces.md, as they stand, with the shop of the tests."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Final

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
