"""Limit the requests under way at once: how many a provider bears is found by trying, as TCP does."""

import asyncio
from typing import Final

FIRST_LIMIT: Final = 8


class Limiter:
    """A limit with slow start, additive increase and multiplicative decrease; never below 1.

    Each answer raises the limit by one, so that it doubles with each round of answers, until the provider
    refuses. Then the limit is half of what was under way. From there to where it was refused it grows by one
    with each round; beyond, the provider bears more than before, and the limit doubles again. It grows to
    no more than twice what was under way.
    """

    def __init__(self, limit: int = FIRST_LIMIT) -> None:
        self.limit = limit
        self.refusals = 0
        """How often the limit was lowered; an answer counts only if that was not since its request."""
        self._under_way = 0
        self._most = 0
        """The most requests under way since the limit was lowered."""
        self._refused_at = 0
        self._answers = 0
        self._changed = asyncio.Event()

    async def enter(self) -> None:
        """Wait for a place, and take it."""
        while self._under_way >= self.limit:
            self._changed.clear()
            await self._changed.wait()
        self._under_way += 1
        self._most = max(self._most, self._under_way)

    def leave(self) -> None:
        """Give the place back."""
        self._under_way -= 1
        self._changed.set()

    def answered(self, refusals: int) -> None:
        """Count an answer, which may raise the limit; `refusals` as they were when its request was sent."""
        if refusals != self.refusals:
            return
        self._answers += 1
        due = self.limit >= self._refused_at or self._answers >= self.limit
        if due and self.limit < 2 * self._most:
            self._answers = 0
            self.limit += 1
            self._changed.set()

    def refused(self, refusals: int) -> None:
        """Lower the limit, because the provider was asked for too much; `refusals` as for `answered`.

        Requests that were sent together are refused together: that counts once.
        """
        if refusals == self.refusals:
            self.refusals += 1
            self.limit, self._refused_at = max(1, self._most // 2), self._most
            self._most = self._answers = 0
