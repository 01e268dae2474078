"""Ask a browser every second whether it is there, and end one that stands still: another takes its place.

Its network service, which knows the cookies, is asked too. Pages are asked by their episodes.
"""

import asyncio
import os
import signal
import time
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

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

    def __init__(self, session: CDPSession, processes: list[int]) -> None:
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
        return cls(session, between(own))

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
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
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
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
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


def between(process: int) -> list[int]:
    """Return the number of a process and those that stand between it and this one, which started them.

    Playwright starts its own process, and that one the browser. Where the system has no `/proc` it is the
    first alone.
    """
    found = [process]
    with suppress(OSError):
        while (parent := _parent(found[-1])) not in (os.getpid(), 0, 1):
            found.append(parent)
    return found


def _drivers() -> list[int]:
    """Return Playwright's own processes that this one has started, each after those that it has started."""
    children: dict[int, list[int]] = {}
    with suppress(OSError):
        for each in Path("/proc").iterdir():
            with suppress(OSError, ValueError, IndexError):
                children.setdefault(_parent(int(each.name)), []).append(int(each.name))

    def tree(process: int) -> list[int]:
        return [*(below for child in children.get(process, []) for below in tree(child)), process]

    mine = [each for each in children.get(os.getpid(), []) if b"run-driver" in _command(each)]
    return [below for each in mine for below in tree(each)]


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _parent(process: int) -> int:
    status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    return int(status.rpartition(")")[2].split()[1])
