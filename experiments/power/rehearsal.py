"""The protocol of rehearsals: a simulated agent goes through an experiment again and again."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agents.simulated.tab_shopper import ShopperProfile
from experiments.power.results import ContrastPower
from experiments.power.splits import TrialSplit


class Rehearsal(Protocol):
    """An experiment that a simulated agent goes through again and again, calibrated to the named effects."""

    @property
    def told(self) -> dict[str, Any]:
        """What the simulated agent is like, as plain data."""

    @property
    def size(self) -> int:
        """The trials of an agent in the whole experiment."""

    @property
    def assumptions(self) -> list[str]:
        """What is assumed of the agent besides the named effects, and what a test is about, in lines."""

    def again(self, design: Any) -> "Rehearsal":
        """Return the rehearsal of another split of the same experiment, by the same agent."""

    def of(
        self,
        trials: int,
        studies: int,
        *,
        alpha: float = 0.05,
        seed: int = 0,
        tell: Callable[[int], None] = lambda _: None,
    ) -> list[ContrastPower]:
        """Simulate studies of so many trials; return each planned contrast.

        tell: called with the number of studies that are done.
        """


class _RehearsalClass(Rehearsal, Protocol):
    """The protocol of the classes that rehearse the experiments of one kind."""

    def __init__(
        self, design: Any, profile: ShopperProfile, effects: Mapping[Any, float], differ: float
    ) -> None:
        """Calibrate an agent of this profile to the effects.

        differ: how far choice sets, texts or products differ in the effects, as a share of these. Raises
        UserError for an effect that no such agent has.
        """

    @staticmethod
    def features(design: Any) -> Mapping[str, str]:
        """Return the contrasts of an experiment, each with its unit."""


@dataclass(frozen=True)
class Power:
    """How the power of one kind of study is told before it is run.

    ways: from a design and a number of trials of an agent to the ways to spend them, the one first that
    varies most; raises UserError for an experiment that has but one way. widest: the keys that give a design
    all choice sets that there are, on which shoppers are calibrated, where it draws them.
    """

    rehearsal: type[_RehearsalClass]
    ways: Callable[[Any, int], Iterator[TrialSplit]]
    widest: Callable[[Any], Mapping[str, Any]] = lambda _: {}
