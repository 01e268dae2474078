"""Lend a browser context with its tabs to one episode after another, cleared in between.

To make and close a context, its tabs and their process takes longer than to clear them. Whatever a page can
leave is removed; where something may stay that can't be removed, the context is closed instead. The browser's
cache stays: the proxy lets nothing into it but static files (`proxy.lent`).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from playwright.async_api import BrowserContext, CDPSession, Page
from playwright.async_api import Error as PlaywrightError

CLEAR_SECONDS: Final = 10.0
"""The longest time in which a context is cleared; one that needs longer is closed."""

MOST_EPISODES: Final = 50
"""How many episodes a context is lent to: Playwright keeps what it knows of each until the context closes."""

MOST_TABS: Final = 4
"""The most tabs that are kept."""


@dataclass(eq=False)
class Lease:
    """A context that is lent to one episode. `keep`: whether it may be cleared and lent again."""

    context: BrowserContext
    keep: bool
    episodes: int = 0
    _sessions: dict[Page, CDPSession] = field(default_factory=dict)

    async def clear(self) -> bool:
        """Leave the tabs blank and nothing stored; return whether the context can be lent again."""
        self.episodes += 1
        if not self.keep or self.episodes >= MOST_EPISODES:
            return False
        try:
            async with asyncio.timeout(CLEAR_SECONDS):
                return await self._cleared()
        except (PlaywrightError, TimeoutError):
            return False

    async def _cleared(self) -> bool:
        pages = self.context.pages
        # A tab that a page has opened knows its opener, and may close itself.
        kept = [page for page in pages if await page.opener() is None][:MOST_TABS]
        await asyncio.gather(*(page.close() for page in pages if page not in kept))
        if not kept:
            return False
        # Pages that still run could store more.
        await asyncio.gather(*(page.goto("about:blank", wait_until="commit") for page in kept))
        sessions = [await self._session(page) for page in kept]
        for session in sessions:
            await session.send("Runtime.evaluate", {"expression": "window.name = ''"})
            await session.send("Page.resetNavigationHistory")
        await sessions[0].send("Storage.clearDataForOrigin", EVERYTHING)
        return await _are_alone(sessions)

    async def _session(self, page: Page) -> CDPSession:
        if page not in self._sessions:
            self._sessions[page] = await self.context.new_cdp_session(page)
        return self._sessions[page]


EVERYTHING: Final[dict[str, Any]] = {"origin": "*", "storageTypes": "all"}
"""Storage of all kinds and of all origins; only so are the tabs' own (`sessionStorage`) cleared too."""

PER_CONTEXT: Final = frozenset({"browser", "tab", "page", "iframe", "webview", "worker"})
"""What lives in a known context. Others, as shared workers, outlive pages: whose they were is not asked."""


async def _are_alone(sessions: Sequence[CDPSession]) -> bool:
    """Return whether nothing lives but the sessions' tabs, none of which was opened by a page.

    A worker that is busy lives on for seconds, and may ask the shop. A tab may be opening just now.
    """
    told = [(await session.send("Target.getTargetInfo"))["targetInfo"] for session in sessions]
    tabs, context = {each["targetId"] for each in told}, told[0]["browserContextId"]
    every = await sessions[0].send("Target.getTargets", {"filter": [{"type": "tab", "exclude": True}, {}]})
    return all(
        "openerFrameId" not in each
        if each["targetId"] in tabs
        else each["type"] in PER_CONTEXT and each.get("browserContextId") != context
        for each in every["targetInfos"]
    )
