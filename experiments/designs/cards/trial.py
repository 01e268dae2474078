"""A trial with choice cards: the questions of one conversation, and the facts about what they show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from interventions.cards.card import Card


@dataclass(frozen=True, slots=True)
class ShownAlternative:
    """An alternative as displayed, for the records; `rating` is in percent, `price` in currency units."""

    option: str
    name: str
    category: str = ""
    price: float | None = None
    rating: float | None = None
    reviews: int | None = None
    attributes: Mapping[str, str | int | float] = field(default_factory=dict)
    """The attributes that become columns `attr_*`."""


@dataclass(frozen=True, slots=True)
class CardTrial:
    """A trial whose `cards` are asked one after the other, in one conversation.

    The answer to the last card is the outcome. With `options` (in order of presentation) the answer is a
    choice, else a response.
    """

    id: str
    agent: str
    set: str
    """The choice set or the question."""
    cards: tuple[Card, ...]
    condition: str = ""
    ordering: Literal["forward", "reversed"] = "forward"
    repeat: int = 0
    seed: int = 0
    temperature: float | None = None
    """The sampling temperature; None: the provider's own."""
    options: tuple[ShownAlternative, ...] = ()
    item: str = ""
    """The subject of the question: a product, a bias."""
    scenario: str = ""
    reference: float | None = None
    """The value with which a response is compared, such as a list price, in the response's unit."""
    low: float | None = None
    high: float | None = None
    """The range of plausible responses."""
    biased: str = ""
    """The letter that counts as the biased answer (response 1); the others are 0."""
    page: str = ""
    """The key of the product in whose page the cards stand; empty: each is a page of its own."""

    @property
    def cell(self) -> tuple[str, str, str, str, float | None]:
        """The cell of the trial; trials of one cell differ only in their repeat."""
        return self.agent, self.set, self.condition, self.scenario, self.temperature
