"""A clock that skips what nobody needs: days of waiting pass in minutes."""

import asyncio
import selectors
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from unittest.mock import patch

GRACE = 0.001
"""Seconds for which the network is listened to before time is skipped."""
LONGEST = 5.0
"""At most so many seconds are skipped at once: threads may be at work, which nobody sees here."""


class FastClock:
    """Seconds that have been skipped are added to the clocks of the `time` module, and so to asyncio's."""

    def __init__(self) -> None:
        self.skipped = 0.0
        self._stack = ExitStack()

    def __enter__(self) -> "FastClock":
        for name in ("time", "monotonic"):
            self._stack.enter_context(self._replace(name, getattr(time, name)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return an event loop whose timers come due by this clock."""
        return asyncio.SelectorEventLoop(_Skipping(self))

    def _replace(self, name: str, real: Callable[[], float]) -> AbstractContextManager[object]:
        return patch.object(time, name, lambda: real() + self.skipped)


class _Skipping(selectors.DefaultSelector):
    def __init__(self, clock: FastClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= GRACE:
            return super().select(timeout)
        ready = super().select(GRACE)
        if not ready:
            self._clock.skipped += min(timeout, LONGEST) - GRACE
        return ready
