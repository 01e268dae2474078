"""Render a page before and after, side by side in one picture, in the real browser."""

import asyncio
import html
from base64 import b64encode
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from playwright.async_api import BrowserContext, Page, Route
from playwright.async_api import Error as PlaywrightError

from environments.action.pointer import dismiss
from environments.browser.pool import VIEWPORT, run_browsers
from experiments.pages.preview import FetchedPage, Preview
from experiments.pages.proof import through_proxy
from experiments.pages.purchasing import open_page
from experiments.pages.redrawn import redrawn
from interventions.apply.plan import Plan
from interventions.data_file import read_source
from interventions.errors import UserError
from proxy.session import Session
from proxy.trust import keys_of

_SCRIPT: Final = read_source(__file__, "side_by_side.js")
_PATIENCE_MS: Final = 15_000
_STYLE: Final = read_source(__file__, "frame.css")


def framed(caption: str, **pictures: bytes) -> str:
    """Return a page with pictures (PNG) beside each other, each under its name, and escaped HTML above."""
    shown = "".join(
        f'<section><h2>{name}</h2><img src="data:image/png;base64,{b64encode(png).decode()}"></section>'
        for name, png in pictures.items()
    )
    return f"<style>{_STYLE}</style>{caption}<main>{shown}</main>"


async def write_side_by_side(
    preview: Preview, intervention: str, file: Path, upstream_ca: Path | None = None
) -> list[str]:
    """Write a PNG: both versions at the same place, their differences outlined.

    Pages that scripts draw are opened through the proxy, as in a trial. Returns a line for each edit that a
    choice on the page draws over. Raises UserError.
    """
    url, session = preview.page.url, Session(preview.plan, preview.site)
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(run_browsers(trusted=await keys_of([url], upstream_ca)))
        context = await stack.enter_async_context(pool.context(None))
        try:
            if preview.site.drawn:
                sessions = Session(Plan(), preview.site), session
                tabs = [
                    await stack.enter_async_context(through_proxy(each, upstream_ca)) for each in sessions
                ]
                for tab in tabs:
                    await open_page(tab, url)
            else:
                session.note_receipts(preview.receipts)
                bodies = preview.page.body, preview.after
                tabs = [await open_version(context, preview.page, body) for body in bodies]
            for tab in tabs:
                await dismiss(tab, preview.site.dismiss)
            before, after = tabs
            of_before, of_after = [await page.evaluate(_SCRIPT, None) for page in tabs]
            gone = await before.evaluate(_SCRIPT, of_after)
            come = await after.evaluate(_SCRIPT, of_before)
            middle = come if come is not None else gone
            pictures = [await _picture(page, middle or 0) for page in tabs]
            caption = html.escape(f"{intervention} on {url}")
            picture = await _frame(context, f"<p>{caption}</p>", *pictures)
            lost = await redrawn(after, session, preview.site)
        except PlaywrightError as error:
            cause = str(error).splitlines()[0]
            raise UserError(f"{url}: cannot be rendered ({cause}); try without --png") from None
    try:
        await asyncio.to_thread(file.write_bytes, picture)
    except OSError as error:
        raise UserError(f"--png {file}: cannot be written ({error.strerror}); choose another file") from None
    return [f"{url}: {role}: {why}" for role, why in lost.items()]


async def open_version(context: BrowserContext, fetched: FetchedPage, body: bytes) -> Page:
    """Open a tab with this version of the document; all else comes from the shop."""
    page = await context.new_page()

    async def answer(route: Route) -> None:
        if route.request.is_navigation_request() and route.request.frame == page.main_frame:
            await route.fulfill(body=body, content_type=fetched.content_type)
        else:
            await route.continue_()

    await page.route(lambda url: url.partition("#")[0] == fetched.url.partition("#")[0], answer)
    await page.goto(fetched.url, timeout=_PATIENCE_MS)
    return page


async def _picture(page: Page, middle: float) -> bytes:
    _, height = VIEWPORT
    await page.evaluate("top => window.scrollTo({top, behavior: 'instant'})", max(0.0, middle - height / 2))
    return await page.screenshot()


async def _frame(context: BrowserContext, caption: str, before: bytes, after: bytes) -> bytes:
    width, height = VIEWPORT
    page = await context.new_page()
    await page.set_viewport_size({"width": 2 * width + 54, "height": height + 120})
    await page.set_content(framed(caption, before=before, after=after))
    return await page.screenshot(full_page=True)
