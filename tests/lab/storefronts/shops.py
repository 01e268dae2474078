"""Run a storefront for the time of a `with` block; an installed one has a process of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.lab.storefronts.hard_cases import SHOPS
from tests.lab.storefronts.install import folder, python
from tests.support import serve

HERE = Path(__file__).parent
_READY = "shop ready "


@asynccontextmanager
async def running(name: str) -> AsyncIterator[str]:
    """Start any shop of the matrix; yields its base URL, with a slash."""
    async with serve(SHOPS[name].app()) if name in SHOPS else storefront(name) as url:
        yield url


@asynccontextmanager
async def storefront(name: str, *catalogue: Path) -> AsyncIterator[str]:
    """Start it on 127.0.0.1; yields its base URL, with a slash.

    Its catalogue is `catalogue.json`; oscar takes another one.
    """
    with (folder(name) / "log.txt").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            python(name), HERE / name / "serve.py", *catalogue, cwd=folder(name), stderr=log,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            line = (await process.stdout.readline()).decode().strip()
            if not line.startswith(_READY):
                raise RuntimeError(f"{name} did not start; its messages are in {log.name}")
            yield line.removeprefix(_READY)
        finally:
            process.stdin.close()
            await process.wait()
