"""A browser for each module, and a context of it for each test."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import BrowserContext

from environments.browser.pool import BrowserPool, run_browsers


@pytest.fixture(scope="module")
async def browsers() -> AsyncIterator[BrowserPool]:
    async with run_browsers() as pool:
        yield pool


@pytest.fixture
async def context(browsers: BrowserPool) -> AsyncIterator[BrowserContext]:
    async with browsers.context(None) as context:
        yield context
