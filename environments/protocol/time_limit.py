"""Time limits that count only while the infrastructure moves: that of an attempt, and those within it.

What stands still (a stopped process, a shop or a browser that does not answer) is not the agent's fault. A
short standstill is not counted; after a longer one the attempt is worth nothing, as actions and pages have
had time-outs meanwhile.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Cause = Literal["browser", "shop", "worker"]
"""The part of the infrastructure that failed, as it is recorded."""

TICK_SECONDS: Final = 0.5
GRACE_SECONDS: Final = 2.0
"""How long a part may take to answer while time goes on."""


class Part(NamedTuple):
    """A part of the infrastructure. An attempt is given up when it has stood still for `seconds` at once."""

    cause: Cause
    seconds: float
    words: str


PARTS: Final = {
    "process": Part("worker", 10.0, "the process that ran the trial stood still"),
    "browser": Part("browser", 15.0, "the browser did not answer"),
    "page": Part("browser", 25.0, "the page did not answer"),
    "shop": Part("shop", 20.0, "the shop did not answer"),
}

Silent = Mapping[str, Callable[[], float]]
"""By part (see PARTS), a function that tells for how many seconds it has not answered."""

NOBODY: Final[Silent] = {}


class Standstill(Exception):
    """A part of the infrastructure has stood still for too long."""

    def __init__(self, part: Part, seconds: float) -> None:
        super().__init__(f"{part.words} for {seconds:.0f} seconds")
        self.cause: Cause = part.cause


@dataclass
class Count:
    """What is left of the time, the longest standstill, and the one that has ended the attempt.

    Both are known to half a second, and in seconds.
    """

    left: float
    silent: Silent
    stood: float = 0.0
    standstill: Standstill | None = None
    held: int = 0
    """How many blocks of `uncounted` are open."""

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
        stood = {part: seconds() for part, seconds in self.silent.items()}
        stood["process"] = max(0.0, passed - TICK_SECONDS)
        self.stood = max(self.stood, *stood.values())
        worst = max(stood, key=lambda part: stood[part] / PARTS[part].seconds)
        if stood[worst] > PARTS[worst].seconds:
            self.standstill = Standstill(PARTS[worst], stood[worst])
        elif not self.held and max(stood.values()) <= GRACE_SECONDS:
            self.left -= passed


_counting: ContextVar[Count | None] = ContextVar("counting", default=None)


@contextmanager
def uncounted() -> Iterator[None]:
    """Let the time of the attempt stand meanwhile: it waits for its turn at a provider."""
    if count := _counting.get():
        count.held += 1
    try:
        yield
    finally:
        if count:
            count.held -= 1


@asynccontextmanager
async def time_limit(seconds: float, silent: Silent = NOBODY) -> AsyncIterator[Count]:
    """End the block after `seconds` in which the infrastructure moved; yield the count of them.

    Raises:
        TimeoutError: they have passed.
        Standstill: a part has stood still for too long.
    """
    count = Count(seconds, silent)
    if math.isinf(seconds):  # such a block may compute for minutes, and let nothing else run meanwhile
        yield count
        return
    try:
        async with asyncio.timeout(None) as end:
            counting = asyncio.create_task(count.run(end))
            outer = _counting.set(count)
            try:
                yield count
            finally:
                counting.cancel()
                _counting.reset(outer)
    except TimeoutError:
        if count.standstill:
            raise count.standstill from None
        raise
