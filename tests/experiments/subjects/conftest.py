"""Places for guests, and the thread of BrowserGym."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from environments.shop.server import shop as embedded_shop
from experiments.designs.loading import load_shop_design
from experiments.designs.shop.design import ShopDesign
from tests.experiments.drawn_shop import DrawnShop
from tests.experiments.subjects.guest_place import Place, PolicyShop, opened_place
from tests.support import serve

InThread = Callable[..., Awaitable[Any]]


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """A foreign shop."""
    shop = PolicyShop()
    async with (
        serve(shop.app()) as address,
        opened_place(shop, address, tmp_path_factory.mktemp("ca")) as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
async def drawn_place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """A shop that scripts draw."""
    shop = DrawnShop()
    async with (
        serve(shop.app()) as address,
        opened_place(shop, address, tmp_path_factory.mktemp("ca")) as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
async def embedded_place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """The embedded shop."""
    async with (
        embedded_shop() as address,
        opened_place(None, address, tmp_path_factory.mktemp("ca")) as opened,
    ):
        yield opened


@pytest.fixture(scope="module")
def acts(tmp_path_factory: pytest.TempPathFactory) -> ShopDesign:
    """An experiment in the embedded shop."""
    file = tmp_path_factory.mktemp("acts") / "e.yaml"
    file.write_text(
        "name: acts\ngoal: Buy.\noptions: {sets: 2}\n"
        "factors: {nudge: {interventions: nudges, only: [best-seller]}}\n"
    )
    return load_shop_design(str(file), "tester")


@pytest.fixture(scope="module")
def in_thread(browsergym_thread: ThreadPoolExecutor) -> InThread:
    """Run BrowserGym's part in its thread, while the shop goes on in this one."""

    def run(function: Callable[..., Any], *arguments: Any) -> Awaitable[Any]:
        return asyncio.get_running_loop().run_in_executor(browsergym_thread, function, *arguments)

    return run


@pytest.fixture
def db(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/t.db"
