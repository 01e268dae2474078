import asyncio

from hypothesis import given
from hypothesis import strategies as st

from agents.providers.limiter import FIRST_LIMIT, Limiter


async def test_no_more_are_under_way_than_allowed() -> None:
    limiter = Limiter(limit=3)
    under_way = most = 0
    go = asyncio.Event()

    async def one() -> None:
        nonlocal under_way, most
        async with limiter:
            under_way += 1
            most = max(most, under_way)
            await go.wait()
            under_way -= 1

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one()) for _ in range(20)]
        await asyncio.sleep(0)
        assert under_way == 3
        go.set()
    assert all(task.done() for task in tasks)
    assert most == 3


async def test_the_limit_grows_by_one_for_as_many_answers_as_it_allows_at_once() -> None:
    limiter = Limiter(limit=2)
    for limit in (2, 3, 3, 3, 4):
        limiter.answered()
        assert limiter.limit == limit


async def test_those_that_were_sent_together_are_halved_for_once() -> None:
    limiter = Limiter(limit=8)
    sent_together = limiter.halvings
    for _ in range(8):
        limiter.overloaded(sent_together)
    assert limiter.limit == 4
    limiter.overloaded(limiter.halvings)
    assert limiter.limit == 2


async def test_who_waits_is_let_in_when_the_limit_grows() -> None:
    limiter = Limiter(limit=1)
    entered = asyncio.Event()

    async def second() -> None:
        async with limiter:
            entered.set()

    async with limiter:
        waiting = asyncio.create_task(second())
        await asyncio.sleep(0)
        assert not entered.is_set()
        limiter.answered()
        await entered.wait()
    await waiting


@given(st.lists(st.booleans(), max_size=200))
def test_it_never_falls_below_one(answers: list[bool]) -> None:
    limiter = Limiter()
    for answered in answers:
        before = limiter.limit
        if answered:
            limiter.answered()
            assert before <= limiter.limit <= before + 1
        else:
            limiter.overloaded(limiter.halvings)
            assert limiter.limit == max(1, before // 2)
    assert limiter.limit >= 1
    assert FIRST_LIMIT >= 1
