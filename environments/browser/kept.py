"""Lend a browser context with its tabs to one episode after another, cleared in between.

To make and close a context, its tabs and their process takes a quarter of a short episode's time. Whatever a
page can leave is removed; where something may stay that can't be removed, the context is closed instead. The
browser's cache stays: the proxy lets nothing into it but static files (`Session.lent`).
"""

import asyncio
from collections.abc import Mapping
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

LASTING: Final = frozenset(
    {
        *("accept-ch", "alt-svc", "nel", "report-to", "reporting-endpoints", "secure-session-registration"),
        *("strict-transport-security", "use-as-dictionary"),
    }
)
"""The headers by which a shop leaves something in the browser that stays when storage is cleared."""


def is_lasting(headers: Mapping[str, str]) -> bool:
    """Return whether a response with these headers leaves something that can't be cleared."""
    return not LASTING.isdisjoint(headers)


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
        kept, surplus = pages[:MOST_TABS], pages[MOST_TABS:]
        await asyncio.gather(*(page.close() for page in surplus))
        if not kept:
            return False
        # Pages that still run could store more.
        await asyncio.gather(*(page.goto("about:blank", wait_until="commit") for page in kept))
        sessions = [await self._session(page) for page in kept]
        for session in sessions:
            await session.send("Runtime.evaluate", {"expression": "window.name = ''"})
            await session.send("Page.resetNavigationHistory")
        await sessions[0].send("Storage.clearDataForOrigin", EVERYTHING)
        living = await sessions[0].send("Target.getTargets", OUTLIVING)
        return self.context.pages == kept and not living["targetInfos"]

    async def _session(self, page: Page) -> CDPSession:
        if page not in self._sessions:
            self._sessions[page] = await self.context.new_cdp_session(page)
        return self._sessions[page]


EVERYTHING: Final[dict[str, Any]] = {"origin": "*", "storageTypes": "all"}
"""Storage of all kinds and of all origins; only so are the tabs' own (`sessionStorage`) cleared too."""

OUTLIVING: Final[dict[str, Any]] = {
    "filter": [
        *(
            {"type": each, "exclude": True}
            for each in ("browser", "tab", "page", "iframe", "webview", "worker")
        ),
        {},
    ]
}
"""What lives on without a page, as shared workers do, in any context: whose it was is not asked."""
