"""The protocol of all designs and their trials."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

from agents.providers import QUANTISED_BY
from agents.providers.local_models import describe_model
from agents.providers.model_settings import split_agent
from agents.simulated.own_profiles import own_profiles, plain_data
from environments.observation.views import View
from environments.shop.shop import USUAL, Shop
from experiments.designs.inputs.plan_section import PlanSection
from experiments.records.record import CONTROL, RunFacts, TrialRow
from interventions.errors import UserError
from interventions.yaml.yaml_source import Source

if TYPE_CHECKING:
    import pandas as pd

Mode = Literal["page", "text", "logprobs"]
"""How trials run: on pages in the browser, as prompts, or by the log-probabilities of answers."""

PAGE_TEMPERATURE: Final = 0.1
"""The temperature at which language models act in a browser."""

StoredTrials = Mapping[str, TrialRow]
"""Rows of the table of trials, by trial id."""


class Trial(Protocol):
    """The protocol of all trials."""

    @property
    def id(self) -> str:
        """The id; it is the same for equal trials, on every machine."""

    @property
    def agent(self) -> str:
        """The name of the agent, such as `simulated:balanced`."""

    @property
    def seed(self) -> int:
        """The seed of the agent's random numbers."""

    @property
    def set(self) -> str:
        """The id of the choice set or question."""

    @property
    def condition(self) -> str:
        """The treatment, or the control; empty where the design has none."""

    @property
    def ordering(self) -> str:
        """The order of presentation: `forward`, or `reversed`."""

    @property
    def repeat(self) -> int:
        """The number of the repeat, from 0."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison that a design makes, for the smallest effect that it can find.

    of: the comparison in words. trials: choices between `alternatives` (mean number) each; or, where
    `alternatives` is 0, numeric answers in each of two conditions.
    """

    of: str
    trials: int
    alternatives: int = 0


class ExperimentFile(Protocol):
    """The keys that every experiment file has."""

    @property
    def task(self) -> str:
        """What agents have to do; it tells the kinds of experiments apart."""

    @property
    def plan(self) -> PlanSection | None:
        """What `souk register` freezes; None: nothing is declared."""

    @property
    def name(self) -> str:
        """The name of the experiment."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that run it when none is named."""

    def model_dump(self, *, mode: str, by_alias: bool) -> dict[str, Any]:
        """Return the file as plain data."""


T = TypeVar("T", bound=Trial)


