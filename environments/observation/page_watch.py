"""Watch whether the page that an agent looks at answers: a standstill is not the agent's fault."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Final

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as PlaywrightError

from environments.protocol.time_limit import Count, Silent, time_limit

ASK_EVERY_SECONDS: Final = 1.0
"""How often a page is asked whether it answers, while it is waited for."""

A_PICTURE: Final[Any] = {"format": "jpeg", "quality": 0, "optimizeForSpeed": True}
"""The picture that is taken to see whether a page is drawn at all.

It is one of the whole viewport: for a part of it (a clip) Chromium lays the page out anew, and leaves it so.
"""


class PageWatch:
    """Knows for how long the pages of an episode have not answered what they have to answer at once."""

    def __init__(self, context: BrowserContext, active: Callable[[], Page], silent: Silent) -> None:
        """Watch the tab that `active` returns; `silent`: of all parts but the pages."""
        self._context = context
        self._active = active
        self._asked: list[float] = []
        self.silent: Silent = {**silent, "page": self._silence}
        """By part of the infrastructure, for how many seconds it has not answered."""

    def _silence(self) -> float:
        return time.monotonic() - self._asked[0] if self._asked else 0.0

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Count the page as silent for as long as the block waits for it."""
        self._asked.append(began := time.monotonic())
        try:
            yield
        finally:
            self._asked.remove(began)

    @asynccontextmanager
    async def moving(self, seconds: float, *, drawn: bool = False) -> AsyncIterator[Count]:
        """Let the block wait for at most `seconds` in which all moves, and ask the active tab meanwhile.

        drawn: ask also whether it is drawn. Raises TimeoutError.
        """
        asking = asyncio.create_task(self._ask(drawn))
        try:
            async with time_limit(seconds, self.silent) as count:
                yield count
        finally:
            asking.cancel()

    async def _ask(self, drawn: bool) -> None:
        while True:
            await asyncio.sleep(ASK_EVERY_SECONDS)
            with suppress(PlaywrightError), self.asking():
                await (self.move_and_draw() if drawn else self._move())

    async def _move(self) -> None:
        """Let the active tab run a script."""
        await self._active().evaluate("0")

    async def move_and_draw(self) -> None:
        """Let the active tab run a script and be drawn, without which nothing can be clicked."""
        await self._move()
        session = await self._context.new_cdp_session(self._active())
        try:
            await session.send("Page.captureScreenshot", A_PICTURE)
        finally:
            await session.detach()
