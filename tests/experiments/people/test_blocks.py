"""Trials are shared among people: each once, each person a balanced block, in a balanced order."""

from collections import Counter
from itertools import pairwise

import pytest

from experiments.designs.loading import load_shop_design
from experiments.people.blocks import make_blocks, williams
from interventions.errors import UserError

DESIGN = load_shop_design("nudges", "human:test")
TRIALS = list(DESIGN.trials(["human:test"]))


@pytest.mark.parametrize(("people", "each"), [(30, 50), (240, 12), (50, 9)])
def test_blocks_are_balanced_and_have_every_trial_once(people: int, each: int) -> None:
    made = make_blocks(TRIALS, people, each, seed=1)
    ids = [trial.id for block in made for trial in block]
    assert sorted(ids) == sorted(trial.id for trial in TRIALS[: people * each])
    assert len(set(ids)) == people * each
    shares = Counter(trial.condition for trial in TRIALS[: people * each])
    for place in zip(*made, strict=True):  # also where there are fewer people than rows in the square
        share = sum(trial.condition == "nudged" for trial in place) / people
        assert abs(share - shares["nudged"] / (people * each)) <= 0.12
    for block in made:
        assert len({trial.set for trial in block}) == each
        orders = Counter(trial.ordering for trial in block)
        assert abs(orders["forward"] - orders["reversed"]) <= 2
        for condition, count in Counter(trial.condition for trial in block).items():
            assert abs(count - shares[condition] / people) <= 1


def test_a_seed_gives_the_same_blocks_and_another_one_others() -> None:
    def ids(seed: int) -> list[list[str]]:
        return [[trial.id for trial in block] for block in make_blocks(TRIALS, 20, 8, seed)]

    assert ids(3) == ids(3)
    assert ids(3) != ids(4)


@pytest.mark.parametrize("size", [2, 3, 6, 7, 12])
def test_in_a_williams_square_everything_follows_everything_equally_often(size: int) -> None:
    rows = williams(size)
    follows = Counter(pair for row in rows for pair in pairwise(row))
    assert set(follows) == {(a, b) for a in range(size) for b in range(size) if a != b}
    assert len(set(follows.values())) == 1
    for place in zip(*rows, strict=True):
        assert len(set(Counter(place).values())) == 1


@pytest.mark.parametrize(
    ("people", "each", "message"),
    [(1000, 12, "multiply its repeats by 4"), (20, 80, "no person may meet a choice set twice")],
)
def test_a_design_that_does_not_fit_is_told(people: int, each: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_blocks(TRIALS, people, each, seed=0)
