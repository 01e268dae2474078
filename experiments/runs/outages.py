"""Hold back the trials of agents whose provider is down, while those of other agents go on."""

import asyncio
import time
from typing import Final

PAUSES: Final = (20.0, 100.0)
"""Seconds that an agent's trials are held back after a first and after a second attempt has failed.

A provider's own retries fill some seconds; these pauses outlast a restart, and an outage of two minutes.
"""

OUTAGE_SECONDS: Final = 150.0
"""The limit for the whole outage, in seconds.

A provider that is gone for good must not hold back every trial.
"""

LOOK_SECONDS: Final = 1.0


class Outages:
    """The outages of providers, by the name of the agent."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._until: dict[str, float] = {}

    def failed(self, agent: str, attempt: int) -> None:
        """Note that an attempt (numbered from 1) at a trial of this agent failed for its provider."""
        now = time.monotonic()
        since = self._since.setdefault(agent, now)
        if now - since < OUTAGE_SECONDS:
            pause = PAUSES[min(attempt, len(PAUSES)) - 1]
            self._until[agent] = max(self._until.get(agent, 0.0), now + pause)

    def answered(self, agent: str) -> None:
        """Note that a trial of this agent came to an end."""
        self._since.pop(agent, None)
        self._until.pop(agent, None)

    def lasts(self, agent: str) -> bool:
        """Return whether trials of this agent should wait."""
        return time.monotonic() < self._until.get(agent, 0.0)

    async def over(self, agent: str) -> None:
        """Wait until trials of this agent need not wait."""
        # A pause ends at a time, or with an answer, whichever comes first.
        while (left := self._until.get(agent, 0.0) - time.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(min(left, LOOK_SECONDS))
