"""Errors in the console are counted, and a page that writes without end is not listened to."""

import asyncio
from collections import Counter

import pytest
from playwright.async_api import BrowserContext

from environments.browser.listeners import EventListeners
from environments.observation.page_errors import MOST_MESSAGES, count_errors

WRITES = "(times) => { for (let n = 0; n < times; n++) console[n % 2 ? 'error' : 'log']('over and over'); }"


@pytest.mark.browser
async def test_of_a_flood_only_the_first_messages_are_heard(context: BrowserContext) -> None:
    listeners, counted = EventListeners(), Counter[str]()
    count_errors(context, listeners, counted)
    page = await context.new_page()
    for times in (4, 3 * MOST_MESSAGES):
        await page.evaluate(WRITES, times)
    async with asyncio.timeout(20):
        while counted["over and over"] < MOST_MESSAGES // 2:
            await page.evaluate("1")
    await page.evaluate(WRITES, 2)
    await page.evaluate("1")
    assert counted == {"over and over": MOST_MESSAGES // 2}
    listeners.end()
