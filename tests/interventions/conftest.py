"""The browser in which rewritten pages are looked at."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import sync_playwright

from environments.browser.pool import find_browser


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    """A tab of a real Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(playwright))
        yield browser.new_page()
        browser.close()
