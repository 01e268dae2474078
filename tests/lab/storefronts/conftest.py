from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext

from environments.browser.pool import run_browsers
from proxy.server import Proxy, Slot, run_proxy


@pytest.hookimpl(tryfirst=True)  # before the marks are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give all tests of a shop to one worker: a shop has one database, for one server."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            given = getattr(item, "callspec", None)
            shop = (given.params if given else {}).get("name", item.path.stem.removeprefix("test_"))
            item.add_marker(pytest.mark.xdist_group(shop))


@pytest.fixture(scope="module")
async def proxy(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Proxy]:
    ca_dir: Path = tmp_path_factory.mktemp("ca")
    async with run_proxy(ca_dir) as proxy:
        yield proxy


@pytest.fixture
async def slot(proxy: Proxy) -> Slot:
    return await proxy.open_slot()


@pytest.fixture
async def context(slot: Slot, proxy: Proxy) -> AsyncIterator[BrowserContext]:
    """A fresh browser context whose traffic goes through the slot."""
    async with run_browsers(proxy.spki) as pool, pool.context(slot.url) as context:
        yield context
