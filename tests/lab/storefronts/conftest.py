from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from proxy.server import Proxy, run_proxy


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
