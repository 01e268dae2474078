"""Ask the database in a thread: a server that stands still is hung up on, and then counts as away."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from experiments.records.store import Records

T = TypeVar("T")

SILENT_SECONDS: Final = 30.0
"""How long a server may take to answer."""
HURRIED_SECONDS: Final = 2.5
"""How long it may take once the command is to end."""


class DatabaseThread:
    """A thread of its own, in which a database is asked one thing after another."""

    def __init__(self, records: Records, name: str) -> None:
        self._records = records
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._hurried = asyncio.Event()

    def hurry(self) -> None:
        """Wait no longer than HURRIED_SECONDS for each answer from now on."""
        self._hurried.set()

    async def ask(self, question: Callable[[], T]) -> T:
        """Return what the question returns.

        Raises what it raises; where the server stood still, a DBAPIError of which `is_away` is true.
        """
        asked = asyncio.get_running_loop().run_in_executor(self._thread, question)
        asked.add_done_callback(_look_at)  # whoever asked may have been cancelled
        hurried = asyncio.ensure_future(self._hurried.wait())
        either: set[asyncio.Future[Any]] = {asked, hurried}
        try:
            await asyncio.wait(either, timeout=SILENT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hurried.cancel()
        if self._hurried.is_set():
            await asyncio.wait({asked}, timeout=HURRIED_SECONDS)
        while not asked.done():
            self._records.hang_up()
            await asyncio.wait({asked}, timeout=1)
        return asked.result()

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()


def _look_at(asked: asyncio.Future[Any]) -> None:
    """Ask for an error, or asyncio would print it."""
    if not asked.cancelled():
        asked.exception()
