"""The watch over a page leaves it as it is: what an agent sees does not depend on how often it was asked."""

import asyncio
from contextlib import suppress

import pytest
from playwright.async_api import BrowserContext

from environments.browser.pool import VIEWPORT
from environments.observation.page_watch import PageWatch
from environments.protocol.time_limit import NOBODY
from tests.support import pages

pytestmark = [pytest.mark.browser]

PAGE = """<!doctype html><h1>Oats</h1><script>
var disturbed = [];
for (const each of ["resize", "scroll", "blur", "visibilitychange"])
  addEventListener(each, () => disturbed.push(each), true);
</script>"""
AS_IT_IS = "[innerWidth, innerHeight, screen.width, ...disturbed]"
ASKED = 20


async def test_to_ask_a_page_whether_it_is_drawn_changes_nothing_in_it(context: BrowserContext) -> None:
    async with pages({"/": PAGE}) as url:
        page = await context.new_page()
        await page.goto(url)
        before = await page.evaluate(AS_IT_IS)
        assert before == [*VIEWPORT, VIEWPORT[0]]
        watch = PageWatch(context, lambda: page, NOBODY)
        await watch.move_and_draw()
        for turns in range(ASKED):  # given up at any moment: the action has ended
            asking = asyncio.ensure_future(watch.move_and_draw())
            for _ in range(turns):
                await asyncio.sleep(0)
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
        await watch.move_and_draw()
        await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert await page.evaluate(AS_IT_IS) == before
