"""The key `allocation: adaptive`: a third answer to a question is asked only of agents whose answers vary.

A question is a page as an agent is shown it: set, order, profile, and the text with its carrier. The controls
of all texts are one question. Each question is asked twice; its further repeats come last. An agent that gave
enough questions the same answer twice gets none of them. The two it got stand for all: each was assigned with
the chance 2 / repeats. Repeats are the same page, so it does not matter which of them are asked.

The decision follows from how often answers agree. It stays the same if, in all repeats of a question at once,
the products change places: so the exact tests, which exchange whole questions, stay exact.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from experiments.designs.shop.stopping import blocks
from experiments.records.record import EndedTrial

ALWAYS: Final = 2
"""How often each question is asked of every agent."""
ALIKE: Final = 0.8
"""The share of questions, answered the same twice, from which an agent is asked no further repeats.

Simulated shoppers with noise reach .40 to .65, agents that answer one question in ten afresh .86 and more.
"""
LEAST_QUESTIONS: Final = 20
"""With fewer questions a shopper with noise would reach that share by chance in more than 5 % of runs."""


class Rounds:
    """How often a trial's question was asked before, in the order of the design."""

    def __init__(self, sets: Sequence[str], nudges: Sequence[str], repeats: int) -> None:
        """Take the names of sets and nudges, in their order, and the number of repeats."""
        self._controls = dict[tuple[str, str, int], int]()
        asked = Counter[str]()
        for of_set, of_nudge, repeat in blocks(len(sets), len(nudges), repeats):
            name = sets[of_set]
            self._controls[name, nudges[of_nudge], repeat] = asked[name]
            asked[name] += 1
        self._repeats, self._in_all = repeats, len(nudges) * repeats

    def before(self, of_set: str, nudge: str, repeat: int, *, control: bool) -> int:
        """Return how often the question was asked before; 0 for a cell of another design."""
        return self._controls.get((of_set, nudge, repeat), 0) if control else repeat

    def count(self, *, control: bool) -> int:
        """Return how often the design asks a question."""
        return self._in_all if control else self._repeats


class Agreement(NamedTuple):
    """How an agent answered the questions that are asked more than twice.

    questions: those with two choices; alike: those of them with the same choice twice. left_out: how many
    trials follow for an agent whose answers vary. ended: whether all these questions were asked twice.
    """

    agent: str
    questions: int
    alike: int
    left_out: int
    ended: bool

    @property
    def varies(self) -> bool:
        """Whether the agent is asked all repeats."""
        return self.ended and not self.settled

    @property
    def settled(self) -> bool:
        """Whether the agent is asked no question a third time."""
        return self.ended and self.questions >= LEAST_QUESTIONS and self.alike >= ALIKE * self.questions


class Allocation:
    """What is decided of each agent, from the facts that are stored of the run: without its files."""

    def __init__(self, experiment: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
        """Take the experiment and what its trials follow from, as they are stored.

        Raises KeyError, TypeError or ValueError where they make no sense.
        """
        listed, factors, repeats = inputs["listed"], experiment["factors"], experiment["repeats"]
        names, nudges = listed["sets"], listed["nudges"]
        self.rounds = Rounds(names, nudges, repeats)
        shown = len(listed["profiles"]) * (2 if factors["order"] == "both" else 1)
        on = factors["nudge"]["on"] if factors["nudge"] else ["none"]
        carriers = sum(len(inputs["sets"][name]) for name in names) * len(nudges) * ("each" in on)
        questions = {True: shown * len(names) * ("none" in on), False: shown * carriers}
        self._often = {
            control: number for control, number in questions.items()
            if self.rounds.count(control=control) > ALWAYS
        }  # fmt: skip
        self.left_out = sum(
            number * (self.rounds.count(control=control) - ALWAYS) for control, number in self._often.items()
        )
        """The number of further repeats of an agent."""

    @property
    def questions(self) -> int:
        """The number of questions that are asked more than twice."""
        return sum(self._often.values())

    def is_further(self, trial: EndedTrial) -> bool:
        """Return whether the trial is run only for agents whose answers vary."""
        control = trial.carrier is None
        return self.rounds.before(trial.set, trial.nudge, trial.repeat, control=control) >= ALWAYS

    def agreements(self, ended: Iterable[EndedTrial]) -> dict[str, Agreement]:
        """Return how each agent answered, by its name."""
        answers = defaultdict[str, dict[tuple[str, ...], list[str | None]]](lambda: defaultdict(list))
        for trial in ended:
            control = trial.carrier is None
            if control in self._often and not self.is_further(trial):
                words = ("", "") if control else (trial.nudge, str(trial.carrier))
                answers[trial.agent][trial.set, trial.profile, trial.ordering, *words].append(trial.choice)
        return {agent: self._agreement(agent, list(own.values())) for agent, own in answers.items()}

    def _agreement(self, agent: str, answers: Sequence[Sequence[str | None]]) -> Agreement:
        ended = sum(map(len, answers)) >= ALWAYS * self.questions
        pairs = [each for each in answers if len(each) == ALWAYS and None not in each]
        return Agreement(agent, len(pairs), sum(one == two for one, two in pairs), self.left_out, ended)


def allocation_of(facts: Mapping[str, Any]) -> Allocation | None:
    """Return the allocation of a stored run; None where all trials are run."""
    experiment = facts.get("experiment", {})
    try:
        if experiment["allocation"] != "adaptive":
            return None
        return Allocation(experiment, facts["inputs"])
    except (KeyError, TypeError, ValueError):  # of before, of cards, or made by a stranger
        return None
