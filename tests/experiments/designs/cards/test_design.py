"""What trials with cards are asked again, and that they are made one by one."""

import tracemalloc
from collections import deque
from itertools import islice

import pytest

from tests.experiments.designs.make import AGENT, made


def test_another_repeat_is_the_same_question_with_a_new_identity() -> None:
    design = made("biases", valid=3)
    asked = list(design.trials([AGENT]))
    again = design.again(asked[0], 3)
    assert again.cell == asked[0].cell
    assert again.cards == asked[0].cards
    assert again.id not in {trial.id for trial in asked}
    assert again.seed != asked[0].seed
    assert design.again(again, 0) == asked[0]
    # What is asked again would have been there, had more been wanted from the start.
    assert again in list(made("biases", valid=4).trials([AGENT]))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_trials() -> None:
    design = made("biases", valid=2_500, attempts=2_500)
    stream = design.trials([AGENT])

    def peak(count: int) -> int:
        tracemalloc.reset_peak()
        assert len(deque(islice(stream, count), maxlen=1)) == 1
        return tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    try:
        first = peak(500)
        assert peak(5_000) < first + 100_000
    finally:
        tracemalloc.stop()
