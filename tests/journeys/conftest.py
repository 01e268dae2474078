from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Page

from environments.browser.pool import run_browsers


@pytest.fixture(scope="module")
async def page() -> AsyncIterator[Page]:
    """A tab of a browser without a proxy."""
    async with run_browsers() as browsers, browsers.context(None) as context:
        yield await context.new_page()
