"""Experiments with cards whose letters are scored: each question once, since nothing is drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from experiments.designs.cards.design import CardDesign
from experiments.designs.cards.trial import CardTrial
from interventions.cards.card import LetterAnswer
from interventions.errors import UserError


class ScoredCards(CardDesign):
    """The trials of an experiment with cards that ask for a letter.

    A repeat of a question, or another temperature, would give the same scores. Alternatives that are drawn
    anew make each showing a question of its own.
    """

    def __init__(self, design: CardDesign) -> None:
        """Find the cards to score. Raises UserError when no card asks for a letter."""
        super().__init__(design.experiment, design._part)
        self.mode, self.quota = "logprobs", None
        self._numbers = sorted(
            {trial.item for trial in super().trials([""]) if not _asks_for_a_letter(trial)}
        )
        if next(self.trials([""]), None) is None:
            raise UserError(
                f"{self.experiment.name}: its cards ask for numbers without a list of answers to score; "
                "use mode text"
            )

    @property
    def at_first(self) -> int:
        """The number of trials of an agent: the questions are fewer than those that are asked."""
        return sum(1 for _ in self.trials([""]))

    def trials(self, agents: Sequence[str]) -> Iterator[CardTrial]:
        """Yield all trials of these agents, block by block."""
        asked = set()
        for trial in super().trials(agents):
            if not _asks_for_a_letter(trial):
                continue
            cell = trial.cell[:-1]
            if trial.options or cell not in asked:
                asked.add(cell)
                yield replace(trial, temperature=None)

    def summary(self) -> str:
        """Describe in words what would be asked, and say that it is scored instead."""
        return f"{super().summary()}; scored instead, each letter question once"

    def notes(self, agents: Sequence[str]) -> list[str]:
        """Return notes that name the questions that are left out."""
        if not self._numbers:
            return []
        names = ", ".join(self._numbers)
        return [f"left out, because they ask for a number and only letters are scored: {names}"]


def _asks_for_a_letter(trial: CardTrial) -> bool:
    return len(trial.cards) == 1 and isinstance(trial.cards[0].answer, LetterAnswer)
