"""Share the trials of a design among people: a block each, balanced, in an order that is balanced too."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from math import gcd
from random import Random

import numpy as np
from scipy.optimize import linear_sum_assignment

from experiments.designs.shop.trial import ShopTrial
from interventions.errors import UserError


def make_blocks(trials: Sequence[ShopTrial], blocks: int, size: int, seed: int) -> list[list[ShopTrial]]:
    """Share `blocks` x `size` trials among blocks, each trial once, in the order in which people have them.

    No block has a choice set twice. Conditions, nudges, orders, and the place of the product that carries a
    nudge are as even within each block as they can be. Set by set, an assignment of least cost says which of
    its trials goes to which block. The order is that of a Williams square (Williams 1949, Australian Journal
    of Scientific Research A 2): over the blocks each condition follows each other one equally often.

    Raises:
        UserError: there are too few trials, or one set has more trials than there are blocks.
    """
    wanted = blocks * size
    if len(trials) < wanted:
        more = -(-wanted // max(len(trials), 1))
        raise UserError(
            f"{blocks:,} blocks of {size} trials need {wanted:,}, and the experiment has {len(trials):,}; "
            f"multiply its repeats by {more}, or lower participants.target"
        )
    by_set: dict[str, list[ShopTrial]] = defaultdict(list)
    for trial in trials[:wanted]:
        by_set[trial.set].append(trial)
    most = max(by_set, key=lambda name: len(by_set[name]))
    if len(by_set[most]) > blocks:
        raise UserError(
            f"{most} has {len(by_set[most])} trials, and no person may meet a choice set twice; raise "
            f"participants.target to {len(by_set[most])}, or the number of choice sets"
        )
    random = Random(seed)  # noqa: S311 - a design, no secret
    noise = np.random.default_rng(seed)
    made: list[list[ShopTrial]] = [[] for _ in range(blocks)]
    held = [Counter[Hashable]() for _ in range(blocks)]
    names = sorted(by_set, key=lambda name: (-len(by_set[name]), name))
    random.shuffle(names)
    names.sort(key=lambda name: -len(by_set[name]))  # the sets with most trials have the least freedom
    for name in names:
        own = by_set[name]
        loads = np.array([len(block) for block in made], dtype=float)
        crowded = np.array(
            [[sum(block[each] for each in _features(trial)) for block in held] for trial in own]
        )
        cost = 1e3 * loads + crowded + 0.5 * noise.random((len(own), blocks))
        for row, column in zip(*linear_sum_assignment(cost), strict=True):
            made[column].append(own[row])
            held[column].update(_features(own[row]))
    square = williams(size)
    # Rows in steps of a golden section: also the first few of them are spread over the whole square.
    near = round(len(square) * 0.618)
    step = next(each for each in range(max(near, 1), len(square) + 2) if gcd(each, len(square)) == 1)
    return [
        [sorted(block, key=_condition)[place] for place in square[number * step % len(square)]]
        for number, block in enumerate(made)
    ]


def practices(trials: Sequence[ShopTrial], blocks: Iterable[Iterable[str]]) -> list[ShopTrial]:
    """Return the trials without a treatment of choice sets that no block has; blocks: their trials' ids."""
    used = {trial for block in blocks for trial in block}
    sets = {trial.set for trial in trials if trial.id in used}
    return [each for each in trials if each.carrier is None and each.set not in sets]


def williams(size: int) -> list[list[int]]:
    """Return a Williams square of numbers from 0: each row an order; with an odd size, rows and mirrors.

    Over all rows each number stands at each place equally often, and follows each other one equally often.
    """
    first = [0]
    for step in range(1, size):
        first.append((first[-1] + (step if step % 2 else size - step)) % size)
    rows = [[(each + shift) % size for each in first] for shift in range(size)]
    return rows if size % 2 == 0 else rows + [row[::-1] for row in rows]


def _condition(trial: ShopTrial) -> tuple[str, ...]:
    """What an order is balanced over; the set decides between equals."""
    carried = _carried(trial)
    return trial.condition, trial.nudge.id if trial.nudge else "", carried, trial.ordering, trial.set


def _carried(trial: ShopTrial) -> str:
    keys = [product.key for product in trial.products]
    return str(keys.index(trial.carrier)) if trial.carrier in keys else ""


def _features(trial: ShopTrial) -> tuple[Hashable, ...]:
    nudge = trial.nudge.id if trial.nudge else ""
    return (
        ("condition", trial.condition),
        ("nudge", nudge),
        ("order", trial.ordering),
        ("carried", trial.condition, _carried(trial)),
        ("profile", trial.profile),
    )
