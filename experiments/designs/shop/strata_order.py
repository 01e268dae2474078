"""Bring the stored trials of a run with a stopping rule into the order of its design, stratum by stratum."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from experiments.designs.shop.allocation import ALWAYS, Allocation, allocation_of
from experiments.designs.shop.stopping import Stopping, blocks
from experiments.records.record import EndedTrial

MOST_BLOCKS: Final = 1_000_000
"""No design has more; the facts of a run may be a stranger's."""


class StrataOrder:
    """The order of a run's trials, from the facts that are stored of the run: without its files."""

    def __init__(self, experiment: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
        """Take the experiment and what its trials follow from, as they are stored.

        Raises KeyError, TypeError, ValueError or IndexError where they make no sense.
        """
        self.rule = Stopping.model_validate(experiment["stopping"])
        listed = inputs["listed"]
        names, nudges, self._profiles = listed["sets"], listed["nudges"], listed["profiles"]
        factors = experiment["factors"]
        self._orders = ["forward", "reversed"] if factors["order"] == "both" else ["forward"]
        on = factors["nudge"]["on"] if factors["nudge"] else ["none"]
        self._carriers: dict[str, list[str | None]] = {
            name: [*([None] if "none" in on else []), *(inputs["sets"][name] if "each" in on else [])]
            for name in names
        }
        if len(names) * len(nudges) * experiment["repeats"] > MOST_BLOCKS:
            raise ValueError(f"more than {MOST_BLOCKS:,} blocks")
        each = blocks(len(names), len(nudges), experiment["repeats"])
        self._blocks = {
            (names[of_set], nudges[of_nudge], repeat): number
            for number, (of_set, of_nudge, repeat) in enumerate(each)
        }
        self._block_size = len(self._profiles) * len(self._orders) * len(self._carriers[names[0]])
        whole = self._block_size * len(self._blocks)
        self.most = min(self.rule.most or whole, whole)
        """How many trials an agent has at most."""
        self._places = self._allocated(allocation_of({"experiment": experiment, "inputs": inputs}))

    def _allocated(self, allocation: Allocation | None) -> Sequence[int]:
        """The place of each trial, by its number in the order of the blocks: further repeats come last."""
        numbers = range(self._block_size * len(self._blocks))
        if allocation is None:
            return numbers
        shown = len(self._profiles) * len(self._orders)
        further = [
            allocation.rounds.before(*cell, control=carrier is None) >= ALWAYS
            for cell in self._blocks
            for carrier in shown * self._carriers[cell[0]]
        ]
        first = len(further) - sum(further)
        first_before = accumulate((not each for each in further), initial=0)
        return [
            first + number - before if last else before
            for number, before, last in zip(numbers, first_before, further, strict=False)
        ]

    def row(self, trial: EndedTrial) -> tuple[int, str, str, bool | None] | None:
        """Return place, stratum, question and whether the marked option won; None: not of this design."""
        try:
            block = self._blocks[trial.set, trial.nudge, trial.repeat]
            inside = self._profiles.index(trial.profile) * len(self._orders)
            inside += self._orders.index(trial.ordering)
            carriers = self._carriers[trial.set]
            place = block * self._block_size + inside * len(carriers) + carriers.index(trial.carrier)
        except (KeyError, ValueError):
            return None
        words = trial.nudge if trial.carrier else ""
        question = [trial.set, trial.profile, trial.ordering, words, trial.carrier or ""]
        if self.rule.effect == "nudge":
            mark, turned = trial.carrier, trial.direction == -1
            same = [trial.set, trial.profile, trial.ordering, trial.nudge, str(trial.repeat)]
            in_one = trial.condition == "nudged"
        else:
            mark, turned = trial.first, False
            same = [trial.set, trial.profile, trial.carrier or "", trial.nudge, str(trial.repeat)]
            in_one = True
        won = None if trial.outcome != "choice" else (trial.choice == mark) != turned
        return self._places[place], " | ".join(same) if in_one else "", " | ".join(question), won


def strata_order(facts: Mapping[str, Any]) -> StrataOrder | None:
    """Return the order of a stored run whose rule may stop it; None for any other run."""
    experiment = facts.get("experiment", {})
    try:
        if experiment["stopping"]["rule"] != "anytime-valid":
            return None
        return StrataOrder(experiment, facts["inputs"])
    except (KeyError, TypeError, ValueError, IndexError):  # of before, of cards, or made by a stranger
        return None
