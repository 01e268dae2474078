"""Find how to spend a budget: on choice sets, texts, repeats or agents, by simulating each split of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, Final

from experiments.designs.design import Trial
from experiments.designs.loading import AnyDesign
from experiments.executors.expected_use import expected_use
from experiments.power.rehearsal import Rehearsal, Studies
from experiments.power.rehearsals import ways
from experiments.power.results import ContrastPower
from experiments.power.splits import FEWEST_SETS, TrialSplit, with_keys
from interventions.errors import UserError

LARGEST: Final = 20_000
"""The most trials of an agent that are simulated."""
_LEAST_SPENT: Final = 0.6
"""The share of the money that a split has to spend, where others spend more."""
_PRICED: Final = 240
"""The trials whose mean is what a trial costs."""


@dataclass(frozen=True)
class Split:
    """A way to spend the money, its agents, what it costs in USD, and what it shows."""

    way: TrialSplit
    agents: tuple[str, ...]
    cost: float
    contrasts: tuple[ContrastPower, ...] = ()

    @property
    def trials(self) -> int:
        """The trials of each agent."""
        return self.way.trials

    @property
    def keys(self) -> dict[str, Any]:
        """What to write into the experiment file, dots between the levels."""
        return {**self.way.keys, "agents": list(self.agents)}

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        told = {**self.way.parts, "agents": list(self.agents), "trials": self.trials, "cost": self.cost}
        return {**told, "keys": self.keys, "contrasts": [asdict(each) for each in self.contrasts]}

    def of(self, feature: str) -> ContrastPower | None:
        """Return the contrast of a feature."""
        return next((each for each in self.contrasts if each.feature == feature), None)


def priced_trials(design: AnyDesign, agents: Sequence[str]) -> list[Trial]:
    """Return the trials whose mean is what a trial costs."""
    return list(islice(design.trials(agents[:1]), _PRICED))


def prices_of(design: AnyDesign, agents: Sequence[str]) -> dict[str, float]:
    """Return what a trial of each agent costs, in USD. Raises UserError where that is nothing or unknown."""
    trials = priced_trials(design, agents)
    found = {}
    for agent in agents:
        cost = expected_use(agent, trials, design).cost
        if cost is None:
            raise UserError(
                f"--budget: no price is listed for {agent}; write it into a file of prices and name that in"
                " SOUK_PRICES (docs/agents.md)"
            )
        if not cost:
            raise UserError(f"--budget: {agent} costs nothing; use --trials in its place")
        found[agent] = cost / len(trials)
    return found


def splits(design: AnyDesign, prices: Mapping[str, float], budget: float) -> tuple[list[Split], int]:
    """Return the splits that the money buys, not simulated yet, and how many trials of an agent it buys.

    With several agents there is one split more, of the first agent alone. Raises UserError where the money
    does not buy the smallest experiment.
    """
    found = []
    for agents in [tuple(prices), *([tuple(prices)[:1]] if len(prices) > 1 else [])]:
        each = sum(prices[agent] for agent in agents)
        bought = int(min(budget / each, LARGEST))
        own = [Split(way, agents, way.trials * each) for way in _different(ways(design, bought))]
        most = max((split.cost for split in own), default=0.0)
        kept = [split for split in own if split.cost >= _LEAST_SPENT * most]
        found += kept if agents == tuple(prices) else kept[:1]
    if not found:
        least = next(size for size in range(1, design.size * FEWEST_SETS) if any(ways(design, size)))
        cost = least * sum(prices.values())
        raise UserError(
            f"--budget {budget:g}: the smallest experiment has {least:,} trials of each agent, which cost"
            f" about {cost:.2f} USD; give more"
        )
    return found, int(budget / sum(prices.values()))


def _different(found: Iterator[TrialSplit]) -> list[TrialSplit]:
    """The ways, each once."""
    return list({tuple(way.parts.items()): way for way in found}.values())


def simulated(design: AnyDesign, split: Split, rehearsed: Rehearsal[Any], studies: Studies) -> Split:
    """Return the split with what it shows in studies, which have as many trials as it buys."""
    own = rehearsed.again(with_keys(design, split.way.keys))
    return replace(split, contrasts=tuple(own.of(studies)))


def best_first(found: Sequence[Split], features: Sequence[str], studies: int) -> list[Split]:
    """Order splits by the least power among the features, for all agents before those for one of them.

    The power is that of the exact test, or of the clustered error where there is none. Those that chance
    alone may have put behind the best (two standard errors of a share of so many studies) are ordered by how
    far off their estimates are, by that of the worst feature.
    """
    most_agents = max(len(split.agents) for split in found)
    best = max(least_power(split, features) for split in found if len(split.agents) == most_agents)
    level = best - 2 * (max(best * (1 - best), 0.25 / studies) / studies) ** 0.5

    def rank(split: Split) -> tuple[int, float, float]:
        power, error = least_power(split, features), largest_error(split, features)
        return -len(split.agents), -min(power, level), error

    return sorted(found, key=rank)


def least_power(split: Split, features: Sequence[str]) -> float:
    """Return the least power among the features."""
    found = [split.of(feature) for feature in features]
    return min((main.power or 0.0 for each in found if each for main in each.targets[:1]), default=0.0)


def largest_error(split: Split, features: Sequence[str]) -> float:
    """Return how far off the estimates of the worst feature are, in its unit."""
    found = [split.of(feature) for feature in features]
    return max((float("inf") if each.error is None else each.error for each in found if each), default=0.0)
