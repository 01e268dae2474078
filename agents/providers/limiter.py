"""Limit the requests under way at once: how many a provider bears is found by trying."""

import asyncio
from typing import Final, Self

FIRST_LIMIT: Final = 8


class Limiter:
    """A limit with additive increase and multiplicative decrease (Chiu and Jain, 1989); never below 1.

    `async with limiter:` waits for a place. `limit` grows by one whenever as many answers came as it allows
    at once, and is halved when the provider is overloaded.
    """

    def __init__(self, limit: int = FIRST_LIMIT) -> None:
        self.limit = limit
        self.halvings = 0
        self._under_way = 0
        self._answers = 0
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        while self._under_way >= self.limit:
            self._changed.clear()
            await self._changed.wait()
        self._under_way += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self._under_way -= 1
        self._changed.set()

    def answered(self) -> None:
        """Count an answer; after `limit` answers, raise the limit by one."""
        self._answers += 1
        if self._answers >= self.limit:
            self._answers = 0
            self.limit += 1
            self._changed.set()

    def overloaded(self, halvings: int) -> None:
        """Halve the limit, because the provider asked for fewer requests.

        `halvings` is the counter as it was when this request was sent. Requests that were sent together are
        refused together: that counts once.
        """
        if halvings == self.halvings:
            self.halvings += 1
            self._answers = 0
            self.limit = max(1, self.limit // 2)
