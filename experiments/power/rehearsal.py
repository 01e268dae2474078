"""The base of rehearsals: a simulated agent goes through an experiment again and again."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

import numpy as np

from agents.simulated.tab_shopper import ShopperProfile
from experiments.designs.loading import AnyDesign
from experiments.power.results import ContrastPower
from experiments.power.splits import TrialSplit

D = TypeVar("D", bound=AnyDesign)


@dataclass(frozen=True)
class Studies:
    """Studies to simulate: how many, of so many trials of an agent each, and the level of their tests.

    tell: called with the number of studies that are done.
    """

    trials: int
    count: int
    alpha: float = 0.05
    seed: int = 0
    tell: Callable[[int], None] = field(default=lambda _: None)

    def generator(self) -> np.random.Generator:
        """Return the source of what the studies leave to chance."""
        return np.random.default_rng([self.seed, self.trials])

    def __iter__(self) -> Iterator[int]:
        """Yield the number of each study, and tell when it is done."""
        for study in range(self.count):
            yield study
            self.tell(study + 1)


class Rehearsal(ABC, Generic[D]):
    """An experiment that a simulated agent goes through again and again, calibrated to the named effects."""

    def __init__(
        self, design: D, profile: ShopperProfile, effects: Mapping[Any, float], differ: float
    ) -> None:
        """Calibrate an agent of this profile to the effects.

        differ: how far choice sets, texts or products differ in the effects, as a share of these. Raises
        UserError for an effect that no such agent has.
        """
        self._design, self._differ = design, differ

    @staticmethod
    @abstractmethod
    def features(design: Any) -> Mapping[str, str]:
        """Return the contrasts of an experiment, each with its unit. Raises UserError where it has none."""

    @property
    @abstractmethod
    def told(self) -> dict[str, Any]:
        """What the simulated agent is like, as plain data."""

    @property
    def size(self) -> int:
        """The trials of an agent in the whole experiment."""
        return self._design.size

    @property
    @abstractmethod
    def assumptions(self) -> list[str]:
        """What is assumed of the agent besides the named effects, and what a test is about, in lines."""

    def again(self, design: D) -> Self:
        """Return the rehearsal of another split of the same experiment, by the same agent."""
        other = copy(self)
        other._design = design
        return other

    @abstractmethod
    def of(self, studies: Studies) -> list[ContrastPower]:
        """Simulate the studies; return each planned contrast."""


@dataclass(frozen=True)
class Power:
    """How the power of one kind of study is told before it is run.

    ways: from a design and a number of trials of an agent to the ways to spend them, the one first that
    varies most; raises UserError for an experiment that has but one way. widest: the keys that give a design
    all choice sets that there are, on which shoppers are calibrated, where it draws them.
    """

    rehearsal: type[Rehearsal[Any]]
    ways: Callable[[Any, int], Iterator[TrialSplit]]
    widest: Callable[[Any], Mapping[str, Any]] = lambda _: {}
