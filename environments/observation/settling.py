"""Wait until a tab has settled: what it asked for is answered, and what its scripts draw stands still."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from playwright.async_api import BrowserContext, Page, Request
from playwright.async_api import Error as PlaywrightError

from environments.browser.listeners import EventListeners
from environments.observation.observe import ObservationQuery
from environments.observation.page_watch import PageWatch
from interventions.data_file import read_source
from interventions.yaml.sitemap import SiteMap

STANDS: Final = read_source(__file__, "still.js")

# A page without scripts is as it came. What only other readers know (`:lexbor-contains`) is not waited for.
DRAWN: Final = read_source(__file__, "is_drawn.js")

# What a script makes of an answer, it draws in later tasks, in the page or in shadow trees.
STILL: Final = read_source(__file__, "unchanging.js")
STILL_MS: Final = 100
STIRRING_MS: Final = 1_000
"""How long nothing changes in a page that is still, and the longest wait for that."""

SETTLE_SECONDS: Final = 5.0
"""The longest wait for a page that keeps requesting; an ordinary page settles as soon as it is quiet."""

AWAITED: Final = frozenset({"document", "stylesheet", "script", "image", "font", "xhr", "fetch"})
"""The kinds of requests whose answers may change what a page shows."""
LASTING: Final = frozenset({"document"})
"""Those of them that are waited for again after a wait that was too long."""


class Settling:
    """The requests that the tabs of a context wait for."""

    def __init__(
        self,
        context: BrowserContext,
        listeners: EventListeners,
        watch: PageWatch,
        site: SiteMap | None,
        wanted: ObservationQuery,
        is_gone: Callable[[], bool],
        asked: Callable[[Request], None],
    ) -> None:
        """Listen to the context's requests.

        is_gone: whether the browser, or the tab, is no longer there. `asked` is told of each request too:
        each listener of its own costs Playwright time at every request.
        """
        self._watch, self._site, self._wanted, self._is_gone = watch, site, wanted, is_gone
        self._asked = asked
        self._pending: set[Request] = set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._stirred = False
        listeners.on(context, "request", self._began)
        listeners.on(context, "requestfinished", self._ended)
        listeners.on(context, "requestfailed", self._ended)

    @property
    def is_loading(self) -> bool:
        """Whether a document, or an answer to a script, has not come yet."""
        return any(request.resource_type in ("document", "xhr", "fetch") for request in self._pending)

    def forget(self, page: Page) -> None:
        """Wait no more for what a closed tab has requested: it is never answered."""
        for request in [request for request in self._pending if page_of(request) is page]:
            self._ended(request)

    async def settle(self, active: Callable[[], Page], *, acted: bool = False) -> None:
        """Wait until the active tab is loaded and its requests are answered, at most SETTLE_SECONDS.

        It is waited for by events, not by time; only where scripts draw the pages, what they make of an
        answer takes time. What has not come by then is not waited for again, except documents. active: a
        page may open another tab meanwhile. acted: whether scripts may answer something that was done.

        Raises:
            PlaywrightError: the browser or the tab is gone.
        """
        try:
            async with self._watch.moving(SETTLE_SECONDS):
                while True:
                    await self._quiet.wait()
                    try:
                        await active().evaluate(STANDS, acted)
                    except PlaywrightError:
                        if self._is_gone():
                            raise
                        await asyncio.sleep(0)  # a dead browser fails at once, and would let no time-out pass
                        continue  # the page navigated away under the call
                    if (
                        self._quiet.is_set()
                        and await self._is_drawn(active())
                        and await self._is_still(active())
                    ):
                        return
        except TimeoutError:
            for request in [request for request in self._pending if request.resource_type not in LASTING]:
                self._ended(request)

    async def _is_drawn(self, page: Page) -> bool:
        """Whether a tab shows a page of a known type, and what is wanted of a product's page.

        Where scripts draw a page this may come long after its requests are answered.
        """
        if self._site is None or not self._site.drawn:
            return True
        try:
            return bool(await page.evaluate(DRAWN, drawn_in(self._site, self._wanted)))
        except PlaywrightError:
            if self._is_gone():
                raise
            return False

    async def _is_still(self, page: Page) -> bool:
        """Whether nothing was asked; or what scripts draw no longer changes, and nothing more was asked."""
        stirred, self._stirred = self._stirred, False
        if not stirred or self._site is None or not self._site.drawn:
            return True
        try:
            await page.evaluate(STILL, [STILL_MS, STIRRING_MS])
        except PlaywrightError:
            if self._is_gone():
                raise
        return self._quiet.is_set() and not self._stirred

    def _began(self, request: Request) -> None:
        self._asked(request)
        if request.resource_type in AWAITED:
            self._pending.add(request)
            self._quiet.clear()
            self._stirred = True

    def _ended(self, request: Request) -> None:
        self._pending.discard(request)
        if not self._pending:
            self._quiet.set()


def drawn_in(site: SiteMap, wanted: ObservationQuery) -> dict[str, Any]:
    """Return what DRAWN looks for: selectors of known types of pages, and of what a product's has to show."""
    tests = {kind: test.css for kind, test in site.pages.items() if test.css}
    return {"known": [*tests.values()], "product": tests.get("product"), "parts": wanted.drawn}


def page_of(request: Request) -> Page | None:
    """Return the tab that made a request; None when the browser itself made it."""
    try:
        return request.frame.page
    except PlaywrightError:
        return None
