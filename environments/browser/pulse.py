"""Ask a browser every second whether it is there, and end one that stands still: another takes its place.

Its network service, which knows the cookies, is asked too. Pages are asked by their episodes.
"""

import asyncio
import os
import time
from collections.abc import Coroutine
from contextlib import suppress
from itertools import takewhile
from typing import Any, Final, Self

import psutil
from playwright.async_api import Browser, CDPSession
from playwright.async_api import Error as PlaywrightError

EVERY_SECONDS: Final = 1.0
STANDSTILL_SECONDS: Final = 12
"""How long a browser may not answer before it is ended.

The seconds are counted one by one: those in which this process stands still itself do not count.
"""
START_SECONDS: Final = 60
"""How long Playwright's own process and a browser may take to start, before they are ended; counted alike."""


class Pulse:
    """The pulse of one browser and of Playwright's own process, through which it is asked."""

    def __init__(self, session: CDPSession, processes: list[psutil.Process]) -> None:
        self._session = session
        self._processes = processes
        self._asked: float | None = None
        self._beating = asyncio.create_task(self._beat())

    @classmethod
    async def of(cls, browser: Browser) -> Self:
        """Begin to ask a browser that has just been launched."""
        session = await browser.new_browser_cdp_session()
        told = await session.send("SystemInfo.getProcessInfo")
        own = next(int(each["id"]) for each in told["processInfo"] if each["type"] == "browser")
        return cls(session, _between(own))

    def silent(self) -> float:
        """Return for how many seconds it has not answered."""
        return 0.0 if self._asked is None else time.monotonic() - self._asked

    def end(self) -> None:
        """Ask no more."""
        self._beating.cancel()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            self._asked = time.monotonic()
            answering = asyncio.create_task(self._answer())
            try:
                if not await comes(answering, STANDSTILL_SECONDS):
                    await self._kill(answering)
                await answering
            except PlaywrightError:
                return  # it is gone
            finally:
                answering.cancel()
                self._asked = None

    async def _kill(self, answering: asyncio.Future[None]) -> None:
        for process in self._processes:  # the browser first: Playwright's own may be well
            _kill(process)
            if await comes(answering, 2):
                return

    async def _answer(self) -> None:
        await self._session.send("Browser.getVersion")
        await self._session.send("Storage.getCookies")


async def starts(starting: Coroutine[Any, Any, None]) -> None:
    """Wait until a browser has started; end Playwright's process, with its browser, where it stands still.

    Raises:
        PlaywrightError: it was ended, or has not started.
    """
    others = _drivers()
    task = asyncio.create_task(starting)
    try:
        if not await comes(task, START_SECONDS):
            for process in [each for each in _drivers() if each not in others]:
                _kill(process)
            if not await comes(task, 10):
                raise PlaywrightError(f"the browser has not started for {START_SECONDS} seconds")
        await task
    finally:
        task.cancel()


async def comes(answering: asyncio.Future[Any], seconds: int) -> bool:
    """Return whether an answer comes within so many seconds in which this process moves."""
    for _ in range(seconds):
        if (await asyncio.wait([answering], timeout=1))[0]:
            return True
    return False


def _between(process: int) -> list[psutil.Process]:
    """A process and those that stand between it and this one, which started them.

    Playwright starts its own process, and that one the browser.
    """
    with suppress(psutil.Error):
        found = psutil.Process(process)
        return [found, *takewhile(lambda each: each.pid not in (os.getpid(), 0, 1), found.parents())]
    return []


def _drivers() -> list[psutil.Process]:
    """Playwright's own processes that this one has started, each after those that it has started."""
    found: list[psutil.Process] = []
    for each in psutil.Process().children():
        with suppress(psutil.Error):
            if "run-driver" in each.cmdline():
                found += [*reversed(each.children(recursive=True)), each]
    return found


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.Error):
        process.kill()
