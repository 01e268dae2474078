"""One trial with choice cards: the questions of one conversation, and what is known of what they show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from interventions.cards.card import Card


@dataclass(frozen=True, slots=True)
class Shown:
    """An alternative as displayed, for the records; `rating` is in percent, `price` in currency units."""

    option: str
    name: str
    category: str = ""
    price: float | None = None
    rating: float | None = None
    reviews: int | None = None
    attributes: Mapping[str, str | int | float] = field(default_factory=dict)
    """What becomes `attr_*` columns."""


@dataclass(frozen=True, slots=True)
class CardTrial:
    """`cards` are asked one after the other, in one conversation; the last one's answer is the outcome.

    With `options` (in order of presentation) the answer is a choice, else a response.
    """

    id: str
    agent: str
    set: str
    """The choice set, or the question."""
    cards: tuple[Card, ...]
    condition: str = ""
    ordering: Literal["forward", "reversed"] = "forward"
    repeat: int = 0
    seed: int = 0
    temperature: float | None = None
    """None: the provider's own."""
    options: tuple[Shown, ...] = ()
    item: str = ""
    """What is asked about: a product, a bias."""
    scenario: str = ""
    reference: float | None = None
    """What a response is compared with, such as a list price, in the response's unit."""
    low: float | None = None
    high: float | None = None
    """The range of plausible responses."""
    biased: str = ""
    """The letter that counts as the biased answer (response 1); the others are 0."""
    page: str = ""
    """The key of the product in whose page the cards stand; empty: each is a page of its own."""

    @property
    def cell(self) -> tuple[str, str, str, str, float | None]:
        """Trials of one cell differ by their repeat only."""
        return self.agent, self.set, self.condition, self.scenario, self.temperature
