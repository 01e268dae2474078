from environments.protocol.time_limit import time_limit, uncounted


async def test_the_time_of_an_attempt_stands_while_it_waits_for_its_turn() -> None:
    async with time_limit(500.0) as count:
        count._note(100.0 - 99.5)
        assert count.left == 499.5
        with uncounted(), uncounted():
            count._note(0.5)
        assert count.left == 499.5
        count._note(0.5)
        assert count.left == 499.0


async def test_limits_do_not_stop_each_other() -> None:
    with uncounted():  # nothing is counted here
        pass
    async with time_limit(500.0) as outer:
        async with time_limit(400.0) as inner:
            with uncounted():
                assert (outer.held, inner.held) == (0, 1)
        with uncounted():
            assert (outer.held, inner.held) == (1, 0)
