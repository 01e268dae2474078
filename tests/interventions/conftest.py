"""The browser in which rewritten pages are looked at."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page as Tab
from playwright.sync_api import sync_playwright


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    """A tab of a real Chromium."""
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=executable, args=sandbox)
        yield browser.new_page()
        browser.close()
