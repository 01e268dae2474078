"""The cards of one episode: which card is asked now, and what was answered."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from interventions.apply.plan import Plan
from interventions.cards.card import Card
from interventions.cards.reply import InvalidAnswer
from interventions.edits.ask import Ask
from interventions.edits.base import Edit


@dataclass(frozen=True, slots=True)
class _SentAnswer:
    """An answer as it was sent; a valid one has the rule by which it was read, an invalid one a reason."""

    card: int
    """The number of the card, from 0."""
    text: str
    value: str | float | None
    reason: str = ""
    rule: str = ""


@dataclass(slots=True)
class CardRun:
    """Cards that are asked one after the other.

    Each is a page of its own, or, with a plan for each, stands in the page that this plan rewrites.
    """

    cards: Sequence[Card]
    plans: Sequence[Plan] = ()
    answers: list[_SentAnswer] = field(default_factory=list)
    problem: str = ""
    """What was wrong with the last answer; empty once the card is answered."""

    def __post_init__(self) -> None:
        if self.plans and len(self.plans) != len(self.cards):
            raise ValueError("there has to be a plan for every card, or none")

    @property
    def current(self) -> int:
        """The number of the card that is asked now, from 0; the number of cards when all are answered."""
        return sum(answer.value is not None for answer in self.answers)

    @property
    def done(self) -> bool:
        """Whether every card is answered."""
        return self.current == len(self.cards)

    @property
    def plan(self) -> Plan:
        """The plan of the current card; its `ask` edit holds the card's number and what was wrong."""
        told = {"number": self.current, "problem": self.problem}

        def asking(edit: Edit) -> Edit:
            return edit.model_copy(update=told) if isinstance(edit, Ask) else edit

        planned = self.plans[self.current].treatments
        return Plan(tuple(replace(each, edits=tuple(map(asking, each.edits))) for each in planned))

    def answer(self, card: int, text: str) -> None:
        """Take an answer to card number `card`.

        An answer to another card than the current one is a repetition and is ignored.
        """
        if self.done or card != self.current:
            return
        text = text.encode(errors="replace").decode().replace("\0", "\ufffd")
        asked = self.cards[card]
        try:
            value, rule = asked.read(text)
            self.answers.append(_SentAnswer(card, text, value, rule=rule))
            self.problem = ""
        except InvalidAnswer as invalid:
            self.answers.append(_SentAnswer(card, text, None, invalid.reason))
            self.problem = f"This answer cannot be taken: {invalid}. {asked.reminder}"
