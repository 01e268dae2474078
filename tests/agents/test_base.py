from agents.base import Call, Usage


def _call(cost: float | None) -> Call:
    return Call("0" * 64, "m", tokens_in=10, tokens_out=3, cost=cost, seconds=0.5)


def test_usage_is_the_sum_over_calls() -> None:
    assert Usage.of([_call(0.25), _call(0.5)]) == Usage(20, 6, 0.75, 1.0)


def test_one_unknown_cost_makes_the_sum_unknown() -> None:
    assert Usage.of([_call(0.25), _call(None)]).cost is None


def test_no_calls_cost_nothing() -> None:
    assert Usage.of([]) == Usage(0, 0, 0.0, 0.0)
