"""Simulated agents: their profiles, and how they shop (read every open tab, weigh, put one into the cart)."""

import functools
import random
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from agents.base import Decision
from agents.product_page import ProductPage, read_product_page
from agents.utility import Alternative, Taste, choice_probabilities, draw
from environments.actions import Action
from environments.observation import Observation
from interventions.errors import UserError
from interventions.yaml_source import did_you_mean, load_model

_SCROLL = Action("scroll", (0.0, 600.0))


class Cues(BaseModel):
    """Phrases that speak for and against a product."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    positive: tuple[str, ...]
    negative: tuple[str, ...]

    @field_validator("positive", "negative")
    @classmethod
    def _lower(cls, phrases: tuple[str, ...]) -> tuple[str, ...]:
        if not all(phrase.strip() for phrase in phrases):
            raise ValueError("a phrase is empty; write words or remove it")
        return tuple(phrase.lower() for phrase in phrases)

    def find(self, text: str) -> list[str]:
        """The phrases that occur in a lower-case text, those in favour first."""
        return [phrase for phrase in (*self.positive, *self.negative) if phrase in text]

    def sign(self, text: str) -> Literal[-1, 0, 1]:
        """+1: a lower-case text speaks for the product; -1: against it; 0: neither or both."""
        favourable = any(phrase in text for phrase in self.positive)
        adverse = any(phrase in text for phrase in self.negative)
        if favourable == adverse:
            return 0
        return 1 if favourable else -1


class Profile(BaseModel):
    """All that is known of a simulated agent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    taste: Taste = Field(default=Taste(), description="how it chooses between products, or options of a card")
    anchoring: float = Field(
        default=0.0, ge=0, le=1, description="how far an anchor pulls its willingness to pay"
    )
    bias: float = Field(
        default=0.0, ge=0, le=1, description="share of each bias of survey.yaml that it shows"
    )
    invalid: float = Field(default=0.0, ge=0, le=1, description="share of questions first answered invalidly")


class Profiles(BaseModel):
    """The contents of `simulated.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cues: Cues
    agents: dict[str, Profile]


@functools.cache
def shipped() -> Profiles:
    """The cues and profiles that come with Souk."""
    return load_model(Path(__file__).with_name("simulated.yaml"), Profiles)


def shipped_profile(name: str) -> Profile:
    """A profile of `simulated.yaml` by its name. Raises UserError when there is none."""
    agents = shipped().agents
    if name not in agents:
        raise UserError(
            f'agents: unknown simulated agent "{name}"; {did_you_mean(name, agents, noun="simulated agents")}'
        )
    return agents[name]


def shipped_taste(name: str) -> Taste:
    """The taste of a profile. Raises UserError as `shipped_profile` does."""
    return shipped_profile(name).taste


class SimulatedShopper:
    """A shopper of a known taste.

    The tab that is active at its first step is the one viewed first; it then visits the others, the last one
    first. Its choice is `draw(choice_probabilities(...), random.Random(seed).random())` over the tabs that
    show something to buy, in the order of the tabs.
    """

    def __init__(self, taste: Taste, *, seed: int) -> None:
        self._taste = taste
        self._cues = shipped().cues
        self._random = random.Random(seed)  # noqa: S311 (sampling must be reproducible; nothing is secret)
        self._pages: dict[int, ProductPage] = {}  # by tab; the first key is the tab viewed first
        self._choice: int | None = None
        self._options_picked = 0

    async def act(self, observation: Observation) -> Decision:
        """Read the active tab, then take the next action; never fails, whatever the page holds."""
        tab = observation.active_tab
        self._pages[tab] = read_product_page(observation.html)
        thought, action = self._decide(observation, tab)
        if observation.error:
            thought = f"My last action failed: {observation.error} {thought}"
        memory = " ".join(self._describe(index) for index in self._pages)
        return Decision(thought, memory, action)

    def _decide(self, observation: Observation, tab: int) -> tuple[str, Action]:
        unread = set(range(len(observation.tabs))) - set(self._pages)
        if unread:
            following = max(unread)
            return f"{self._describe(tab)} I go on to tab {following}.", Action("tab_focus", (following,))
        buyable = sorted(index for index, page in self._pages.items() if page.add_to_cart)
        if not buyable:
            return "No open tab shows a product that can be bought here. I scroll to look for one.", _SCROLL
        if self._choice not in buyable:
            self._choice = self._choose(buyable)
            self._options_picked = 0
        title = self._pages[self._choice].title
        if self._choice != tab:
            return f"Of all I saw I prefer {title}; back to tab {self._choice}.", Action(
                "tab_focus", (self._choice,)
            )
        return self._buy(self._pages[tab])

    def _choose(self, tabs: list[int]) -> int:
        probabilities = choice_probabilities(self._taste, [self._alternative(tab) for tab in tabs])
        return tabs[draw(probabilities, self._random.random())]

    def _alternative(self, tab: int) -> Alternative:
        page = self._pages[tab]
        title = page.title.lower()
        return Alternative(
            price=page.price,
            rating=page.rating,
            reviews=page.reviews,
            cue=self._cues.sign(page.text),
            viewed_first=tab == next(iter(self._pages)),
            brand=next((brand for brand in self._taste.brand if brand in title), None),
        )

    def _buy(self, page: ProductPage) -> tuple[str, Action]:
        if self._options_picked < len(page.options):
            first = page.options[self._options_picked][0]
            self._options_picked += 1
            return f"{page.title} needs an option; the first will do.", Action("click", (first,))
        return f"I prefer {page.title} and add it to the cart.", Action("click", (page.add_to_cart or "",))

    def _describe(self, tab: int) -> str:
        page = self._pages[tab]
        if not page.add_to_cart:
            return f'Tab {tab} shows nothing to buy; its title is "{page.title}".'
        price = "no price" if page.price is None else f"a price of {page.price:,.2f}"
        rating = "no rating" if page.rating is None else f"a rating of {page.rating:g}%"
        found = self._cues.find(page.text)
        said = f' It says "{found[0]}".' if found else ""
        reviews = f"{page.reviews:,} review{'' if page.reviews == 1 else 's'}"
        return f"Tab {tab} shows {page.title} with {price}, {rating} and {reviews}.{said}"
