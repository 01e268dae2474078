"""From an experiment with choice cards to its trials: identities, blocks, agents."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from typing import Protocol

from experiments.designs.cards.battery import BatteryDesign
from experiments.designs.cards.conjoint import ConjointDesign
from experiments.designs.cards.experiment_file import CardExperiment, Conjoint, Factorial
from experiments.designs.cards.factorial import FactorialDesign
from experiments.designs.cards.trial import CardTrial
from experiments.designs.inputs.identity import VERSIONED, digest
from interventions.yaml.yaml_source import Source, validate


class Part(Protocol):
    """What the kinds of designs have in common."""

    quota: int | None
    attempts: int

    @property
    def sets(self) -> int:
        """Number of choice sets or questions."""

    def blocks(self) -> Iterator[list[CardTrial]]:
        """Balanced blocks of trials, without agent, id and seed."""

    def content(self) -> object:
        """What the design is made of, as plain data."""

    def summary(self) -> str:
        """What is asked, for people."""


class CardDesign:
    """An experiment with choice cards, with everything it refers to.

    A run is known by everything in its file but the agents. A trial is known by what is asked of whom: its
    cards, its cell, its order and repeat, the product in whose page it stands, and the experiment's seed;
    not by `mode`, `name` or `limits`. So an experiment with pages and the same one with prompts have the
    same trials, which can be compared one by one.
    """

    def __init__(self, experiment: CardExperiment, part: Part) -> None:
        self.experiment = experiment
        self._part = part

    @property
    def quota(self) -> int | None:
        """Valid answers wanted in every cell; None: each trial is asked once, whatever comes of it."""
        return self._part.quota

    @property
    def attempts(self) -> int:
        """How often a cell is asked at most, where there is a quota."""
        return self._part.attempts

    @property
    def sets(self) -> int:
        """Number of choice sets or questions."""
        return self._part.sets

    @cached_property
    def run(self) -> str:
        """The id of the run: the same experiment, with the same cards and pool, resumes the same run."""
        content = [self.experiment.model_dump(mode="json", exclude={"agents"}), self._part.content()]
        return f"{self.experiment.name}-{digest(content)[:8]}"

    def facts(self, agents: Sequence[str]) -> dict[str, object]:
        """What the records keep of the run as a whole."""
        return {
            "experiment": self.experiment.model_dump(mode="json"),
            "agents": list(agents),
            "sets": self.sets,
            "inputs": {"cards": self._part.content()},
            "versions": {name: version(name) for name in VERSIONED},
        }

    def trials(self, agents: Sequence[str]) -> Iterator[CardTrial]:
        """All trials of these agents, block by block; any number of whole blocks is balanced."""
        for block in self._part.blocks():
            for agent in agents:
                for trial in block:
                    yield self._identified(replace(trial, agent=agent))

    def again(self, trial: CardTrial, repeat: int) -> CardTrial:
        """Another repeat of the same cell: the same question with a new id and seed."""
        return self._identified(replace(trial, repeat=repeat))

    def _identified(self, trial: CardTrial) -> CardTrial:
        # Defaults are left out, so that a new property of cards leaves the ids of old ones as they are.
        cards = [card.model_dump_json(exclude_defaults=True) for card in trial.cards]
        cell = [*trial.cell, trial.ordering, trial.repeat, trial.page]
        identity = digest([self.experiment.seed, cell, cards])
        return replace(trial, id=identity, seed=int(identity[:12], 16))

    def block_size(self) -> int:
        """Trials per block and agent."""
        return len(next(self._part.blocks()))

    def summary(self) -> str:
        """What will be asked, for people."""
        return self._part.summary()

    def shortage(self) -> list[str]:
        """A line where there is less than was asked for: never, since that is a mistake here."""
        return []


def make_card_design(source: Source) -> CardDesign:
    """The design of an experiment file. Raises UserError for a mistake in it or in a file that it names."""
    experiment = validate(source, CardExperiment)
    return CardDesign(experiment, _part(experiment, source))


def _part(experiment: CardExperiment, source: Source) -> Part:
    match experiment.design.one:
        case Conjoint() as spec:
            return ConjointDesign(spec, experiment, source)
        case Factorial() as spec:
            return FactorialDesign(spec, experiment, source)
        case spec:
            return BatteryDesign(spec, experiment, source)
