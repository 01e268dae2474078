import asyncio
import math
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.providers.limiter import FIRST_LIMIT, Limiter
from tests.support import size


class Provider:
    """Bears `capacity` requests at once, and refuses whatever comes meanwhile; many clients ask it."""

    def __init__(self, capacity: int, rng: random.Random) -> None:
        self.capacity = capacity
        self.refused = 0
        self._rng = rng
        self._next = asyncio.Lock()
        self._waiting: list[asyncio.Future[bool]] = []

    @asynccontextmanager
    async def asked(self, limiter: Limiter, clients: int) -> AsyncIterator[None]:
        """Let so many ask again and again for the time of a `with` block."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._ask(limiter)) for _ in range(clients)]
            yield
            for task in tasks:
                task.cancel()

    async def _ask(self, limiter: Limiter) -> None:
        while True:
            async with self._next:
                await limiter.enter()
            refusals = limiter.refusals
            self._waiting.append(answer := asyncio.get_running_loop().create_future())
            try:
                if await answer:
                    limiter.answered(refusals)
                else:
                    limiter.refused(refusals)
            finally:
                limiter.leave()

    async def round(self, share: float = 1.0) -> tuple[int, int]:
        """Answer so many of those that wait, refuse who is too much; return how many waited, and answers."""
        waiting = -1
        while waiting < len(self._waiting):  # whoever can enter has entered
            waiting = len(self._waiting)
            for _ in range(4):
                await asyncio.sleep(0)
        under_way = len(self._waiting)
        borne, refused = self._waiting[: self.capacity], self._waiting[self.capacity :]
        self._rng.shuffle(borne)
        answered = math.ceil(share * len(borne))
        told = [*((each, True) for each in borne[:answered]), *((each, False) for each in refused)]
        self._rng.shuffle(told)
        for each, good in told:
            each.set_result(good)
        self._waiting = borne[answered:]
        self.refused += len(refused)
        return under_way, answered


async def test_no_more_are_under_way_than_allowed() -> None:
    provider, limiter = Provider(100, random.Random(0)), Limiter(limit=3)
    async with provider.asked(limiter, 20):
        assert (await provider.round())[0] == 3


async def test_it_doubles_with_each_round_until_the_provider_refuses() -> None:
    provider, limiter = Provider(100, random.Random(0)), Limiter()
    async with provider.asked(limiter, 500):
        under_way = [(await provider.round())[0] for _ in range(6)]
        assert under_way == [8, 16, 32, 64, 128, 64]
        provider.capacity = 10_000
        while (now := (await provider.round())[0]) < 128:
            under_way.append(now)
        assert under_way[6:] == list(range(65, 128))  # a round of additive increase each
        assert (await provider.round())[0] == 256  # more than was refused: it doubles again


@settings(max_examples=size(15, 500), deadline=None)
@given(st.integers(1, 30), st.floats(0.2, 1), st.randoms(use_true_random=False))
def test_it_settles_around_what_the_provider_bears(capacity: int, share: float, rng: random.Random) -> None:
    async def watch() -> None:
        provider, limiter = Provider(capacity, rng), Limiter()
        async with provider.asked(limiter, 3 * capacity + FIRST_LIMIT):
            while not provider.refused:
                await provider.round(share)
            rounds = [await provider.round(share) for _ in range(2 * capacity + 20)]
        most = max(under_way for under_way, _ in rounds[1:])
        assert 1 <= limiter.limit <= max(2 * capacity, FIRST_LIMIT // 2)
        assert most <= max(2 * capacity, FIRST_LIMIT // 2)
        assert sum(answered for _, answered in rounds) >= len(rounds) * share * capacity / 2

    asyncio.run(watch())


async def test_what_is_not_used_does_not_grow() -> None:
    provider, limiter = Provider(100, random.Random(0)), Limiter()
    async with provider.asked(limiter, 5):
        for _ in range(20):
            await provider.round()
    assert limiter.limit <= 10


async def test_those_that_were_sent_together_are_halved_for_once() -> None:
    limiter = Limiter()
    for _ in range(8):
        await limiter.enter()
    sent_together = limiter.refusals
    for _ in range(8):
        limiter.refused(sent_together)
        limiter.leave()
    assert limiter.limit == 4
    await limiter.enter()
    limiter.refused(limiter.refusals)
    assert limiter.limit == 1  # nothing else was under way
