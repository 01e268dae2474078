"""One shop and one browser for all tests of the room; each test gets a context, and so a cart, of its own."""

from collections.abc import AsyncIterator

import httpx
import pytest
from playwright.async_api import Browser, Page, async_playwright

from environments.browser.pool import find_browser
from environments.shop.catalogue import Catalogue, generate
from environments.shop.server import shop
from tests.environments.shop.examples import Examples, pick


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return generate(0)


@pytest.fixture(scope="session")
def examples(catalogue: Catalogue) -> Examples:
    return pick(catalogue)


@pytest.fixture(scope="session")
async def base() -> AsyncIterator[str]:
    async with shop(interfaces=True) as url:
        yield url


@pytest.fixture
async def client(base: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=base) as client:
        yield client


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_browser(playwright))
        yield browser
        await browser.close()


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A page of a fresh context; the test fails when its scripts raise an error."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    page = await context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    await context.close()
    assert errors == []
