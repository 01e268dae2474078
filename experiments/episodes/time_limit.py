"""The time limit of an attempt: it counts only while the infrastructure moves.

What stands still (a stopped process, a shop or a browser that does not answer) is not the agent's fault. A
short standstill is not counted; after a longer one the attempt is worth nothing, as actions and pages have
had time-outs meanwhile.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from experiments.records.record import Cause

TICK_SECONDS: Final = 0.5
GRACE_SECONDS: Final = 2.0
"""How long a part may take to answer while time goes on."""

STANDSTILLS: Final[Mapping[Cause, float]] = {"worker": 10.0, "browser": 15.0, "shop": 20.0}
"""How long a part may stand still at once before the attempt is given up, in seconds."""

WORDS: Final[Mapping[Cause, str]] = {
    "worker": "the process that ran the trial stood still",
    "browser": "the browser did not answer",
    "shop": "the shop did not answer",
}

Silent = Mapping[Cause, Callable[[], float]]
"""By part, a function that tells for how many seconds it has not answered."""

NOBODY: Final[Silent] = {}


class Standstill(Exception):
    """A part of the infrastructure has stood still for too long."""

    def __init__(self, cause: Cause, seconds: float) -> None:
        super().__init__(f"{WORDS[cause]} for {seconds:.0f} seconds")
        self.cause: Cause = cause


@dataclass
class _Count:
    """What is left of the time, and the standstill that has ended the attempt."""

    left: float
    silent: Silent
    standstill: Standstill | None = None

    async def run(self, end: asyncio.Timeout) -> None:
        """Count until nothing is left, or a standstill lasts; then end the block of `end`."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        while self.left > 0 and not self.standstill:
            await asyncio.sleep(min(TICK_SECONDS, self.left))
            now = loop.time()
            passed, last = now - last, now
            self._note(passed)
        end.reschedule(loop.time())

    def _note(self, passed: float) -> None:
        """Count the seconds since the last tick, in which this process may have stood still itself."""
        stood: dict[Cause, float] = {cause: seconds() for cause, seconds in self.silent.items()}
        stood["worker"] = max(0.0, passed - TICK_SECONDS)
        cause = max(stood, key=lambda each: stood[each] / STANDSTILLS[each])
        if stood[cause] > STANDSTILLS[cause]:
            self.standstill = Standstill(cause, stood[cause])
        elif max(stood.values()) <= GRACE_SECONDS:
            self.left -= passed


@asynccontextmanager
async def time_limit(seconds: float, silent: Silent = NOBODY) -> AsyncIterator[None]:
    """End the block after `seconds` in which the infrastructure moved.

    Raises:
        TimeoutError: they have passed.
        Standstill: a part has stood still for too long.
    """
    if math.isinf(seconds):
        yield
        return
    count = _Count(seconds, silent)
    try:
        async with asyncio.timeout(None) as end:
            counting = asyncio.create_task(count.run(end))
            try:
                yield
            finally:
                counting.cancel()
    except TimeoutError:
        if count.standstill:
            raise count.standstill from None
        raise