class Design(ABC, Generic[T]):
    """An experiment with everything that it refers to, and so all of its trials."""

    kind: ClassVar[str]
    """The kind of its trials; `experiments.executors.kinds` says how they run."""
    versioned: ClassVar[Sequence[str]] = ("souk", "mitmproxy", "playwright", "selectolax", "statsmodels")
    """The packages whose versions a run notes, where they are installed."""
    experiment: ExperimentFile
    """The checked experiment file."""
    source: Source
    """The experiment file as it is written."""
    shop: Shop = USUAL
    """The shop, where its trials are in one."""
    analysis: str
    """The command of `souk analyze` for its runs."""
    wave: str | None = None
    """The date of a repeated study, which its name ends with; None: the study has no waves."""
    mode: Mode
    """The mode in which its trials run."""
    most_steps: int
    """The largest number of requests to a model in one trial."""
    most_seconds: float
    """The largest wall-clock time of a trial, in seconds."""
    size: int
    """About how many trials each agent has, without making them; where they differ, at most as many."""
    quota: int | None = None
    """The number of valid answers wanted in every cell; None: each trial runs once."""
    most: int | None = None
    """The most trials of an agent that the experiment asks for; None: all."""
    watched: str = ""
    """The effect that a stopping rule looks at while the run goes on; empty: none."""
    chooses: bool = False
    """Whether the answers are choices between options on display."""
    asked_again: tuple[str, int] = ("repeats", 1)
    """The key of the experiment file by which a question is asked again in the same words, and how often.

    1: every question is asked once, or what it shows is drawn anew each time.
    """
    temperatures: Sequence[float | None] = (PAGE_TEMPERATURE,)
    """The temperatures at which language models are asked; None: the provider's own."""

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.experiment.name

    @property
    @abstractmethod
    def run_id(self) -> str:
        """The id of the run: equal experiments resume the same run."""

    @abstractmethod
    def trials(self, agents: Sequence[str]) -> Iterator[T]:
        """Yield all trials of these agents, block by block; any number of whole blocks is balanced."""

    @property
    def at_first(self) -> int:
        """The number of trials of an agent before any is asked again; counted as `size` is."""
        return self.size

    @abstractmethod
    def block_size(self, agent: str = "") -> int:
        """Count the trials of a block of an agent, or of one that has all that there is."""

    @property
    @abstractmethod
    def inputs(self) -> Mapping[str, Any]:
        """All that its trials follow from besides the experiment's keys, as plain data."""

    def facts(self, agents: Sequence[str]) -> RunFacts:
        """Return the facts of the run as a whole, for the records."""
        return RunFacts(
            experiment=self.experiment.model_dump(mode="json", by_alias=True),
            agents=list(agents),
            versions=dict(_versions(self.versioned, agents)),
            inputs=self.inputs,
            analysis=self.analysis,
            wave=self.wave,
            shoppers={name: plain_data(its) for name, its in own_profiles(agents).items()} or None,
        )

    @abstractmethod
    def summary(self) -> str:
        """Say in one line what will run."""

    def notes(self, agents: Sequence[str]) -> list[str]:
        """Return notes on what to know before the run, a line each.

        Examples: there are fewer choice sets than asked for, or treatments that agents do not see.
        """
        return self.repeats_notes(agents)

    def repeats_notes(self, agents: Sequence[str]) -> list[str]:
        """Return a line that says for which of these agents repeats buy nothing, if there are any."""
        key, times = self.asked_again
        if times == 1:
            return []
        from agents.registry import answers_alike  # noqa: PLC0415 (providers take a while to load)

        alike = [name for name in agents if answers_alike(name, self.temperatures, chooses=self.chooses)]
        if not alike:
            return []
        return [
            f"{', '.join(alike)}: answers the same question alike, so that {times:,} repeats tell no more"
            f" than one; lower {key}, and ask more questions or raise the temperature"
        ]

    def planned(self, trial: T) -> frozenset[str]:
        """Return the ids of the interventions that pages of the trial must show."""
        return frozenset()

    def is_further(self, trial: T) -> bool:
        """Return whether the trial is run only for agents whose answers vary."""
        return False

    def lacking(self, wanted: Iterable[T], asked: Collection[str], answered: Collection[str]) -> list[T]:
        """Return more trials for cells with fewer valid answers than the quota.

        wanted: all trials so far; asked: ids of those that have ended; answered: of those among them with
        a valid answer.
        """
        return []

    @abstractmethod
    def matching(
        self, stored: StoredTrials, carriers: Mapping[str, str], agents: Sequence[str]
    ) -> Iterator[tuple[str, T]]:
        """Yield the definitions of stored trials with their stored ids, in the order of the design.

        carriers: the option that carried the treatment, by trial id.
        """

    def exemplary(self, trials: Sequence[T]) -> T:
        """Choose the trial that shows most: one with a treatment, if there is one."""
        return next((trial for trial in trials if trial.condition not in ("", CONTROL)), trials[0])

    @abstractmethod
    def example(self, trial: T) -> dict[str, Any]:
        """Describe one trial as plain data, for people."""

    def comparison(self, trials: Sequence[T]) -> Comparison | None:
        """Describe what these trials of one agent compare.

        Returns None where nothing is sampled.
        """
        return None

    def balance(self, trials: Iterable[T]) -> "pd.DataFrame | None":
        """Count how evenly these trials spread what they show.

        Returns None where nothing is drawn.
        """
        return None

    def prompts(self, trial: T) -> Sequence[str]:
        """Return what is asked in the trial as text, each prompt with the instructions before it."""
        return ()

    def intervention(self, trial: T) -> str:
        """Return the id of the intervention that the trial's cell has; empty: it has none."""
        return ""

    @abstractmethod
    def requests(self, trial: T) -> int:
        """Count the requests to a model that the trial takes where nothing goes wrong."""

    def view(self, trial: T) -> View:
        """Return the part of the browser that the agent of a trial is shown: the page's HTML by default."""
        return View()


def _versions(packages: Iterable[str], agents: Iterable[str]) -> Iterator[tuple[str, str]]:
    local = [agent for agent in agents if agent.partition(":")[0] == "hf"]
    for agent in local:
        with suppress(UserError):  # a dry run needs no model; a run without one ends before its first trial
            yield agent, describe_model(split_agent(agent)[0].partition(":")[2])
    quantised = any(split_agent(agent)[1].load_in for agent in local)
    needed = [*(("torch", "transformers") if local else ()), *(QUANTISED_BY[:1] if quantised else ())]
    for name in dict.fromkeys([*packages, *needed]):
        try:
            yield name, version(name)
        except PackageNotFoundError:  # models of a server need no torch here
            continue
