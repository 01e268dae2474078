from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from proxy.server import Proxy, Slot, run_proxy


@pytest.fixture(scope="package")
def ca_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One authority for all tests: its key takes long to make."""
    return tmp_path_factory.mktemp("ca")


@pytest.fixture(scope="module")
async def proxy(ca_dir: Path) -> AsyncIterator[Proxy]:
    async with run_proxy(ca_dir) as proxy:
        yield proxy


@pytest.fixture
async def slot(proxy: Proxy) -> Slot:
    return await proxy.open_slot()


@pytest.fixture
async def client(slot: Slot) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(proxy=slot.url, trust_env=False) as client:
        yield client
