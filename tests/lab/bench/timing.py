"""Time the sides of a comparison in turn."""

import gc
import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeVar

Made = TypeVar("Made")
Times = Mapping[str, list[float]]
"""The seconds of each side."""


def in_turn(sides: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, list[float]]:
    """Return the processor's seconds of each side, each in turn, after one call of each."""
    for side in sides.values():
        side()
    found: dict[str, list[float]] = {name: [] for name in sides}
    gc.freeze()
    for _ in range(repetitions):
        for name, side in sides.items():
            found[name].append(timed(side)[0])
    gc.unfreeze()
    return found


def timed(work: Callable[[], Made]) -> tuple[float, Made]:
    """Return the seconds of this process (other programs do not count), and what was made."""
    gc.collect()
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def times_as_many(times: Times, side: str, ours: str) -> float:
    """Return how many times as long as ours a side took, by the medians."""
    return median(times[side]) / median(times[ours])


def rows(times: Times) -> tuple[tuple[str, str], ...]:
    """Return name, median and number of each side, for people."""
    return tuple((name, describe(seconds)) for name, seconds in times.items())


def describe(seconds: list[float], of: str = "", decimals: int = 2) -> str:
    """Return the median and the number, for people."""
    number = f"{len(seconds)} {of}".strip()
    return f"{median(seconds) * 1000:.{decimals}f} ms (median of {number})"
