"""Let as many episodes use the browser at once as the machine bears; the others wait for their turn.

An episode gives its turn away while its agent thinks. Dozens of pages that load at once are ready no sooner
than one after the other, but all of them late, and what waits for them asks again and again meanwhile.

Of the episodes that have not begun one at a time stands in the queue, beside all whose agents have answered:
so there are as many open as the agents' answers take time for, and no more.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, Self

import psutil

from agents.base import Agent, Decision
from environments.protocol.observation import Observation
from environments.protocol.time_limit import uncounted

LOOK_SECONDS: Final = 1.0
"""The time between two looks at how busy the machine is."""
ROOM: Final = 85.0
"""Below this percentage of busy processors there is one more turn: pages wait for a shop, not for them."""
FULL: Final = 95.0
"""Above this percentage there is one turn fewer, down to one for each processor."""


class Turns:
    """The turns at a browser, of which there are `count` at once: at least `cores`, by default all."""

    def __init__(self, cores: int | None = None) -> None:
        self.count = self._least = cores or os.cpu_count() or 1
        self._free = asyncio.Semaphore(self.count)
        self._entrance = asyncio.Lock()
        self._surplus = 0

    def turn(self) -> "Turn":
        """Return the turn of one episode, which waits for it at the beginning of a `with` block."""
        return Turn(self)

    def adapt(self, busy: float) -> None:
        """Let there be more turns, or fewer; `busy`: the percentage of the processors' time that is used."""
        if busy < ROOM and self._free.locked():
            self.count += 1
            self.give()
        elif busy > FULL and self.count > self._least:
            self.count -= 1
            self._surplus += 1

    async def take(self) -> None:
        """Wait for a turn; the time does not count towards that of the attempt."""
        with uncounted():
            await self._free.acquire()

    async def enter(self) -> None:
        """Wait for the first turn of an episode."""
        with uncounted():
            async with self._entrance:
                await self._free.acquire()

    def give(self) -> None:
        """Give a turn back, unless there are to be fewer."""
        if self._surplus:
            self._surplus -= 1
        else:
            self._free.release()


class Turn:
    """The turn of one episode."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._is_mine = False

    async def __aenter__(self) -> Self:
        await self._turns.enter()
        self._is_mine = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self.give()

    def given_by(self, agent: Agent) -> Agent:
        """Return the agent, which gives the turn away while it thinks."""
        return _Thinking(agent, self)

    async def take(self) -> None:
        """Wait for the turn."""
        await self._turns.take()
        self._is_mine = True

    def give(self) -> None:
        """Give the turn away, if it is had."""
        if self._is_mine:
            self._is_mine = False
            self._turns.give()


class _Thinking:
    """An agent that gives its episode's turn away while it thinks."""

    def __init__(self, agent: Agent, turn: Turn) -> None:
        self._agent, self._turn = agent, turn

    async def act(self, observation: Observation) -> Decision:
        self._turn.give()
        try:
            return await self._agent.act(observation)
        finally:
            await self._turn.take()


@asynccontextmanager
async def open_turns(cores: int | None = None) -> AsyncIterator[Turns]:
    """Yield turns, of which there are more or fewer as it turns out how busy this machine is.

    cores: how many of its processors these turns may keep busy; by default all.
    """
    turns = Turns(cores)

    async def watch() -> None:
        psutil.cpu_percent()  # the first tells nothing
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            turns.adapt(psutil.cpu_percent())

    watching = asyncio.create_task(watch())
    try:
        yield turns
    finally:
        watching.cancel()
