"""Make the trials of an experiment with choice cards: ids, blocks, agents."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from agents.providers.capabilities import temperature_notes
from experiments.designs.cards.battery import BatteryDesign
from experiments.designs.cards.conjoint import ConjointDesign
from experiments.designs.cards.experiment_file import BatteryQuestions, CardExperiment, Conjoint, Factorial
from experiments.designs.cards.factorial import FactorialDesign
from experiments.designs.cards.trial import CardTrial
from experiments.designs.cards.variants import with_rationale
from experiments.designs.design import Comparison, Design, StoredTrials
from experiments.designs.inputs.identity import digest
from experiments.records.record import RunFacts
from interventions.yaml.yaml_source import Source, validate

if TYPE_CHECKING:
    import pandas as pd


class _CardQuestions(Protocol):
    """The protocol of the kinds of designs with cards."""

    analysis: str
    quota: int | None
    """The number of valid answers wanted in every cell; None: each trial is asked once."""
    attempts: int
    """How often a cell is asked at most, where there is a quota."""
    sets: int
    """The number of choice sets or questions."""
    size: int
    """The number of trials of an agent."""
    notes: Sequence[str]
    """What to know of the files, a line each."""

    def blocks(self) -> Iterator[list[CardTrial]]:
        """Yield balanced blocks of trials, without agent, id and seed."""

    def content(self) -> object:
        """Return what the design is made of, as plain data."""

    def summary(self) -> str:
        """Describe in words what is asked."""


class CardDesign(Design[CardTrial]):
    """An experiment with choice cards, with everything that it refers to.

    The id of a run depends on everything in its file but the agents. The id of a trial depends on what is
    asked of whom: its cards, its cell, its order and repeat, the product in whose page it stands, and the
    experiment's seed; not on `mode`, `name` or `limits`. So an experiment with pages and the same one with
    prompts have the same trials, which can be compared one by one.
    """

    kind = "cards"
    experiment: CardExperiment

    def __init__(self, experiment: CardExperiment, part: _CardQuestions) -> None:
        self.experiment = experiment
        self._part = part
        self.analysis, self.mode = part.analysis, experiment.mode
        self.most_steps, self.most_seconds = experiment.limits.steps, experiment.limits.seconds
        self.quota, self.attempts = part.quota, part.attempts
        self.sets, self.size = part.sets, part.size
        self.chooses = experiment.design.conjoint is not None
        match experiment.design.one:
            case Factorial() as spec:
                self.asked_again = "design.factorial.repeats", spec.repeats
            case BatteryQuestions() as spec:
                self.asked_again = "design.battery.valid", spec.valid
        if self.mode != "page":
            battery = experiment.design.battery
            self.temperatures = battery.temperatures if battery else (experiment.temperature,)

    @cached_property
    def run_id(self) -> str:
        """The id of the run: the same experiment, with the same cards and pool, resumes the same run."""
        # The card's own text says these.
        but: Any = {"agents": True, "plan": True, "design": {"conjoint": {"city", "currency", "variants"}}}
        but |= {} if self.experiment.rationale else {"rationale": True}
        content = [self.experiment.model_dump(mode="json", exclude=but), self._part.content()]
        return f"{self.experiment.name}-{digest(content)[:8]}"

    @property
    def inputs(self) -> dict[str, Any]:
        """All that its trials follow from: what the cards are made of."""
        return {"cards": self._part.content()}

    def facts(self, agents: Sequence[str]) -> RunFacts:
        """Return the facts of the run as a whole, for the records."""
        return replace(super().facts(agents), sets=self.sets)

    def trials(self, agents: Sequence[str]) -> Iterator[CardTrial]:
        """Yield all trials of these agents, block by block; any number of whole blocks is balanced."""
        for block in self._part.blocks():
            for agent in agents:
                for trial in block:
                    yield self._identified(replace(trial, agent=agent))

    def lacking(
        self, wanted: Iterable[CardTrial], asked: Collection[str], answered: Collection[str]
    ) -> list[CardTrial]:
        """Return more trials for cells that have ended with fewer valid answers than the quota."""
        if not self.quota:
            return []
        cells: dict[object, list[CardTrial]] = {}
        for trial in wanted:
            cells.setdefault(trial.cell, []).append(trial)
        more = []
        for trials in cells.values():
            if any(trial.id not in asked for trial in trials):
                continue
            lacking = self.quota - sum(trial.id in answered for trial in trials)
            allowed = max(0, self.attempts - len(trials))
            repeats = range(len(trials), len(trials) + min(lacking, allowed))
            more += [self.again(trials[0], repeat) for repeat in repeats]
        return more

    def matching(
        self, stored: StoredTrials, carriers: Mapping[str, str], agents: Sequence[str]
    ) -> Iterator[tuple[str, CardTrial]]:
        """Match stored trials by their ids.

        Trials that were asked again are not among the design's own trials.
        """
        left = dict.fromkeys(stored)
        largest = max((row.repeat for row in stored.values()), default=0)
        for first in self.trials(agents):
            repeats = range(first.repeat + 1, largest + 1) if self.quota and first.repeat == 0 else ()
            for each in (first, *(self.again(first, repeat) for repeat in repeats)):
                if each.id in left:
                    del left[each.id]
                    yield each.id, each

    def example(self, trial: CardTrial) -> dict[str, Any]:
        """Describe the prompts of one trial."""
        prompts = [card.prompt for card in trial.cards]
        return {"system": trial.cards[0].system, "prompts": prompts, "temperature": trial.temperature}

    def prompts(self, trial: CardTrial) -> Sequence[str]:
        """Return the cards' prompts, in order."""
        return [f"{card.system}{card.prompt}" for card in trial.cards]

    def comparison(self, trials: Sequence[CardTrial]) -> Comparison | None:
        """Compare the alternative shown first with the others, or the answers in two conditions."""
        if trials[0].options:
            sizes = [len(trial.options) for trial in trials]
            return Comparison("being shown first", len(sizes), round(sum(sizes) / len(sizes)))
        cells = Counter((trial.set, trial.scenario, trial.temperature, trial.condition) for trial in trials)
        smallest = max(min(cells.values()), self.quota or 0)
        if smallest < 2:
            return None
        return Comparison(f"a condition on one question, with {smallest:,} answers in each", smallest)

    def balance(self, trials: Iterable[CardTrial]) -> "pd.DataFrame":
        """Count how evenly these trials spread alternatives and attributes over places and conditions."""
        from experiments.designs.cards.balance import balance  # noqa: PLC0415 (pandas takes a while to load)

        return balance(trials)

    def requests(self, trial: CardTrial) -> int:
        """Count the answers to prompts, or the actions on pages.

        A number takes two actions: one fills it in, one sends it.
        """
        if self.mode == "page" and not trial.options:
            return 2 * len(trial.cards)
        return len(trial.cards)

    def again(self, trial: CardTrial, repeat: int) -> CardTrial:
        """Return another repeat of the same cell: the same question with a new id and seed."""
        return self._identified(replace(trial, repeat=repeat))

    def _identified(self, trial: CardTrial) -> CardTrial:
        if self.experiment.rationale:
            trial = replace(trial, cards=tuple(map(with_rationale, trial.cards)))
        cards = [card.identity for card in trial.cards]
        cell = [*trial.cell, trial.ordering, trial.repeat, trial.page]
        identity = digest([self.experiment.seed, cell, cards, *([self.wave] if self.wave else [])])
        return replace(trial, id=identity, seed=int(identity[:12], 16))

    @property
    def at_first(self) -> int:
        """The number of trials of an agent before any is asked again."""
        return self.size * self.quota // max(self.quota, self.attempts) if self.quota else self.size

    def block_size(self, agent: str = "") -> int:
        """Return the number of trials per block and agent."""
        return len(next(self._part.blocks()))

    def notes(self, agents: Sequence[str]) -> list[str]:
        """See `Design.notes`; the columns of a table that are not used are named too."""
        ignored = temperature_notes(agents, self.temperatures) if self.mode == "text" else []
        return [*self._part.notes, *ignored, *super().notes(agents)]

    def summary(self) -> str:
        """Describe in words what will be asked."""
        return self._part.summary()


def make_card_design(source: Source) -> CardDesign:
    """Make the design of an experiment file. Raises UserError for a mistake in it or in a file it names."""
    experiment = validate(source, CardExperiment)
    return CardDesign(experiment, _part(experiment, source))


def _part(experiment: CardExperiment, source: Source) -> _CardQuestions:
    match experiment.design.one:
        case Conjoint() as spec:
            return ConjointDesign(spec, experiment, source)
        case Factorial() as spec:
            return FactorialDesign(spec, experiment, source)
        case spec:
            return BatteryDesign(spec, experiment, source)
